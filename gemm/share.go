package gemm

import (
	"math"
	"sync/atomic"
	"unsafe"

	"example.com/leafhopper/asm"
)

// Where C has too few elements to go round, workers share out K: a slab is then a part of C by a range of whole blocks of K. The
// first range is added up as it is computed. Of the others the sums of every block are kept apart, because that is how the sum is
// defined, ((b0 + b1) + b2) + b3 and not (b0 + b1) + (b2 + b3), and whoever computes the last range of a part of C adds them to it, in
// order. So nobody waits for anybody, and the bits are those of one worker.
const (
	sharedBytes = 2 << 20 // most bytes of sums
	// Flops that could be computed, in float32, in the time it takes to write an element of the sums of a block and to add it on another core.
	sumFlops = 64
	// By what part of the time a cut that shares K has to be faster than one that does not, to be worth its uncertainty.
	sharedGain = 1. / 8
	rangesEach = 4 // most ranges for each worker
)

// sharing is how K is shared out.
type sharing struct {
	ranges int // of K, 1 if it is not
	span   int // blocks of a range
}

// partial is the memory of what is computed so.
type partial struct {
	sums unsafe.Pointer // [sums of the first range, or block, and of every block after that][m][n]
	left []atomic.Int32 // ranges that are not computed, of each part of C
}

// blocks returns the blocks of K.
func (p *product) blocks() int { return ceilDiv(p.k, p.chainK()) }

// mostRanges returns the most ranges of K that so many workers can share out. A kernel that starves would be measured first.
func (p *product) mostRanges(workers int) int {
	if workers == 1 || p.kernel.Arithmetic != Native || p.starves() || p.c.trans || float64(p.m)*float64(p.n)*4 > sharedBytes {
		return 1
	}
	return min(p.blocks(), rangesEach*workers)
}

// shareK returns K in so many ranges, or fewer, and what part of K a range has at most.
func (p *product) shareK(ranges int) (sharing, float64) {
	blocks := p.blocks()
	span := ceilDiv(blocks, ranges)
	return sharing{ceilDiv(blocks, span), span}, min(1, float64(span*p.chainK())/float64(p.k))
}

// spills reports whether a second-level cache is large enough for what a worker reads of a B that it does not pack, in all so many columns of a
// range of K, but rows that lie a power of two apart, of which it reads so many columns each, share so few sets of it that it does not keep them.
func (in *inlined) spills(columns, all, ranges int) bool {
	if in.unpacked == nil && !in.few || in.b.packed || in.b.trans || in.blocks() == 1 {
		return false
	}
	size := in.b.elem.Size()
	row, bytes, most := columns*size, all*size*(in.k/ranges), in.on.l2/4*3
	apart := min(pageBytes, in.b.pitch()&-in.b.pitch())
	return row < apart && bytes <= most && bytes > most/apart*row
}

// adds returns the flops in the time that the busiest of the workers takes to add up what such a cut keeps apart, and infinitely many if that is too much.
func (in *inlined) adds(cut *slabbing) float64 {
	sums := float64(in.blocks() - cut.span)
	if (sums+1)*float64(in.m)*float64(in.n)*4 > sharedBytes {
		return math.Inf(1)
	}
	elements := ceilDiv(cut.slabs, cut.workers) * min(cut.slabRows, in.m) * min(cut.slabCols, in.n)
	return sums * float64(elements*sumFlops*in.kernel.KPack)
}

// sumsBytes returns the bytes of the sums.
func (pl *place) sumsBytes() int64 { return int64(pl.sumsAt(pl.blocks())) }

// sumsAt returns where the sums of a block begin.
func (pl *place) sumsAt(block int) int {
	if !pl.dots {
		block = max(0, block-pl.span+1)
	}
	return block * pl.m * pl.n * 4
}

// useSums lays out the memory for the sums.
func (pl *place) useSums(sums []byte) {
	pl.sums = unsafe.Pointer(unsafe.SliceData(sums))
	for len(pl.left) < pl.slabs {
		pl.left = append(pl.left, atomic.Int32{})
	}
	for i := range pl.left[:pl.slabs] {
		pl.left[i].Store(int32(pl.ranges))
	}
}

// computeRange computes a range of K of the columns from .. to-1 of a slab, and C if it is the last.
func (pl *place) computeRange(i, slab, from, to int) {
	first := i * pl.span
	end := min(first+pl.span, pl.blocks())
	if pl.dots {
		in := pl.inlined
		in.turn.Begin()
		in.dotSums(first, end-first, unsafe.Add(pl.sums, pl.sumsAt(first)))
	} else {
		in, step := pl.part(slab/pl.across), 1
		in.turn.Begin()
		if i == 0 {
			step = end
		}
		for ; first < end; first += step {
			pl.slice(&in, slab/pl.across*pl.slabRows, first, step)
			in.run(from, to)
		}
	}
	if pl.left[slab].Add(-1) == 0 {
		pl.addUp(slab, from, to)
	}
}

// slice leaves of in, the rows from one on, so many blocks of K, whose sums are C.
func (pl *place) slice(in *inlined, row, block, blocks int) {
	k0, before := block*pl.chainK(), in.k
	in.k = min(blocks*pl.chainK(), pl.k-k0)
	in.a.ptr = pl.a.at(row, k0)
	if pl.b.packed {
		in.packed = pl.packed.from(k0)
	} else {
		in.b.ptr = pl.b.at(k0, 0)
	}
	in.c = view{ptr: unsafe.Add(pl.sums, pl.sumsAt(block)+row*pl.n*4), rows: in.m, cols: in.n, stride: in.n, elem: asm.F32}
	in.alpha, in.beta, in.past = 1, 0, false
	if in.k != before && !in.layout(in.m, pl.slabCols) {
		panic("gemm: a slab needs more scratch memory than there is") // the cut is wrong
	}
}

// addUp adds up the sums of the columns from .. to-1 of a slab, and makes C of them.
func (pl *place) addUp(slab, from, to int) {
	row, end := pl.rowsOf(slab / pl.across)
	sums, pitch, size := unsafe.Add(pl.sums, (row*pl.n+from)*4), pl.n*4, pl.m*pl.n
	if pl.dots {
		addBlocks(sums, size, pl.blocks())
	} else {
		for i := 1; i <= pl.blocks()-pl.span; i++ {
			asm.Combine(sums, pitch, unsafe.Add(sums, i*size*4), pitch, end-row, to-from, 1, 1)
		}
	}
	p := pl.product
	p.c.ptr = p.c.at(row, 0)
	p.storeWide(from, sums, pitch, end-row, to-from)
}

// from returns the packed B without what is before element k0 of K, which begins a stage.
func (p *packing) from(k0 int) packing {
	rest := *p
	rest.data, rest.k = p.data[p.offset(k0, 0):], p.k-k0
	return rest
}
