package mma_test

import (
	"testing"

	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/internal/replay"
	"example.com/leafhopper/mma"
)

// every returns all instructions that Validate accepts.
func every() (ops []mma.Op) {
	for shape := mma.M16N8K16; shape <= mma.M8N8K16; shape++ {
		for a := mma.BF16; a <= mma.S32; a++ {
			for b := mma.BF16; b <= mma.S32; b++ {
				for d := mma.BF16; d <= mma.S32; d++ {
					for _, saturate := range []bool{false, true} {
						if op := (mma.Op{Shape: shape, A: a, B: b, D: d, Saturate: saturate}); op.Validate() == nil {
							ops = append(ops, op)
						}
					}
				}
			}
		}
	}
	return ops
}

// Every instruction gives the bits that it gave on an H100.
func TestGolden(t *testing.T) {
	all, err := golden.Records("testdata/mma.txt.gz", golden.ParseMMAs)
	if err != nil {
		t.Fatal(err)
	}
	recorded := map[string]int{}
	for i := range all {
		recorded[all[i].Op]++
		if text, err := replay.MMA(&all[i]); text != "" || err != nil {
			t.Errorf("record %d: %s %v", i, text, err)
		}
	}
	ops := every()
	if len(all) != 272 || len(ops) != 52 || len(recorded) != len(ops) {
		t.Errorf("%d records of %d instructions, want 272 of all %d, which are 52", len(all), len(recorded), len(ops))
	}
	for _, op := range ops {
		want := 8
		if op.D == mma.S32 {
			want = 2
		}
		if n := recorded[op.String()]; n != want {
			t.Errorf("%d records of %v, want %d", n, op, want)
		}
	}
}
