package golden

import (
	"bytes"
	"strings"
	"testing"
)

const (
	scaledEntry = `{"a":"e5m2","b":"e4m3","m":3,"n":2,"k":5,"layout":"NT","out":"bf16","crc32":7,"scales":"row","bias":true,"fast_accum":false,"row_off":4}`
	tf32Entry   = `{"a":"tf32","b":"tf32","m":3,"n":2,"k":5,"layout":"NN","out":"f32","crc32":8,"scales":"none","bias":false,"row_off":8}`
)

func TestScaledProducts(t *testing.T) {
	got, err := ParseScaledProducts([]byte("["+scaledEntry+","+tf32Entry+"]\n"), productRows)
	if err != nil {
		t.Fatal(err)
	}
	p, q := got[0], got[1]
	if len(got) != 2 || p.A != "e5m2" || p.B != "e4m3" || p.M != 3 || p.N != 2 || p.K != 5 || p.Layout != "NT" || p.Out != "bf16" ||
		!p.Promoted || p.Scales != "row" || !p.Bias || p.CRC != 7 || !bytes.Equal(p.Row, productRows[4:8]) ||
		q.A != "tf32" || q.Promoted || q.Bias || q.CRC != 8 || !bytes.Equal(q.Row, productRows[8:16]) {
		t.Errorf("ParseScaledProducts = %+v", got)
	}
}

func TestScaledProductsAreStrict(t *testing.T) {
	for _, c := range []struct{ entry, old, new string }{
		{scaledEntry, `"m":3,`, ``}, {scaledEntry, `"m":3`, `"m":0`}, {scaledEntry, `"k":5`, `"k":33554433`}, {scaledEntry, `"NT"`, `"TT"`},
		{scaledEntry, `"e5m2"`, `"tf32"`}, {scaledEntry, `"e4m3"`, `"bf16"`}, {scaledEntry, `"bf16"`, `"f16"`}, {scaledEntry, `"row"`, `"block"`},
		{scaledEntry, `"fast_accum":false,`, ``}, {scaledEntry, `"bias":true`, `"bias":1`}, {scaledEntry, `"row_off":4`, `"row_off":13`},
		{scaledEntry, `"crc32":7`, `"crc32":-1`}, {scaledEntry, `}`, `,"more":1}`}, {scaledEntry, `}`, `}]`},
		{tf32Entry, `"f32","crc32"`, `"bf16","crc32"`}, {tf32Entry, `"none"`, `"row"`}, {tf32Entry, `false`, `true`}, {tf32Entry, `}`, `,"fast_accum":true}`},
		{tf32Entry, `"row_off":8`, `"row_off":9`},
	} {
		entry := strings.Replace(c.entry, c.old, c.new, 1)
		if entry == c.entry {
			t.Fatalf("%q is not in the entry", c.old)
		}
		if p, err := ParseScaledProducts([]byte("["+entry+"]"), productRows); err == nil {
			t.Errorf("ParseScaledProducts accepted %s: %+v", entry, p)
		}
	}
}

// Elements of tf32 products have bits that tf32 has not, scales are positive.
func TestScaledElements(t *testing.T) {
	if got := TF32Element(0, SeedA); got == Element(0, SeedA) || got/Element(0, SeedA) < 1.00012 || got/Element(0, SeedA) > 1.00013 {
		t.Errorf("TF32Element = %v of %v", got, Element(0, SeedA))
	}
	for i := range uint32(1000) {
		if v := ScaleElement(i, SeedScaleA); v < 0.01 || v > 1.01+1e-6 {
			t.Fatalf("ScaleElement(%d) = %v", i, v)
		}
	}
}

func FuzzScaledProducts(f *testing.F) {
	f.Add([]byte("["+scaledEntry+","+tf32Entry+"]"), productRows)
	f.Fuzz(func(t *testing.T, data, rows []byte) {
		products, err := ParseScaledProducts(data, rows)
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
