package mma_test

import (
	"testing"

	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/internal/replay"
	"example.com/leafhopper/mma"
)

// every returns all instructions that Validate accepts with a dense A.
func every() []mma.Op { return all(mma.Op{}) }

// all returns the instructions that Validate accepts and that are op otherwise.
func all(op mma.Op) (ops []mma.Op) {
	for shape := mma.M16N8K16; shape <= mma.M16N8K256; shape++ {
		for a := mma.BF16; a <= mma.S32; a++ {
			for b := mma.BF16; b <= mma.S32; b++ {
				for d := mma.BF16; d <= mma.S32; d++ {
					for bits := range mma.XorPopc + 1 {
						for _, saturate := range []bool{false, true} {
							op.Shape, op.A, op.B, op.D, op.BitOp, op.Saturate = shape, a, b, d, bits, saturate
							if op.Validate() == nil {
								ops = append(ops, op)
							}
						}
					}
				}
			}
		}
	}
	return ops
}

// sparse returns all instructions with a sparse A.
func sparse() (ops []mma.Op) {
	for _, op := range all(mma.Op{Sparse: true}) {
		ordered := op
		ordered.Ordered = true
		ops = append(ops, op, ordered)
	}
	return ops
}

// Every instruction gives the bits that it gave on an H200.
func TestGolden(t *testing.T) {
	var records []golden.MMA
	for _, name := range []string{"mma", "mma_b1"} {
		more, err := golden.Records("testdata/"+name+".txt.gz", golden.ParseMMAs)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, more...)
	}
	recorded := map[string]int{}
	for i := range records {
		recorded[records[i].Op]++
		if text, err := replay.MMA(&records[i]); text != "" || err != nil {
			t.Errorf("record %d: %s %v", i, text, err)
		}
	}
	ops := every()
	if len(records) != 272+252 || len(ops) != 58 || len(recorded) != len(ops) {
		t.Errorf("%d records of %d instructions, want 524 of all %d, which are 58", len(records), len(recorded), len(ops))
	}
	for _, op := range ops {
		want := 8
		switch {
		case op.A == mma.B1:
			want = 42
		case op.D == mma.S32:
			want = 2
		}
		if n := recorded[op.String()]; n != want {
			t.Errorf("%d records of %v, want %d", n, op, want)
		}
	}
}
