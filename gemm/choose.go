package gemm

import (
	"example.com/leafhopper/barrier"
	"example.com/leafhopper/tile"
)

// Who shares a product:
//
//	caller    it takes less time than to hand it over, or nobody else may compute
//	columns   A has few rows, so reading B is the work: each worker takes other columns
//	slabs     what a slab of C needs of A and B comes from caches soon enough for each worker to fetch it
//	ring      else A, and B unless few workers pack it themselves, are packed once for all, in slots
const (
	tinyWork  = 1 << 16  // multiply-adds that are too few to think about
	streamMin = 1 << 18  // least elements of a B whose columns are shared; smaller ones stay in a cache
	thinRows  = 4        // rows that are not fewer than a kernel for unpacked operands wants
	alongMin  = 256      // least elements of K of columns that are read as rows
	nearCols  = 256      // columns up to which slabs are near if K has several blocks, whose sums wait
	pastBytes = 32 << 20 // least bytes of C to be stored past caches of unknown or smaller size
	slabBytes = 64 << 20 // bytes of A and B of a slab, for which a context waits
)

// choose returns how to compute q, whose dimensions are not 0.
func choose(q *problem) Plan {
	switch {
	case q.asked.any:
		return q.planRing()
	case q.dotted():
		return q.planDots()
	case q.tiny() != nil:
		return tinyPlan
	}
	columns := q.sharesColumns()
	if columns && (q.n > nearCols || q.m <= q.kernel.MR) {
		return q.planColumns()
	}
	g, near := q.planSlabs()
	switch {
	case near:
		return g
	case columns: // narrow ones
		return q.planColumns()
	}
	return q.planRing()
}

// alone reports whether the product stays with its caller, of such a crowd.
func (q *problem) alone(c crowd) bool {
	switch {
	case q.asked.any:
		return false
	case q.dotted():
		return q.dotBytes() < 2*dotShare
	}
	return q.counted(c) <= q.on.shared[c]
}

// counted returns the flops as which the product counts there. Rows for which workers would wait for B are more.
func (q *problem) counted(c crowd) float64 {
	rows := max(q.m+q.on.fetchRows, q.on.leastRows[c][q.formB])
	return 2 * float64(rows) * float64(q.n) * float64(q.k)
}

// sharesColumns reports whether workers had better share out the columns of a B that is read once.
func (q *problem) sharesColumns() bool {
	workers := q.atOnce()
	c := q.crowd(workers)
	rows := &q.on.columns[c]
	most := rows.most[q.formB]
	if q.held(workers, rows.part[q.formB]) && (q.on.repacks[c] || q.readsA()) {
		most = rows.held[q.formB]
	}
	return q.m <= most && q.n*q.k >= streamMin && !q.transC && !q.slabSource().lies() &&
		q.streamBytes() <= barrier.MaxTx*tile.PanelTxUnit
}

// slabSource returns the fastest way to read B for slabs, or for all of C.
func (q *problem) slabSource() sourceB {
	switch {
	case q.readsFast():
		return unpackedB
	case q.few():
		return streamedB
	case q.ready():
		return storedB
	}
	return packedB
}

// few reports whether kernels for few rows multiply faster than tiles where B stays in a cache. Tiles have all
// of their rows, however few are wanted.
func (q *problem) few() bool {
	workers, on, k := q.atOnce(), q.on, q.kernel
	cached := q.n*q.k < streamMin || workers > 2 && q.held(workers, on.columns[few].part[q.formB])
	return q.m <= on.fewRows[q.formB] && cached && q.sizeB() > on.fewTurned[q.formB] && !q.transC && q.streams() &&
		max(k.PanelA(q.words(q.k)), q.m*q.n*4) <= fewBytes
}

// each returns the flops up to which each of several workers fetches what its slabs need, or 0.
func (q *problem) each(g *Plan, workers int) float64 {
	if g.a == rowsOfA || g.b == streamedB {
		return q.on.slabs[q.crowd(workers)]
	}
	return q.on.slabsPack[q.crowd(workers)]
}

// near reports whether workers may fetch what their slabs need, each for itself.
func (q *problem) near(g *Plan, workers int) bool {
	on, sizeA, l2 := q.on, float64(q.m)*float64(g.depth*q.elem.Size()), float64(workers*q.on.l2)
	each := q.each(g, workers)
	switch {
	case each > 0:
		// Slabs of all columns pack A once.
		return q.flops() <= each*float64(workers) || g.a == panelsOfA && q.n <= on.slabsOnce[q.crowd(workers)]*q.kernel.NR
	case workers == 1 && q.alone(one):
		return true
	case g.a == rowsOfA && sizeA <= on.nearA*l2 && q.held(workers, on.nearB) && q.m*q.pitchC <= on.nearC:
		return true
	}
	return q.flops() <= on.nearFlops && (g.b.lies() || sizeA <= on.nearRows && (g.depth == q.k || q.n <= nearCols))
}
