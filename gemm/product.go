package gemm

import (
	"unsafe"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/internal/spin"
	"example.com/leafhopper/tile"
)

// product is one validated C = alpha·A·B + beta·C with a row-major C: the problem, and where everything is.
type product struct {
	plan.Problem
	plan        *plan.Plan // how it is computed, once that is decided
	c, a, b     view
	alpha, beta float64
	finish      *finish // or nil
	first       int     // element of K of a packed B that counts as the first
	finishesInC bool    // sums that are elements of C have only to be finished there, while a cache has them
	past        bool    // C is larger than the caches
	transposed  bool    // the caller has C' = B'·A'
	sharer      bool    // it counts among the sharers of the processors, until it leaves
}

// A slab is a product, or some of its rows, that one goroutine computes by a plan without a ring.
type slab struct {
	product
	room plan.Room // in scratch memory
	turn spin.Turn // of the goroutine that computes
}

// follow has the product computed as g says.
func (in *slab) follow(g *plan.Plan) { in.plan, in.past, in.room = g, g.Past, g.Room }

// dots reports whether it is dot products.
func (in *slab) dots() bool { return in.plan.B == plan.DotsOfB }

// rowsB returns where element k0 + at of K of the columns from col on lies, and the bytes to the next of K, for a B
// whose rows are those of K. If B is packed, it is narrow, and k0 begins a stage and col a panel.
func (p *product) rowsB(k0, at, col int) (unsafe.Pointer, int) {
	if p.b.packed {
		pitch := p.Kernel.NR * p.b.elem.Size()
		return unsafe.Add(p.panelB(k0, col), at*pitch), pitch
	}
	return p.b.at(k0+at, col), p.b.pitch()
}

// panelB returns the panel of column col in the stage of element k0 of K of a packed B.
func (p *product) panelB(k0, col int) unsafe.Pointer { return p.b.panel(p.first+k0, col) }

// packB packs n elements of K of the columns from .. to-1 to panels. They begin at elements after k0, as in rowsB.
func (p *product) packB(panels unsafe.Pointer, k0, at, n, from, to int) {
	k := p.Kernel
	if !p.b.packed {
		k.PackB(p.b.elem, p.b.trans)(panels, p.b.at(k0+at, from), p.b.pitch(), to-from, n)
		return
	}
	for col := from; col < to; col += k.NR {
		src, pitch := p.rowsB(k0, at, col)
		k.PackB(p.b.elem, false)(unsafe.Add(panels, (col-from)/k.NR*k.PanelB(p.Words(n))), src, pitch, k.NR, n)
	}
}

// panelMap returns the map of v to panels of a side, rows of A or columns of B, along which K runs in memory or not.
func (p *product) panelMap(side tile.Side, v *view, rows int, kContiguous bool) (tile.PanelMap, error) {
	return tile.NewPanelMap(tile.PanelConfig{
		Kernel: p.Kernel, Side: side, Type: v.elem, Global: v.memory(),
		Rows: rows, K: p.K, Stride: v.pitch(), KContiguous: kContiguous,
	})
}

// load copies n of the rows from first on, those from at on.
func load(m *tile.PanelMap, slot []byte, first, rows, at, n, k0, k int, bars []barrier.Barrier) {
	n = min(n, rows-at)
	if n <= 0 {
		return
	}
	if err := m.Load(slot[m.BoxBytes(at, k):], first+at, n, k0, k, bars); err != nil {
		panic(err) // the plan is wrong
	}
}

// transpose makes the product C' = B'·A'. Products of elements commute, so the bits stay.
func (p *product) transpose() {
	p.a.swap(&p.b)
	p.c.transpose()
	p.a.transpose()
	p.b.transpose()
	p.Asked.M, p.Asked.N = p.Asked.N, p.Asked.M
	p.transposed = !p.transposed
}
