package gemm

import (
	"context"

	"example.com/leafhopper/pipeline"
)

// slabGrid is the program of a product in slabs.
type slabGrid struct {
	slab
	partial
}

// init lays out in as g says.
func (pl *slabGrid) init(in *slab, g *Plan) {
	pl.slab = *in
	pl.layout(g, g.slabs.cols)
}

// describe adds to st how the product is cut.
func (pl *slabGrid) describe(st Stats) Stats {
	c := &pl.g.slabs
	st.TileM, st.TileN, st.TileK, st.Tiles = min(c.rows, pl.m), c.cols, min(c.span*pl.chainK(), pl.k), c.count*c.ranges
	return st
}

func (pl *slabGrid) task(ctx context.Context, r *run) (pipeline.Task, error) {
	return &r.loose, r.loose.Reset(ctx, pl.g.slabs.count*pl.g.slabs.ranges, pl, pl.g.workers)
}

// Compute implements [pipeline.SlabProgram].
func (pl *slabGrid) Compute(slab int) {
	c := &pl.g.slabs
	of, slab := slab/c.count, slab%c.count
	from := slab % c.across * c.cols
	to := min(from+c.cols, pl.n)
	if c.ranges > 1 {
		pl.computeRange(of, slab, from, to)
		return
	}
	in := pl.part(slab / c.across)
	in.turn.Begin()
	in.run(from, to)
}

// part returns the rows of the slabs number i from above.
func (pl *slabGrid) part(i int) slab {
	in := pl.slab
	row, end := pl.rowsOf(i)
	in.m = end - row
	in.a.ptr, in.a.rows = in.a.at(row, 0), in.m
	in.c.ptr, in.c.rows = in.c.at(row, 0), in.m
	in.layout(pl.g, pl.g.slabs.cols)
	return in
}

func (pl *slabGrid) rowsOf(part int) (from, to int) {
	c := &pl.g.slabs
	from, to = part*c.rows, (part+1)*c.rows
	if (part+1)*c.across == c.count {
		to = pl.m // and the rows after the last whole tile
	}
	return from, to
}
