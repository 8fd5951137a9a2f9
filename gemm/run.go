package gemm

import (
	"context"
	"fmt"
	"math"

	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/pipeline"
	"example.com/leafhopper/tile"
)

// run is what an engine keeps for a product that workers share: the programs of the routes,
// of which each product needs one, and the tasks as which they are executed.
type run struct {
	ring    ringProgram
	columns columnProgram
	slabs   slabProgram
	grid    pipeline.Grid
	loose   pipeline.Slabs
	memory  *tile.Slots
}

// A program is what computes a product that workers share.
type program interface {
	Bytes() int64           // of memory that lasts as long as the product
	use(mem []byte)         // lays it out
	describe(s Stats) Stats // adds how the product is cut
	task(ctx context.Context, grid *pipeline.Grid, loose *pipeline.Slabs) (pipeline.Task, error)
}

// start prepares the task that computes a product as its plan says, with memory of the pool, and completes st.
func (r *run) start(ctx context.Context, pool *tile.SlotPool, in *slab, st *Stats) (pipeline.Task, error) {
	var err error
	var w program
	switch in.plan.Share {
	case plan.BySlabs:
		w, r.slabs.slab, r.slabs.SlabCut = &r.slabs, *in, &in.plan.Slabs
	case plan.ByColumns:
		w, err = &r.columns, r.columns.init(&in.product)
	default:
		w, err = &r.ring, r.ring.init(&in.product)
	}
	if err != nil {
		return nil, err
	}
	if n := w.Bytes(); n > 0 {
		if n > math.MaxInt-tile.SlotAlign {
			return nil, fmt.Errorf("gemm: slots of %d bytes are more than there can be", n)
		}
		if r.memory, err = pool.Get(int(n)); err != nil {
			return nil, fmt.Errorf("gemm: %w", err)
		}
		w.use(r.memory.Bytes())
	}
	*st = w.describe(*st)
	return w.task(ctx, &r.grid, &r.loose)
}

// release lets go of the memory, the operands and the context.
func (r *run) release(pool *tile.SlotPool) {
	r.grid.Clear()
	r.loose.Clear()
	if r.memory != nil {
		pool.Put(r.memory)
	}
	r.memory = nil
	r.slabs.slab, r.slabs.SlabCut, r.slabs.sums = slab{}, nil, nil
	r.columns, r.ring = columnProgram{}, ringProgram{}
}
