package gemm

import (
	"unsafe"

	"example.com/leafhopper/tile"
)

// behindDeep is the fewest blocks of K for which to pack a single panel of each behind the products of the one before: of fewer
// too large a part is the first, which has none.
const behindDeep = 8

// hides reports whether panels of B can be packed behind products at all, and have enough to hide behind: with one block of K the
// first of few panels has none. A processor of Intel's gains nothing, and is a tenth slower where 100 rows meet 100 columns.
func (in *inlined) hides() bool {
	p := &in.product
	return !p.on.intel && in.depth < p.k && p.b.trans && in.tilesA > 0 && !p.rounds() && p.kernel.RowsPackDepth(p.b.elem) > 0
}

// packsBehind reports whether the columns from .. to-1 are computed so.
func (in *inlined) packsBehind(from, to int) bool {
	return in.behind && !in.past && (to-from > in.kernel.NR || in.k >= behindDeep*in.depth)
}

// runBehind computes the columns from .. to-1 by an A that is read where it lies: each panel of
// B, whose columns lie along K, is packed behind the products of the one before, in turn in either
// half of the scratch memory for B.
func (in *inlined) runBehind(from, to int) {
	k := in.kernel
	s := scratches.Get().(*scratch)
	b := s.at()
	acc := unsafe.Add(b, roundUp(in.sizeB, tile.SlotAlign))
	panels := ceilDiv(to-from, k.NR)
	at := func(i int) piece {
		k0, col := i/panels*in.depth, from+i%panels*k.NR
		if k0 >= in.k {
			return piece{}
		}
		return piece{k0, min(in.depth, in.k-k0), col, min(k.NR, to-col), unsafe.Add(b, i%2*in.sizeB/2)}
	}
	var w sweep
	for i := range panels * ceilDiv(in.k, in.depth) {
		now := at(i)
		var st strip
		w.pack(&in.product, now, at(i+1), at(i+2), &st)
		in.tiles(now.k0, now.n, now.col, now.cols, 0, now.panel, unsafe.Add(acc, i%panels*in.accBytes), in.phaseAt(now.k0, now.n), &st.pack)
	}
	scratches.Put(s)
}
