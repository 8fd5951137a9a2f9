package wgmma_test

import (
	"testing"

	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/internal/replay"
)

// recorded reads the records of a file.
func recorded[T any](t *testing.T, name string, parse func([]byte) ([]T, error)) []T {
	t.Helper()
	data, err := golden.Read("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	records, err := parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// Sparse instructions of every kind give the recorded bits, with A in shared memory and in registers.
func TestGoldenSparse(t *testing.T) {
	records := recorded(t, "wgmma_sp.bin.gz", golden.ParseSparseMMAs)
	types, variants, swizzles, special := map[uint32]int{}, map[[3]any]int{}, map[uint32]int{}, 0
	for i := range records {
		m := &records[i]
		if text, err := replay.SparseWGMMA(m); text != "" || err != nil {
			t.Errorf("record %d: %s %v", i, text, err)
		}
		types[m.Type]++
		variants[[3]any{m.Selector, m.Registers, m.Saturate}]++
		swizzles[m.SwizzleB]++
		for _, row := range m.D {
			for _, u := range row {
				if u == 0x7fffffff || u == 0x7fff {
					special++
				}
			}
		}
	}
	// Selector 1 and saturation are not of the same types.
	if len(records) != 64 || len(types) != 16 || len(variants) != 6 || len(swizzles) != 4 || special == 0 {
		t.Errorf("%d records, of each type %v, selector, source and saturation %v, swizzle %v, with %d NaNs: "+
			"the file tests too little", len(records), types, variants, swizzles, special)
	}
}

// Descriptors of sparse instructions read what the hardware read.
func TestGoldenSparseDescriptors(t *testing.T) {
	cases := recorded(t, "wgmma_sp_desc.bin.gz", golden.ParseDescriptors)
	seen := map[[2]any]int{}
	for i := range cases {
		c := &cases[i]
		if text, err := replay.Descriptor(c); text != "" || err != nil {
			t.Errorf("case %d: %s %v", i, text, err)
		}
		if !c.Sparse {
			t.Errorf("case %d is dense", i)
		}
		seen[[2]any{c.B.Swizzle, c.B.MNMajor}]++
		seen[[2]any{"A", c.A.MNMajor}]++
	}
	if len(cases) != 57 || len(seen) != 10 {
		t.Errorf("%d cases, layouts %v", len(cases), seen)
	}
}
