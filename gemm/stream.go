package gemm

import (
	"math"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/barrier"
	"example.com/leafhopper/pipeline"
	"example.com/leafhopper/tile"
)

// A product with few rows is bound by reading B, so copying B to a slot that
// others read would double the work. Instead the ring holds all of A, in one stage or for
// many workers in several, and every slab is a range of columns: its worker walks down K,
// block by block, and uses the panels of B at once, from its own cache or, if B is
// packed, from where they lie.
const (
	streamRows = 64        // most rows of A
	sweptRows  = 128       // the same if B is swept by few workers, or wide
	sweptWide  = 512       // the same if it is wide and multiplied faster than it comes
	streamB    = 256 << 10 // bytes of scratch memory for panels of B
	streamAcc  = 128 << 10 // bytes of scratch memory for accumulators
	// Most elements of B for each of a few workers with AMX, and if its columns lie along K
	// for all, that they had better pack each for its slabs, and most rows for which not.
	sharedEach   = 1 << 19
	sharedAlong  = 3 << 17
	sharedByPair = 31
	sharedByFew  = 16
	// Least elements of a B in rows of K that two workers with AMX had better pack once for both
	// than sweep over, each for itself, unless the rows are as few as those of many workers.
	pairLarge = 1 << 22
	streamMin = 1 << 18 // fewest elements of B; smaller ones stay in a cache
)

// stream is the program of such a product.
type stream struct {
	product
	bk        int // elements of K in a block
	steps     int // blocks
	each      int // steps of a block of sums, or 1 if a step has several of those
	panelsA   int
	cols      int // columns of a slab
	block     int // columns of a slab at a time, which scratch memory bounds
	group     int // columns of a block that are packed at a time
	slabs     int
	items     int // parts of K
	span      int // blocks of an item
	jobPanels int // panels of A in a copy job, of a block after the other
	mode      streamMode
	inC       bool // the rows that kernels add to, if they do, are those of C
	mapA      tile.PanelMap
	slot      []byte         // A: [block of K][panel]
	acc       unsafe.Pointer // accumulators, if they outlast an item: [panel of B][rows][NR], or [m][n]
}

// skinny reports whether the product is to be streamed.
func (p *product) skinny(s *settings) bool {
	return p.n*p.k >= streamMin && p.m <= p.mostRows(s) && s.unnamed() && !p.sharesFew(s.parallelism()) && !p.keepsB(s.parallelism()) &&
		!p.c.trans && p.streamBytes(s.parallelism()) <= barrier.MaxTx*tile.PanelTxUnit && p.unpackedFor(s.parallelism()) == nil
}

// mostRows returns how many rows of A at most are few. If packing B costs nothing,
// and B is read once anyway, as few workers do, that is more. So it is if each of
// many workers has many columns: a stage of the ring costs more than B, for to write
// what all have read takes the caches long. With few columns each, those that wait for
// operands rather than multiply had better not wait for each other, too.
func (p *product) mostRows(s *settings) int {
	workers := s.parallelism()
	many, wide := p.many(workers), p.wide(workers)
	switch {
	case p.fetchesApart(workers):
		return p.tileFewest(workers) - 1
	case many && p.starves() && !wide && p.flops() <= ownStarves*float64(workers):
		return p.kernel.StreamRows(p.b.elem)
	case !many && p.starves() && p.shares(workers):
		if workers == pair {
			return sharedByPair
		}
		return sharedByFew
	case workers == pair && p.starves() && !p.b.trans && !p.b.packed && p.n*p.k >= pairLarge:
		return sweepMany
	case wide && p.starves() && !p.ready():
		return sweptWide
	case wide && (p.packs() || p.ready()):
		return sweptRows
	case workers == 1 && p.sweeps(1), !many && p.readsAlong(workers):
		return sweptRows
	case many || p.b.packed || !p.packs() || p.n*p.k*p.b.elem.Size() <= p.on.l2:
		return streamRows
	}
	return sweptRows
}

// shares reports whether B is so small that several workers, if they are few, had
// better share out slabs of many rows than columns.
func (p *product) shares(workers int) bool {
	most := sharedEach * workers
	if p.b.trans {
		most = sharedAlong
	}
	return workers > 1 && !p.b.packed && p.n*p.k <= most
}

// streamBytes returns the size of A as panels for so many workers, or one that is too
// much for a barrier if a row of A is.
func (p *product) streamBytes(workers int) int64 {
	if p.k > maxStage {
		return math.MaxInt64 // an int of 32 bits does not count them
	}
	mode := p.streamMode(workers)
	blocks := ceilDiv(p.k, p.streamDepth(mode, workers)) + ceilDiv(p.k, p.chainK())
	rows, bytes := p.panelOfA(mode, p.words(p.k))
	return int64(ceilDiv(p.m, rows)) * int64(bytes+tile.SlotAlign*blocks)
}

// streamDepth returns the elements of K in a block, in a mode, for so many workers.
func (p *product) streamDepth(mode streamMode, workers int) int {
	switch mode {
	case streamSwept:
		if !p.b.packed {
			return p.freshDepth(workers)
		}
	case streamPieces:
		return asm.SweepK
	case streamAlong:
		return alongDepth
	}
	return p.panelDepth()
}

// init lays out p for workers.
func (st *stream) init(p *product, workers int) (err error) {
	side, mode := tile.SideA, p.streamMode(workers)
	if mode == streamAlong {
		side = tile.SideB
	}
	high, _ := p.panelOfA(mode, 0)
	*st = stream{product: *p, mode: mode, bk: p.streamDepth(mode, workers), panelsA: ceilDiv(p.m, high)}
	unit := st.unitK()
	st.each = ceilDiv(unit, st.bk)
	before := (p.k - 1) / unit
	st.steps = before*st.each + ceilDiv(p.k-before*unit, st.bk)
	st.cutColumns(workers)
	st.cutK(workers)
	// Workers that add to C every few rows of K take its lines from each other, though each
	// has columns of its own: a processor fetches the lines after them, too.
	st.inC = workers == 1 && p.direct()
	st.mapA, err = p.panelMap(side, &p.a, p.m, !p.a.trans)
	return err
}

// unitK returns the elements of K in a block of sums, or in a step that has several, or goes on with those before.
func (st *stream) unitK() int {
	if st.kernel.Arithmetic == Native {
		return max(st.chainK(), st.bk)
	}
	return st.bk
}

// bytesA returns the size of a whole block of A.
func (st *stream) bytesA() int { return st.mapA.BoxBytes(st.m, st.bk) }

// bytesAcc returns the size of the accumulators that outlast an item.
func (st *stream) bytesAcc() int {
	switch {
	case st.items == 1 || st.summing() && st.direct():
		return 0
	case st.summing():
		return st.m * st.n * 4
	}
	return ceilDiv(st.n, st.wide()) * st.bytesStrip()
}

// wide returns how many columns a strip of accumulators has.
func (st *stream) wide() int {
	if st.mode == streamAlong {
		return st.kernel.MR
	}
	return st.kernel.NR
}

// bytesStrip returns the size of the accumulators of so many columns.
func (st *stream) bytesStrip() int { return st.panelsA * st.kernel.MR * st.kernel.NR * 4 }

// summing reports whether the kernels add to rows of C or of sums like them,
// rather than to accumulators in strips.
func (st *stream) summing() bool { return st.mode == streamInPlace || st.mode == streamStored }

func (st *stream) shape() pipeline.Shape {
	return pipeline.Shape{Depth: st.items, Items: st.items, CTAs: 1, Slabs: st.slabs, Private: ceilDiv(st.span*st.panelsA, st.jobPanels)}
}

// blocks returns the first block of K of an item and the one after its last.
func (st *stream) blocks(item int) (from, to int) {
	return item * st.span, min(item*st.span+st.span, st.steps)
}

// Expect implements [pipeline.Program].
func (st *stream) Expect(item, cta int) int {
	n := 0
	for step, to := st.blocks(item); step < to; step++ {
		_, k := st.blockOf(step)
		n += st.mapA.BoxBytes(st.m, k)
	}
	return n / tile.PanelTxUnit
}

// Load implements [pipeline.Program]: it copies some panels of A.
func (st *stream) Load(stage, item, cta, job int, bars []barrier.Barrier) {
	from, to := st.blocks(item)
	end := min((job+1)*st.jobPanels, (to-from)*st.panelsA)
	for panel := job * st.jobPanels; panel < end; panel++ {
		high := st.mapA.Width()
		step, row := from+panel/st.panelsA, panel%st.panelsA*high
		k0, k := st.blockOf(step)
		load(&st.mapA, st.slot[step*st.bytesA():], 0, st.m, row, high, k0, k, bars)
	}
}

// LoadMulticast implements [pipeline.Program]; there is nothing to share.
func (st *stream) LoadMulticast(stage, item, job int, bars []barrier.Barrier) {}
