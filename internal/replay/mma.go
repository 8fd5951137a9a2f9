package replay

import (
	"fmt"
	"slices"

	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/mma"
)

// MMA does a record of an mma.sync, and says how an element of D differs from the GPU's, or "".
func MMA(r *golden.MMA) (string, error) {
	op, err := mma.Parse(r.Op)
	if err != nil {
		return "", err
	}
	got := slices.Clone(r.C)
	if err := new(mma.Warp).MMA(op, got, r.A, r.B); err != nil {
		return "", err
	}
	f := op.FragmentD()
	for i := range f.Elements() {
		for lane := range mma.Lanes {
			if x, want := f.Bits(got, lane, i), f.Bits(r.D, lane, i); x != want {
				row, col := f.Coord(lane, i)
				return fmt.Sprintf("%v with C %#x: D(%d, %d), element %d of lane %d, is %#x, the GPU's %#x",
					op, f.Bits(r.C, lane, i), row, col, i, lane, x, want), nil
			}
		}
	}
	return "", nil
}
