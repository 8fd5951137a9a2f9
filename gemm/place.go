package gemm

import (
	"math"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/pipeline"
)

// A product whose A stays in a second-level cache gains nothing from a ring:
// every worker reads A where it lies and packs what columns of B it takes as it
// multiplies them. The grid has a single stage, which holds nothing, and its
// slabs are ranges of columns, and of rows where the columns alone would leave
// workers idle.
const (
	placeFlops = 1 << 30
	placeBytes = 512 << 10 // of A, at most, in a block of K
	placeDeep  = 256       // columns, at most, if there are several of them
	maxParts   = 8         // slabs above each other, at most
	helpFlops  = 1 << 20   // least for each worker but a few: more come for too little
	// Many workers fetch what their slabs need, each for itself, rather than wait
	// for each other's copies, unless the product is large.
	ownFlops   = 1 << 31
	ownStarves = 1 << 32 // the same for a starving kernel
	ownExtent  = 128     // most rows and columns of a slab
)

// place is the program of such a product.
type place struct {
	inlined
	cols, rows int // of a slab
	parts      int // slabs above each other
	slabs      int
}

// placed reports whether to compute the product in place, and lays it out. A
// caller who names the shape of the ring gets a ring.
func (in *inlined) placed(s *settings) bool {
	p := &in.product
	if p.splitK > 1 || s.depth != 0 || s.tile != [3]int{} {
		return false
	}
	if p.starves() && in.owned(s) {
		return true
	}
	alone := s.workerCount() == 1 && s.ctx == nil // so nobody else packs A, too
	return p.near(s) && in.init() && (in.whole > 0 || alone) || in.owned(s)
}

// owned reports whether each of many workers is to fetch what its slabs need, and
// lays the product out for it.
func (in *inlined) owned(s *settings) bool {
	p := &in.product
	most := float64(ownFlops)
	if p.starves() {
		most = ownStarves
	}
	in.own = p.flops() <= most && s.parallelism() > few && !p.skinny(s) && in.layout(ownExtent, ownExtent)
	return in.own
}

// near reports whether A stays in a cache while columns of B go by.
func (p *product) near(s *settings) bool {
	depth := min(p.k, p.panelDepth())
	switch {
	case p.flops() > placeFlops:
		return false
	case depth == p.k:
		return p.m*p.a.pitch() <= placeBytes && !p.skinny(s)
	}
	return p.m*depth*p.a.elem.Size() <= placeBytes && p.m > p.kernel.MR && p.n <= placeDeep
}

// flops returns the floating-point operations of the product.
func (p *product) flops() float64 { return 2 * float64(p.m) * float64(p.n) * float64(p.k) }

// init cuts the product into slabs for workers.
func (pl *place) init(in *inlined, workers int) {
	pl.inlined = *in
	k := in.kernel
	panelsA, panelsB := in.whole, ceilDiv(in.n, k.NR)
	if panelsA == 0 {
		panelsA = ceilDiv(in.m, k.MR)
	}
	fetchA, fetchB := k.Fetch()
	tiles, wide, least := panelsA, 1, math.MaxInt
	// The time of the worker with the most slabs, in halves of a tile.
	try := func(of, cols int) {
		slabs := ceilDiv(panelsB, cols) * ceilDiv(panelsA, of)
		if time := ceilDiv(slabs, workers) * (2*of*cols + fetchA*of + fetchB*cols); time < least {
			tiles, wide, least = of, cols, time
		}
	}
	if in.own {
		for of := range min(panelsA, ownExtent/k.MR) {
			for cols := range min(panelsB, ownExtent/k.NR) {
				try(of+1, cols+1)
			}
		}
	} else {
		cols := max(1, panelsB/(slabsEach*workers))
		for parts := 1; parts <= min(panelsA, maxParts); parts++ {
			try(ceilDiv(panelsA, parts), cols)
		}
	}
	pl.cols, pl.rows, pl.parts = wide*k.NR, tiles*k.MR, ceilDiv(panelsA, tiles)
	pl.slabs = ceilDiv(panelsB, wide) * pl.parts
	pl.layout(pl.m, pl.cols)
}

func (pl *place) shape() pipeline.Shape {
	return pipeline.Shape{Depth: 1, Items: 1, CTAs: 1, Slabs: pl.slabs}
}

// Expect implements [pipeline.Program]; nothing is copied.
func (pl *place) Expect(item, cta int) int { return 0 }

// Load implements [pipeline.Program].
func (pl *place) Load(stage, item, cta, job int, bars []barrier.Barrier) {}

// LoadMulticast implements [pipeline.Program].
func (pl *place) LoadMulticast(stage, item, job int, bars []barrier.Barrier) {}

// Compute implements [pipeline.Program].
func (pl *place) Compute(stage, item, cta, slab int) {
	from := slab / pl.parts * pl.cols
	to := min(from+pl.cols, pl.n)
	if pl.parts == 1 {
		pl.run(from, to)
		return
	}
	part := slab % pl.parts
	row, end := part*pl.rows, (part+1)*pl.rows
	if part == pl.parts-1 {
		end = pl.m // and the rows after the last whole tile
	}
	in := pl.inlined
	in.m = end - row
	in.a.ptr, in.a.rows = in.a.at(row, 0), in.m
	in.c.ptr, in.c.rows = in.c.at(row, 0), in.m
	in.layout(in.m, pl.cols)
	in.run(from, to)
}

var _ pipeline.Program = (*place)(nil)
