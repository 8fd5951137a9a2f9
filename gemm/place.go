package gemm

import (
	"example.com/leafhopper/barrier"
	"example.com/leafhopper/pipeline"
)

// A product whose A stays in a second-level cache gains nothing from a ring:
// every worker reads A where it lies and packs what columns of B it takes as it
// multiplies them. The grid has a single stage, which holds nothing, and its
// slabs are ranges of columns.
const (
	placeFlops = 1 << 30
	placeBytes = 512 << 10 // of A, at most, in a block of K
	placeDeep  = 256       // columns, at most, if there are several of them
)

// place is the program of such a product.
type place struct {
	inlined
	cols, slabs int // columns of a slab
}

// placed reports whether to compute the product in place, and lays it out. A
// caller who names the shape of the ring gets a ring.
func (in *inlined) placed(s *settings) bool {
	p := &in.product
	if p.flops() > placeFlops || p.splitK > 1 || s.depth != 0 || s.tile != [3]int{} {
		return false
	}
	depth := min(p.k, p.panelDepth())
	switch {
	case depth == p.k && (p.m*p.a.pitch() > placeBytes || p.skinny(s)):
		return false
	case depth < p.k && (p.m*depth*p.a.elem.Size() > placeBytes || p.m <= p.kernel.MR || p.n > placeDeep):
		return false
	}
	return in.init() && in.whole > 0
}

// flops returns the floating-point operations of the product.
func (p *product) flops() float64 { return 2 * float64(p.m) * float64(p.n) * float64(p.k) }

// init cuts the columns into slabs for workers.
func (pl *place) init(in *inlined, workers int) {
	pl.inlined = *in
	panels := ceilDiv(in.n, in.kernel.NR)
	pl.cols = ceilDiv(panels, min(panels, slabsEach*workers)) * in.kernel.NR
	pl.slabs = ceilDiv(in.n, pl.cols)
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

// Compute implements [pipeline.Program]: it multiplies all of A by one slab's
// columns.
func (pl *place) Compute(stage, item, cta, slab int) {
	from := slab * pl.cols
	pl.run(from, min(from+pl.cols, pl.n))
}

var _ pipeline.Program = (*place)(nil)
