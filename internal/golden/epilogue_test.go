package golden

import (
	"bytes"
	"strings"
	"testing"
)

const epilogueEntry = `{"dtype":"f16","m":3,"n":2,"k":5,"layout":"NT","alpha":0.75,"beta":-1.5,"bias":true,` +
	`"activation":"relu","crc32":7,"row_off":4}`

func TestEpilogueProducts(t *testing.T) {
	got, err := ParseEpilogueProducts([]byte("["+epilogueEntry+"]\n"), productRows)
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	if p := got[0]; p.DType != "f16" || p.M != 3 || p.N != 2 || p.K != 5 || p.Layout != "NT" || p.Alpha != 0.75 ||
		p.Beta != -1.5 || !p.Bias || p.Activation != "relu" || p.CRC != 7 || !bytes.Equal(p.Row, productRows[4:8]) {
		t.Errorf("ParseEpilogueProducts = %+v", p)
	}
}

func TestEpilogueProductsAreStrict(t *testing.T) {
	for _, c := range [][2]string{
		{`"m":3,`, ``}, {`"n":2`, `"n":0`}, {`"NT"`, `"TT"`}, {`"f16"`, `"f32"`}, {`"relu"`, `"gelu"`}, {`0.75`, `1e99`},
		{`-1.5`, `"a"`}, {`"beta":-1.5,`, ``}, {`"row_off":4`, `"row_off":13`}, {`true`, `1`}, {`}`, `,"more":1}`},
	} {
		entry := strings.Replace(epilogueEntry, c[0], c[1], 1)
		if entry == epilogueEntry {
			t.Fatalf("%q is not in the entry", c[0])
		}
		if p, err := ParseEpilogueProducts([]byte("["+entry+"]"), productRows); err == nil {
			t.Errorf("ParseEpilogueProducts accepted %s: %+v", entry, p)
		}
	}
}

func FuzzEpilogueProducts(f *testing.F) {
	f.Add([]byte("["+epilogueEntry+"]"), productRows)
	f.Fuzz(func(t *testing.T, data, rows []byte) {
		products, err := ParseEpilogueProducts(data, rows)
		if err != nil {
			return
		}
		for _, p := range products {
			if len(p.Row) != 2*p.N || p.M*p.K > maxElements || p.K*p.N > maxElements || p.M*p.N > maxElements {
				t.Fatalf("%+v", p)
			}
		}
	})
}
