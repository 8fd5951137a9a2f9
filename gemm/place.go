package gemm

import (
	"math"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/barrier"
	"example.com/leafhopper/pipeline"
)

// A product whose A stays in a second-level cache gains nothing from a ring:
// every worker reads A where it lies and packs what columns of B it takes as it
// multiplies them. The grid has a single stage, which holds nothing, and its
// slabs are ranges of columns, and of rows where the columns alone would leave
// workers idle. Several workers do the same with an A that is larger, each with
// slabs whose rows of A stay in the cache.
const (
	placeFlops = 1 << 30   // most flops of a product whose A stays in a cache
	placeBytes = 512 << 10 // most bytes of such an A, in a block of K
	placeDeep  = 256       // most columns, if K has several blocks
	maxParts   = 8         // most slabs above each other, if so many have room for their sums
	partFlops  = 1 << 29   // most flops of a slab of one panel, for which a context waits
	helpFlops  = 8 << 10   // flops that could be computed in the time it takes to call a worker
	// Several workers fetch what their slabs need, each for itself, rather than wait for
	// each other's copies.
	ownPacks    = 3 << 23 // most flops of each, if they pack A
	ownPacksTwo = 3 << 21 // the same of two workers, unless each packs its rows of A once
	ownRows     = 3 << 27 // the same if they read it where it lies
	ownStarves  = 1 << 29 // the same of a starving kernel
	ownTwo      = 9 << 24 // the same of one of no more than two workers, to whom a ring costs little
	ownLeast    = 3       // fewest workers, but a pair for a starving kernel and if A has to be packed
	ownExtent   = 128     // most rows of a slab, unless more stay in a cache where they lie
	ownPanels   = 8       // most panels of B of a slab
)

// place is the program of such a product.
type place struct {
	inlined
	slabbing
	partial
	last cutFor // the products that this is the best for, the next of which may be one
}

// cutFor is what the best way to cut a product depends on.
type cutFor struct {
	kernel                                         *asm.Kernel
	on                                             *machine
	elem                                           asm.Type
	m, n, k, depth, tilesA, pitchA, pitchB, pitchC int
	packed, ready, trans                           bool // B
	unpacked, few, dots, own, sumsInC              bool
	most                                           int // workers
}

func (in *inlined) cutFor(most int) cutFor {
	return cutFor{in.kernel, in.on, in.a.elem, in.m, in.n, in.k, in.depth, in.tilesA, in.a.pitch(), in.b.pitch(), in.c.pitch(), in.b.packed, in.ready(), in.b.trans, in.unpacked != nil, in.few, in.dots, in.own, in.sumsInC(), most}
}

// slabbing is how a product is cut into slabs.
type slabbing struct {
	slabRows, slabCols int
	across             int // slabs side by side, of the same rows
	slabs              int
	workers            int // to come
	sharing
}

// placed reports whether to compute the product in place, and lays it out. A
// caller who names the shape of the ring gets a ring.
func (in *inlined) placed(s *settings) bool {
	p := &in.product
	if !s.unnamed() || p.operandBytes(1, 1) > slabBytes {
		return false
	}
	if in.owned(s) || in.paired(s) {
		return true
	}
	alone := s.workerCount() == 1 && s.ctx == nil // so nobody else packs A, too
	return p.near(s) && in.init() && (in.unpacked != nil || in.tilesA > 0 || alone)
}

// paired reports whether one or two workers had better compute the product in place
// than hand A to each other in a ring, and lays it out for slabs of any size: both
// operands come from the caches soon enough, and so does what stays there of C.
func (in *inlined) paired(s *settings) bool {
	p := &in.product
	k, workers := p.kernel, s.parallelism()
	if workers >= ownLeast || k.Edge() == nil || !p.readsA() || p.skinny(s) {
		return false
	}
	mostA, mostB := 2*p.on.l2, 3*p.on.l2/2 // of a block of K of A, and of B, for each
	if p.on.intel {
		mostA, mostB = p.on.l2/2, p.on.l2 // whose last caches are slower
		if workers == pair {
			mostB -= p.on.l2 / 8
		}
	}
	depth, size := min(p.k, p.panelDepth()), p.a.elem.Size()
	if p.m*depth*size > workers*mostA || p.n*p.k*size > workers*mostB || p.m*p.c.pitch() > pastBytes/2 {
		return false
	}
	in.unpacked = p.unpackedFor(workers)
	in.few = in.unpacked == nil && p.fewRows()
	return in.layout(k.MR, k.NR)
}

// operandBytes returns the bytes of A and B that a slab of so many tiles reads.
func (p *product) operandBytes(tiles, wide int) int64 {
	return int64(tiles*p.kernel.MR+wide*p.kernel.NR) * int64(p.k) * int64(p.a.elem.Size())
}

// owned reports whether each of several workers is to fetch what its slabs need,
// and lays the product out for it.
func (in *inlined) owned(s *settings) bool {
	p := &in.product
	workers, least := s.parallelism(), ownLeast
	if p.starves() || !p.readsA() && p.unpackedFor(workers) == nil {
		least = pair
	}
	if workers < least || p.skinny(s) || in.fewest() > barrier.MaxCount {
		return false
	}
	in.unpacked = p.unpackedFor(workers)
	if workers == pair && in.unpacked == nil && !p.starves() && p.fewRows() {
		return false // one of them multiplies few rows without packing A or B
	}
	in.few = in.unpacked == nil && p.sharesFew(workers)
	in.own = true // layout asks
	fits := in.layout(ownExtent+p.kernel.MR, ownExtent)
	most := ownPacks
	switch {
	case p.starves() && workers == pair:
		most = ownTwo
	case p.starves():
		most = ownStarves
	case in.unpacked != nil || in.tilesA > 0:
		most = ownRows
	case workers == pair && in.packsOnce():
		most = math.MaxInt
	case workers == pair:
		most = ownPacksTwo
	}
	in.own = fits && p.flops() <= float64(most)*float64(workers)
	return in.own
}

// packsOnce reports whether slabs have all columns, so that A, if it is soon at hand, had
// better be packed for them than for a ring. Hopper's arithmetic does not wait for it.
func (p *product) packsOnce() bool {
	return p.n <= ownPanels*p.kernel.NR && p.kernel.Arithmetic == Native && (!p.a.trans || p.k*p.a.pitch() <= pastBytes/2)
}

// fewest returns the slabs of owned, if they are as large as those of any product
// may be.
func (in *inlined) fewest() int {
	k := in.kernel
	return ceilDiv(ceilDiv(in.m, k.MR), ownExtent/k.MR) * ceilDiv(ceilDiv(in.n, k.NR), ownExtent/k.NR)
}

// near reports whether A stays in a cache while columns of B go by.
func (p *product) near(s *settings) bool {
	depth := min(p.k, p.panelDepth())
	switch {
	case p.flops() > placeFlops:
		return false
	case p.unpackedFor(s.parallelism()) != nil:
		return true
	case depth == p.k:
		return float64(p.m)*float64(p.a.pitch()) <= placeBytes && !p.skinny(s)
	}
	least := p.kernel.MR
	if p.starves() {
		least *= 2 // two panels had better be streamed
	}
	return p.m*depth*p.a.elem.Size() <= placeBytes && p.m > least && p.n <= placeDeep
}

// init cuts the product into slabs for most workers, or for fewer.
func (pl *place) init(in *inlined, most int) {
	pl.inlined = *in
	if now := in.cutFor(most); now != pl.last {
		pl.last, pl.slabbing = now, in.best(most)
	}
	if !pl.layout(in.m, pl.slabCols) && pl.across == pl.slabs {
		panic("gemm: a slab needs more scratch memory than there is") // the cut is wrong
	}
}

// best returns the fastest of the ways to cut the product, for most workers, or for
// fewer if the others would take longer to come than they save.
func (in *inlined) best(most int) (best slabbing) {
	if in.dots {
		return in.cutDots(most)
	}
	quarter := float64(tileFlops(in.kernel, in.words(in.k))) / 4
	late := 0
	if in.own || most > fewWorkers {
		late = 1 // one of several is always late, and all wait for its last slab
	}
	if in.few && (most <= fewWorkers || in.m <= fewPacked) {
		late = 0 // but every slab packs its few rows again
	}
	least := math.Inf(1)
	for workers := most; ; workers = max(workers/2, fewWorkers) {
		before := least
		for ranges := 1; ranges <= in.mostRanges(workers); ranges *= 2 {
			share, part := in.shareK(ranges)
			cut, time := in.cut(workers, late, share.ranges)
			cut.sharing = share
			flops := float64(time)*quarter*part + float64(workers*helpFlops)
			if ranges > 1 {
				flops = (flops + in.adds(&cut)) * (1 + sharedGain)
			}
			if flops < least {
				best, least = cut, flops
			}
		}
		if least == before || workers <= fewWorkers {
			return best
		}
	}
}

// cut cuts the product into slabs for workers, each of so many ranges of K, and returns how long they take, in
// quarters of the time of a tile of a range, if one of them has so many slabs more than its share.
func (in *inlined) cut(workers, late, ranges int) (best slabbing, least int) {
	k, unit := in.kernel, in.unit()
	panelsA, unitsB := in.tilesA, ceilDiv(in.n, unit)
	if panelsA == 0 {
		panelsA = ceilDiv(in.m, k.MR)
	}
	fetchA, fetchB := k.Fetch()
	tall := in.keptRows() / k.MR
	least = math.MaxInt
	try := func(tiles, wide int) {
		parts, across := ceilDiv(panelsA, tiles), ceilDiv(unitsB, wide)
		slabs, cols := parts*across, wide*unit
		if slabs*ranges > barrier.MaxCount || in.own && in.operandBytes(tiles, ceilDiv(cols, k.NR)) > slabBytes {
			return
		}
		each := ceilDiv(slabs*ranges, workers)
		fetched := each // times that a worker brings rows of A closer
		if tiles <= tall {
			fetched = ceilDiv(each, across) // for all slabs of its own side by side
		}
		fetchB := fetchB
		if in.spills(min(each, across)*cols, each*cols, ranges) {
			fetchB *= 2
		}
		if time := (each+late)*(4*tiles+fetchB)*cols/k.NR + fetched*fetchA*tiles; time < least && (in.unpacked != nil || in.few || in.memory(tiles*k.MR+in.rest, cols)) {
			least = time
			best = slabbing{slabRows: tiles * k.MR, slabCols: cols, across: across, slabs: slabs, workers: workers}
		}
	}
	if !in.own {
		share := slabsEach
		if in.few {
			share /= 2 // every one of which packs its few rows again
		}
		fewest := ceilDiv(panelsA, max(1, partFlops/tileFlops(k, in.words(in.k))))
		for parts := min(fewest, maxParts); parts <= panelsA && (parts <= maxParts || best.slabs == 0); parts++ {
			try(ceilDiv(panelsA, parts), max(1, unitsB/(share*workers)))
		}
		return best, least
	}
	for tiles := min(panelsA, max(tall, ownExtent/k.MR)); tiles > 0; tiles-- {
		tiles = balance(panelsA, tiles)
		for wide := min(unitsB, ownPanels*k.NR/unit); wide > 0; wide-- {
			wide = balance(unitsB, wide)
			try(tiles, wide)
		}
	}
	return best, least
}

// keptRows returns how many rows of A, where they lie, stay in a second-level cache.
func (in *inlined) keptRows() int {
	if in.unpacked == nil && in.tilesA == 0 {
		return 0
	}
	return in.on.l2 / 2 / in.a.pitch()
}

func (pl *place) shape() pipeline.Shape {
	return pipeline.Shape{Depth: 1, Items: 1, CTAs: 1, Slabs: pl.slabs * pl.ranges}
}

// Expect implements [pipeline.Program]; nothing is copied.
func (pl *place) Expect(item, cta int) int { return 0 }

// Load implements [pipeline.Program].
func (pl *place) Load(stage, item, cta, job int, bars []barrier.Barrier) {}

// LoadMulticast implements [pipeline.Program].
func (pl *place) LoadMulticast(stage, item, job int, bars []barrier.Barrier) {}

// Compute implements [pipeline.Program].
func (pl *place) Compute(stage, item, cta, slab int) {
	of := slab / pl.slabs
	slab %= pl.slabs
	from := slab % pl.across * pl.slabCols
	to := min(from+pl.slabCols, pl.n)
	if pl.ranges > 1 {
		pl.computeRange(of, slab, from, to)
		return
	}
	in := pl.inlined
	if pl.across < pl.slabs {
		in = pl.part(slab / pl.across)
	}
	in.turn.Begin()
	in.run(from, to)
}

// part returns the rows of the slabs number i from above.
func (pl *place) part(i int) inlined {
	row, end := pl.rowsOf(i)
	in := pl.inlined
	in.m = end - row
	in.a.ptr, in.a.rows = in.a.at(row, 0), in.m
	in.c.ptr, in.c.rows = in.c.at(row, 0), in.m
	if !in.layout(in.m, pl.slabCols) {
		panic("gemm: a slab needs more scratch memory than there is") // the cut is wrong
	}
	return in
}

func (pl *place) rowsOf(part int) (from, to int) {
	from, to = part*pl.slabRows, (part+1)*pl.slabRows
	if (part+1)*pl.across == pl.slabs {
		to = pl.m // and the rows after the last whole tile
	}
	return from, to
}
