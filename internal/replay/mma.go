package replay

import (
	"fmt"
	"slices"

	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/mma"
)

// MMA does a record of an mma.sync, and says how an element of D differs from the GPU's, or "".
func MMA(r *golden.MMA) (string, error) {
	return warpMMA(r, func(w *mma.Warp, op mma.Op, d [][mma.Lanes]uint32) error { return w.MMA(op, d, r.A, r.B) })
}

// SparseMMA is MMA for an mma.sp.
func SparseMMA(r *golden.SparseMMA) (string, error) {
	meta := mma.Metadata(r.Meta)
	return warpMMA(&r.MMA, func(w *mma.Warp, op mma.Op, d [][mma.Lanes]uint32) error {
		return w.MMASparse(op, d, r.A, r.B, &meta, r.Selector)
	})
}

// warpMMA has multiply make D of C.
func warpMMA(r *golden.MMA, multiply func(w *mma.Warp, op mma.Op, d [][mma.Lanes]uint32) error) (string, error) {
	op, err := mma.Parse(r.Op)
	if err != nil {
		return "", err
	}
	got := slices.Clone(r.C)
	if err := multiply(new(mma.Warp), op, got); err != nil {
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
