package gemm

import (
	"math"

	"example.com/leafhopper/asm"
)

// Where C has too few elements to go round, workers share out K: a slab is then a part of C by a range of whole
// blocks of K. The first range is added up as it is computed. Of the others the sums of every block are kept apart,
// because that is how the sum is defined, ((b0 + b1) + b2) + b3 and not (b0 + b1) + (b2 + b3), and whoever computes
// the last range of a part of C adds them to it, in order. So nobody waits for anybody, and the bits are those of one
// worker.
const (
	sharedBytes = 2 << 20 // bytes of sums, at most
	sharedGain  = 1. / 8  // part of the time by which to share K has to be faster, to be worth its uncertainty
	pageBytes   = 4 << 10 // bytes apart from which rows share the sets of a second-level cache
)

// blocks returns the blocks of K.
func (q *problem) blocks() int { return ceilDiv(q.k, q.chainK()) }

// mostRanges returns the most ranges of K that so many workers can share out. A kernel that waits for B would be
// measured first.
func (q *problem) mostRanges(workers int) int {
	if workers == 1 || q.kernel.Arithmetic != asm.Native || q.on.fetchRows > 0 || q.transC {
		return 1
	}
	return max(1, min(q.blocks(), slabsEach*workers, sharedBytes/4/q.m/q.n))
}

// shareK returns K in so many ranges, or fewer, of so many blocks, and what part of K a range has at most.
func (q *problem) shareK(most int) (ranges, span int, part float64) {
	blocks := q.blocks()
	span = ceilDiv(blocks, most)
	return ceilDiv(blocks, span), span, min(1, float64(span*q.chainK())/float64(q.k))
}

// spills reports whether a second-level cache is large enough for what a worker reads of a B that it does not pack,
// in all so many columns of a range of K, but rows that lie a power of two apart, of which it reads so many columns
// each, share so few sets of it that it does not keep them.
func (q *problem) spills(g *Plan, columns, all, ranges int) bool {
	if !g.b.lies() || q.formB != inRows || q.blocks() == 1 {
		return false
	}
	size := q.elemB.Size()
	row, bytes, most := columns*size, all*size*(q.k/ranges), q.on.l2/4*3
	apart := min(pageBytes, q.pitchB&-q.pitchB)
	return bytes <= most && bytes > most/apart*row
}

// adds returns the flops in the time that the busiest of the workers takes to add up what such a cut keeps apart,
// and infinitely many if that is too much.
func (q *problem) adds(cut *slabCut, workers int) float64 {
	sums := float64(q.blocks() - cut.span)
	if (sums+1)*float64(q.m)*float64(q.n)*4 > sharedBytes {
		return math.Inf(1)
	}
	elements := ceilDiv(cut.count, workers) * min(cut.rows, q.m) * min(cut.cols, q.n)
	return sums * float64(elements*q.on.sumFlops*q.kernel.KPack)
}

// dotted reports whether the product is best computed as dot products.
func (q *problem) dotted() bool {
	return q.elemA == q.elemB && max(q.m, q.n) <= dotMost && q.m*q.n*q.kernel.KPack <= dotMost &&
		q.k >= dotBlocks*q.elem.Block() && q.formB != inPanels && q.kernel.Lanes(q.elem) != nil &&
		q.linesUp(!q.transA, q.pitchA) && q.linesUp(q.formB == alongK, q.pitchB)
}

// linesUp reports whether the elements of an operand's vectors lie side by side, or not far apart.
func (q *problem) linesUp(kContiguous bool, pitch int) bool {
	return kContiguous || pitch <= dotStep*q.elem.Size()
}

// dotBytes returns the bytes of A and B.
func (q *problem) dotBytes() float64 {
	return float64(q.m+q.n) * float64(q.k) * float64(q.elem.Size())
}

// planDots returns how dot products are computed: K in ranges for workers, or for fewer.
func (q *problem) planDots() Plan {
	workers := max(1, min(int(q.dotBytes()/dotShare), q.atOnce()))
	g := Plan{share: bySlabs, a: panelsOfA, b: dotsOfB, sums: inScratch, workers: workers}
	if workers == 1 && (!q.waits || q.flops() <= 4<<20) {
		g.share = byCaller
	}
	most := max(1, min(int(q.dotBytes()/dotRange), slabsEach*workers))
	span := roundUp(ceilDiv(q.blocks(), most), asm.Lanes)
	g.slabs = slabCut{rows: q.m, cols: q.n, across: 1, count: 1, ranges: ceilDiv(q.blocks(), span), span: span}
	return g
}
