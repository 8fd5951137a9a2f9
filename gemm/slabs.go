package gemm

import (
	"context"

	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/pipeline"
)

// slabGrid is the program of a product in slabs.
type slabGrid struct {
	slab
	partial
}

// init lays out in as g says.
func (pl *slabGrid) init(in *slab, g *plan.Plan) {
	pl.slab = *in
	pl.layout(g)
}

// describe adds to st how the product is cut.
func (pl *slabGrid) describe(st Stats) Stats {
	c := &pl.g.Slabs
	st.TileM, st.TileN, st.TileK, st.Tiles = min(c.Rows, pl.M), c.Cols, min(c.Span*pl.ChainK(), pl.K), c.Count*c.Ranges
	return st
}

func (pl *slabGrid) task(ctx context.Context, r *run) (pipeline.Task, error) {
	return &r.loose, r.loose.Reset(ctx, pl.g.Slabs.Count*pl.g.Slabs.Ranges, pl, pl.g.Workers)
}

// Compute implements [pipeline.SlabProgram].
func (pl *slabGrid) Compute(slab int) {
	c := &pl.g.Slabs
	of, slab := slab/c.Count, slab%c.Count
	from, to := c.ColsOf(slab%c.Across, pl.N)
	if c.Ranges > 1 {
		pl.computeRange(of, slab, from, to)
		return
	}
	in := pl.part(slab / c.Across)
	in.turn.Begin()
	in.run(from, to)
}

// part returns the rows of the slabs number i from above.
func (pl *slabGrid) part(i int) slab {
	in := pl.slab
	row, end := pl.g.Slabs.RowsOf(i, pl.M)
	in.M = end - row
	in.a.ptr, in.a.rows = in.a.at(row, 0), in.M
	in.c.ptr, in.c.rows = in.c.at(row, 0), in.M
	in.layout(pl.g)
	return in
}
