package plan

import (
	"math"

	"example.com/leafhopper/asm"
)

// Where C has too few elements to go round, workers share out K: a slab is then a part of C by a range of whole blocks
// of K. The first range is added up as it is computed. Of the others the sums of every block are kept apart, because
// that is how the sum is defined, ((b0 + b1) + b2) + b3 and not (b0 + b1) + (b2 + b3), and whoever computes the last
// range of a part of C adds them to it, in order. So nobody waits for anybody, and the bits are those of one worker.
const (
	sharedBytes = 2 << 20 // bytes of sums, at most
	sharedGain  = 1. / 8  // part of the time by which to share K has to be faster, to be worth its uncertainty
	pageBytes   = 4 << 10 // bytes apart from which rows share the sets of a second-level cache
)

// Blocks returns the blocks of K.
func (q *Problem) Blocks() int { return CeilDiv(q.K, q.ChainK()) }

// mostRanges returns the most ranges of K that so many workers can share out. A kernel that waits for B would wait for
// the sums, too, and shares K only if there are fewer tiles than workers; so do two for a C that is transposed, on a
// Zen 4 up to a fifth faster, where 4 to 16 of an Emerald Rapids share it in 0.5 to 0.9 of the time (gemmbench compare
// -size 64x4x4096,256x4x4096,512x8x2048,... -trans TN -workers 2,4,8,16).
func (q *Problem) mostRanges(workers int) int {
	k := q.Kernel
	enough := CeilDiv(q.M, k.MR)*CeilDiv(q.N, k.NR) >= workers
	if workers == 1 || k.Arithmetic != asm.Native || enough && (q.On.FetchRows > 0 || q.TransC && workers == 2) {
		return 1
	}
	return max(1, min(q.Blocks(), slabsEach*workers, sharedBytes/k.Word/q.M/q.N))
}

// spills reports whether a cache of so many bytes has too few sets for what a worker reads of a B where it lies, so
// many columns of so many elements of K: rows that lie a power of two apart share them.
func (q *Problem) spills(columns, depth, cache int) bool {
	apart := min(pageBytes, q.PitchB&-q.PitchB)
	return q.FormB == InRows && q.Blocks() > 1 && columns*q.ElemB.Size() < apart && depth > cache/apart
}

// adds returns the flops in the time that the busiest of the workers takes to add up what such a cut keeps apart,
// and infinitely many if that is too much.
func (q *Problem) adds(cut *SlabCut, workers int) float64 {
	if cut.Ranges == 1 {
		return 0
	}
	sums := float64(q.Blocks() - cut.Span)
	if (sums+1)*float64(q.M)*float64(q.N)*float64(q.Kernel.Word) > sharedBytes {
		return math.Inf(1)
	}
	elements := CeilDiv(cut.Count, workers) * min(cut.Rows, q.M) * min(cut.Cols, q.N)
	return sums * float64(elements*q.On.sumFlops*q.Kernel.KPack)
}
