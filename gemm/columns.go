package gemm

import (
	"context"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/barrier"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/pipeline"
	"example.com/leafhopper/tile"
)

// columnGrid is the program of a product with few rows. That is bound by reading B, so copying B to a slot that
// others read would double the work. Instead the ring has one stage with all of A, and every slab is a range of
// columns: its worker walks down K, block by block, and uses the panels of B at once, from its own cache or, if B is
// packed, from where they lie.
type columnGrid struct {
	product
	*plan.ColumnCut
	g     *plan.Plan
	bk    int // elements of K in a block
	group int // columns of a block that are packed at a time
	room  int // bytes of a worker's panels of B
	mapA  tile.PanelMap
	slot  []byte // A: [block of K][panel]
}

// init lays out p as g says.
func (st *columnGrid) init(p *product, g *plan.Plan) (err error) {
	side := tile.SideA
	if g.B == plan.AlongB {
		side = tile.SideB
	}
	*st = columnGrid{product: *p, ColumnCut: &g.Columns, g: g, bk: g.Depth, group: g.Columns.Block, room: plan.StreamB}
	if g.Group > 1 {
		st.group = g.Group * p.Kernel.NR
	}
	switch g.B {
	case plan.BehindB:
		st.room = p.BehindBytes(g)
	case plan.SweptB:
		st.room = 2 * asm.SweepRoom
	}
	st.mapA, err = p.panelMap(side, &p.a, p.M, !p.a.trans)
	return err
}

// Bytes returns the slot memory that A needs.
func (st *columnGrid) Bytes() int64 { return int64(st.Steps) * int64(st.bytesA()) }

// use lays out mem, which has as many bytes or more.
func (st *columnGrid) use(mem []byte) { st.slot = mem }

// describe adds to s how the product is cut.
func (st *columnGrid) describe(s Stats) Stats {
	s.Depth, s.Stages, s.Bytes = 1, 1, int64(st.Expect(0, 0))*tile.PanelTxUnit
	s.TileM, s.TileN, s.TileK, s.Tiles = st.M, st.Cols, st.K, st.ColumnCut.Slabs
	return s
}

// bytesA returns the size of a whole block of A.
func (st *columnGrid) bytesA() int { return st.mapA.BoxBytes(st.M, st.bk) }

func (st *columnGrid) task(ctx context.Context, r *run) (pipeline.Task, error) {
	jobs := plan.CeilDiv(st.Steps*st.PanelsA, st.JobPanels)
	shape := pipeline.Shape{Depth: 1, Items: 1, CTAs: 1, Slabs: st.Slabs, Private: jobs}
	return &r.grid, r.grid.Reset(ctx, shape, st, st.g.Workers)
}

// Expect implements [pipeline.Program].
func (st *columnGrid) Expect(item, cta int) int {
	n := 0
	for step := range st.Steps {
		_, k := st.blockOf(st.g, step)
		n += st.mapA.BoxBytes(st.M, k)
	}
	return n / tile.PanelTxUnit
}

// Load implements [pipeline.Program]: it copies some panels of A.
func (st *columnGrid) Load(stage, item, cta, job int, bars []barrier.Barrier) {
	end := min((job+1)*st.JobPanels, st.Steps*st.PanelsA)
	for panel := job * st.JobPanels; panel < end; panel++ {
		high := st.mapA.Width()
		step, row := panel/st.PanelsA, panel%st.PanelsA*high
		k0, k := st.blockOf(st.g, step)
		load(&st.mapA, st.slot[step*st.bytesA():], 0, st.M, row, high, k0, k, bars)
	}
}

// LoadMulticast implements [pipeline.Program]; there is nothing to share.
func (st *columnGrid) LoadMulticast(stage, item, job int, bars []barrier.Barrier) {}
