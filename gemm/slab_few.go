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
	cols, depth := to-from, in.k
	if in.b.packed {
		depth = in.stageK()
	}
	s := scratches.Get().(*scratch)
	a := s.at()
	sums := lines{in.c.at(0, from), in.c.pitch()}
	inC := in.direct() && cols == in.n
	if !inC {
		sums = lines{unsafe.Add(a, scratchBytes/2), cols * 4}
	}
	for k0 := 0; k0 < in.k; k0 += depth {
		n := min(depth, in.k-k0)
		in.kernel.PackA(in.a.elem, !in.a.trans)(a, in.a.at(0, k0), in.a.pitch(), in.m, n)
		in.stream(a, in.m, k0, n, from, cols, sums, k0 > 0)
		in.turn.Did(flopsOf(in.m, cols, n))
	}
	if !inC {
		in.storeWide(from, sums, in.m, cols)
	}
	scratches.Put(s)
}

// stream multiplies a panel of rows of A by columns of B from col on, for n elements of K from k0 on, and adds to sums, or
// sets them. If B is packed, they are those of one block.
func (p *product) stream(a unsafe.Pointer, rows, k0, n, col, cols int, sums lines, add bool) {
	k := p.kernel
	if p.b.packed {
		k.StreamPanels(p.b.elem)(p.words(n), rows, cols, a, p.packed.at(k0, col), p.packed.pitch(k0), sums.at, sums.pitch, add)
	} else {
		k.Stream(p.b.elem, p.b.trans)(n, rows, cols, a, p.b.at(k0, col), p.b.pitch(), sums.at, sums.pitch, add)
	}
}
