package golden

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const productEntry = `{"dtype":"bf16","M":3,"N":2,"K":5,"layout":"NT","crc32":7,"rows_off":4,"rows":1,` +
	`"crc32_f32":4294967295,"rows_off_f32":8}`

var productRows = []byte{0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}

func TestProducts(t *testing.T) {
	got, err := ParseProducts([]byte("["+productEntry+"]\n"), productRows)
	if err != nil {
		t.Fatal(err)
	}
	p := got[0]
	if len(got) != 1 || p.DType != "bf16" || p.M != 3 || p.N != 2 || p.K != 5 || p.Layout != "NT" || p.CRC != 7 ||
		p.CRCFloat32 != 1<<32-1 ||
		!bytes.Equal(p.Row, productRows[4:8]) || !bytes.Equal(p.RowFloat32, productRows[8:]) {
		t.Errorf("ParseProducts = %+v", got)
	}
}

func TestProductsAreStrict(t *testing.T) {
	for _, change := range [][2]string{
		{`"M":3,`, ``}, {`"M":3`, `"M":0`}, {`"M":3`, `"M":-1`}, {`"M":3`, `"M":1e99`}, {`"M":3`, `"M":67108865`},
		{`"K":5`, `"K":33554433`}, {`"K":5`, `"k2":5`}, {`"rows":1`, `"rows":2`}, {`"NT"`, `"TN"`}, {`"bf16"`, `"f64"`},
		{`"crc32":7`, `"crc32":4294967296`}, {`"crc32":7`, `"crc32":null`}, {`"rows_off":4`, `"rows_off":13`},
		{`"rows_off":4`, `"rows_off":18446744073709551615`}, {`"rows_off_f32":8`, `"rows_off_f32":9`}, {`}`, `}]`},
		{`}`, ``}, {`{`, ``},
	} {
		entry := strings.Replace(productEntry, change[0], change[1], 1)
		if entry == productEntry {
			t.Fatalf("%q is not in the entry", change[0])
		}
		if p, err := ParseProducts([]byte("["+entry+"]"), productRows); err == nil {
			t.Errorf("ParseProducts accepted %s: %+v", entry, p)
		}
	}
	for _, text := range []string{"", "[]", "null", "{}", "[" + productEntry + "] []"} {
		if _, err := ParseProducts([]byte(text), productRows); err == nil {
			t.Errorf("ParseProducts accepted %q", text)
		}
	}
}

// The elements that the first recorded products begin with; the products
// themselves are replayed by hoppercheck.
func TestElement(t *testing.T) {
	for i := range uint32(1 << 16) {
		for _, seed := range []uint32{SeedA, SeedB} {
			if v := Element(i, seed); v < -1 || v >= 1 || v*32768 != float32(int(v*32768)) {
				t.Fatalf("Element(%d, %d) = %v, want a multiple of 2^-15 in [-1, 1)", i, seed, v)
			}
		}
	}
	if Element(0, SeedA) == Element(0, SeedB) {
		t.Error("both operands begin alike")
	}
}

func FuzzProducts(f *testing.F) {
	f.Add([]byte("["+productEntry+"]"), productRows)
	f.Fuzz(func(t *testing.T, data, rows []byte) {
		products, err := ParseProducts(data, rows)
		if err != nil {
			return
		}
		for _, p := range products {
			if len(p.Row) != 2*p.N || len(p.RowFloat32) != 4*p.N || p.M*p.K > maxElements || p.K*p.N > maxElements ||
				p.M*p.N > maxElements {
				t.Fatalf("%+v", p)
			}
		}
	})
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(plain, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(plain); err != nil || string(got) != "text" {
		t.Errorf("Read = %q, %v, want the text", got, err)
	}
	zipped := filepath.Join(dir, "a.txt.gz")
	if err := os.WriteFile(zipped, []byte("no gzip"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{zipped, filepath.Join(dir, "none"), dir} {
		if _, err := Read(path); err == nil {
			t.Errorf("Read(%s) gave no error", path)
		}
	}
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, maxFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(large); err == nil {
		t.Error("Read accepted a file over the bound")
	}
}
