package wgmma_test

import (
	"testing"

	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/internal/replay"
)

// recorded reads the records of a file.
func recorded[T any](t *testing.T, name string, parse func([]byte) ([]T, error)) []T {
	t.Helper()
	records, err := golden.Records("testdata/"+name, parse)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// Sparse instructions of every kind give the recorded bits, with A in shared memory and in registers.
func TestGoldenSparse(t *testing.T) {
	records := recorded(t, "wgmma_sp.bin.gz", golden.ParseSparseWGMMAs)
	types, variants, swizzles, special := map[uint32]int{}, map[[3]any]int{}, map[uint32]int{}, 0
	scales := map[golden.Scale]int{}
	for i := range records {
		m := &records[i]
		if text, err := replay.SparseWGMMA(m); text != "" || err != nil {
			t.Errorf("record %d: %s %v", i, text, err)
		}
		types[m.Type]++
		variants[[3]any{m.Selector, m.Registers, m.Saturate}]++
		swizzles[m.SwizzleB]++
		scales[m.Scale]++
		for _, row := range m.D {
			for _, u := range row {
				switch u {
				case 0x7fffffff, 0x7fff:
					special++
				case 1 << 31:
					if m.Type < golden.WGMMAF16Acc {
						t.Errorf("record %d has an element -0", i)
					}
				case 1 << 15:
					if m.Type >= golden.WGMMAF16Acc && m.Type < golden.WGMMAS8 {
						t.Errorf("record %d has an element -0", i)
					}
				}
			}
		}
	}
	// Selector 1 and saturation are not of the same types.
	if len(records) != 88 || len(types) != 16 || len(variants) != 6 || len(swizzles) != 4 || len(scales) != 6 ||
		special == 0 {
		t.Errorf("%d records, of each type %v, selector, source and saturation %v, swizzle %v, scale %v, with %d NaNs: "+
			"the file tests too little", len(records), types, variants, swizzles, scales, special)
	}
}

// Every recorded descriptor, by way of its 64-bit form, reads the operands that the hardware read, of 4 swizzles,
// K-major and MN-major.
func TestGoldenDescriptors(t *testing.T) {
	cases := replayDescriptors(t, "wgmma_desc.bin.gz", 150)
	seen := map[[2]any]int{}
	for _, c := range cases {
		seen[[2]any{c.A.Swizzle, c.A.MNMajor}]++
		seen[[2]any{c.B.Swizzle, c.B.MNMajor}]++
		if c.Sparse {
			t.Error("a case is sparse")
		}
	}
	if len(seen) != 8 {
		t.Errorf("%d layouts in the file: %v", len(seen), seen)
	}
}

// Descriptors of sparse instructions do so too.
func TestGoldenSparseDescriptors(t *testing.T) {
	cases := replayDescriptors(t, "wgmma_sp_desc.bin.gz", 57)
	seen := map[[2]any]int{}
	for _, c := range cases {
		seen[[2]any{c.B.Swizzle, c.B.MNMajor}]++
		seen[[2]any{"A", c.A.MNMajor}]++
		if !c.Sparse {
			t.Error("a case is dense")
		}
	}
	if len(seen) != 10 {
		t.Errorf("%d layouts in the file: %v", len(seen), seen)
	}
}

func replayDescriptors(t *testing.T, name string, want int) []golden.DescriptorCase {
	cases := recorded(t, name, golden.ParseDescriptors)
	if len(cases) != want {
		t.Errorf("%d cases, want %d", len(cases), want)
	}
	for i := range cases {
		if text, err := replay.Descriptor(&cases[i]); text != "" || err != nil {
			t.Errorf("case %d: %s %v", i, text, err)
		}
	}
	return cases
}
