package gemm

import (
	"unsafe"

	"example.com/leafhopper/tile"
)

// fewBytes is the scratch memory for the panels of few rows, and for their sums.
const fewBytes = scratchBytes/2 - tile.SlotAlign

// runFewRows computes the columns from .. to-1. Beside the columns of other workers their
// sums had better not be added to in C, see [columnGrid.init].
func (in *slab) runFewRows(from, to int) {
	k, cols, depth := in.kernel, to-from, in.k
	if in.b.packed {
		depth = in.stageK()
	}
	s := scratches.Get().(*scratch)
	a := s.at()
	dst, ldd := in.c.at(0, from), in.c.pitch()
	inC := in.direct() && cols == in.n
	if !inC {
		dst, ldd = unsafe.Add(a, scratchBytes/2), cols*4
	}
	for k0 := 0; k0 < in.k; k0 += depth {
		n, add := min(depth, in.k-k0), k0 > 0
		k.PackA(in.a.elem, !in.a.trans)(a, in.a.at(0, k0), in.a.pitch(), in.m, n)
		if in.b.packed {
			k.StreamPanels(in.b.elem)(in.words(n), in.m, cols, a, in.packed.at(k0, from), in.packed.pitch(k0), dst, ldd, add)
		} else {
			k.Stream(in.b.elem, in.b.trans)(n, in.m, cols, a, in.b.at(k0, from), in.b.pitch(), dst, ldd, add)
		}
		in.turn.Did(flopsOf(in.m, cols, n))
	}
	if !inC {
		in.storeWide(from, dst, ldd, in.m, cols)
	}
	scratches.Put(s)
}
