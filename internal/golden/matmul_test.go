package golden

import (
	"bytes"
	"strings"
	"testing"
)

const (
	fp8Entry = `{"a":"e5m2","b":"e4m3","m":3,"n":2,"k":5,"layout":"NT","out":"bf16","crc32":7,"scales":"row",` +
		`"bias":true,"fast_accum":false,"row_off":4}`
	tf32Entry = `{"a":"tf32","b":"tf32","m":3,"n":2,"k":5,"layout":"NN","out":"f32","crc32":8,"scales":"none",` +
		`"bias":false,"row_off":8}`
	f16Entry = `{"a":"f16","b":"f16","m":3,"n":2,"k":5,"layout":"NT","out":"f16","crc32":9,"scales":"none",` +
		`"alpha":0.75,"beta":-1.5,"bias":true,"activation":"relu","split":false,"row_off":4}`
)

func TestMatmuls(t *testing.T) {
	got, err := ParseMatmuls([]byte("["+fp8Entry+","+tf32Entry+","+f16Entry+"]\n"), productRows)
	if err != nil {
		t.Fatal(err)
	}
	p, q, r := got[0], got[1], got[2]
	if len(got) != 3 || p.A != "e5m2" || p.B != "e4m3" || p.M != 3 || p.N != 2 || p.K != 5 || p.Layout != "NT" ||
		p.Out != "bf16" ||
		!p.Promoted || p.Scales != "row" || !p.Bias || p.CRC != 7 || !bytes.Equal(p.Row, productRows[4:8]) ||
		q.A != "tf32" || q.Promoted || q.Bias || q.CRC != 8 || !bytes.Equal(q.Row, productRows[8:16]) || q.Alpha != 1 ||
		q.Beta != 0 || q.Activation != "identity" ||
		p.Whole || q.Whole || !r.Whole ||
		r.A != "f16" || r.Out != "f16" || r.Alpha != 0.75 || r.Beta != -1.5 || !r.Bias || r.Activation != "relu" ||
		!bytes.Equal(r.Row, productRows[4:8]) {
		t.Errorf("ParseMatmuls = %+v", got)
	}
}

func TestMatmulsAreStrict(t *testing.T) {
	for _, c := range []struct{ entry, old, new string }{
		{fp8Entry, `"m":3,`, ``}, {fp8Entry, `"m":3`, `"m":0`}, {fp8Entry, `"k":5`, `"k":33554433`},
		{fp8Entry, `"NT"`, `"TT"`},
		{fp8Entry, `"e5m2"`, `"tf32"`}, {fp8Entry, `"e4m3"`, `"bf16"`}, {fp8Entry, `"bf16"`, `"f64"`},
		{fp8Entry, `"bf16"`, `"f32"`}, {fp8Entry, `"row"`, `"block"`},
		{fp8Entry, `"fast_accum":false,`, ``}, {fp8Entry, `"bias":true`, `"bias":1`},
		{fp8Entry, `"row_off":4`, `"row_off":13`},
		{fp8Entry, `"crc32":7`, `"crc32":-1`}, {fp8Entry, `}`, `,"more":1}`}, {fp8Entry, `}`, `}]`},
		{tf32Entry, `"f32","crc32"`, `"bf16","crc32"`}, {tf32Entry, `"none"`, `"row"`}, {tf32Entry, `false`, `true`},
		{tf32Entry, `}`, `,"fast_accum":true}`},
		{tf32Entry, `"row_off":8`, `"row_off":9`},
		{f16Entry, `"out":"f16"`, `"out":"bf16"`}, {f16Entry, `"none"`, `"tensor"`}, {f16Entry, `"relu"`, `"gelu"`},
		{f16Entry, `0.75`, `1e99`},
		{f16Entry, `-1.5`, `"a"`}, {f16Entry, `"b":"f16"`, `"b":"bf16"`}, {f16Entry, `}`, `,"fast_accum":true}`},
	} {
		entry := strings.Replace(c.entry, c.old, c.new, 1)
		if entry == c.entry {
			t.Fatalf("%q is not in the entry", c.old)
		}
		if p, err := ParseMatmuls([]byte("["+entry+"]"), productRows); err == nil {
			t.Errorf("ParseMatmuls accepted %s: %+v", entry, p)
		}
	}
}

// Elements of tf32 products have bits that tf32 has not, scales are positive.
func TestMatmulElements(t *testing.T) {
	x := Element(0, SeedA)
	if got := TF32Element(x); got/x < 1.00012 || got/x > 1.00013 {
		t.Errorf("TF32Element = %v of %v", got, x)
	}
	for i := range uint32(1000) {
		if v := scaleElement(i, SeedScaleA); v < 0.01 || v > 1.01+1e-6 {
			t.Fatalf("scaleElement(%d) = %v", i, v)
		}
	}
}

func FuzzMatmuls(f *testing.F) {
	f.Add([]byte("["+fp8Entry+","+tf32Entry+","+f16Entry+"]"), productRows)
	f.Fuzz(func(t *testing.T, data, rows []byte) {
		products, err := ParseMatmuls(data, rows)
		if err != nil {
			return
		}
		for _, p := range products {
			if len(p.Row) < 2*p.N || p.M*p.K > maxElements || p.K*p.N > maxElements || p.M*p.N > maxElements {
				t.Fatalf("%+v", p)
			}
		}
	})
}
