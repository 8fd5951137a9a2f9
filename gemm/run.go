package gemm

import (
	"context"
	"fmt"
	"math"
	"time"

	"example.com/leafhopper/pipeline"
	"example.com/leafhopper/tile"
)

// run is what an engine keeps for a product that workers share: the programs of the routes,
// of which each product needs one, and the tasks as which they are executed.
type run struct {
	ring    ring
	columns columnGrid
	slabs   slabGrid
	grid    pipeline.Grid
	loose   pipeline.Slabs
	memory  *tile.Slots
}

// grid computes the product on a grid, as g says.
func (e *Engine) grid(in *slab, s *settings, g *Plan, start time.Time) error {
	defer s.leave()
	r, err := e.begin(s)
	if err != nil {
		return err
	}
	defer e.end(r)
	defer r.release(e)
	st := Stats{Kernel: in.kernel.Name, Route: g.share.String(), Plan: g, Workers: g.workers}
	var ctx context.Context
	if s.ctx != nil && s.ctx.Done() != nil {
		ctx = s.ctx
	}
	var task pipeline.Task
	switch g.share {
	case bySlabs:
		task, err = r.startSlabs(ctx, e, in, g, &st)
	case byColumns:
		if err = r.columns.init(&in.product, g); err == nil {
			task, err = r.startGrid(ctx, e, &r.columns, &st)
		}
	default:
		if err = r.ring.init(&in.product, g); err == nil {
			task, err = r.startGrid(ctx, e, &r.ring, &st)
		}
	}
	if err == nil {
		err = e.execute(s, task, &st)
	}
	if err == nil && s.stats != nil {
		if in.turned {
			st.TileM, st.TileN = st.TileN, st.TileM
		}
		st.Elapsed = time.Since(start)
		*s.stats = st
	}
	return err
}

func (r *run) startSlabs(ctx context.Context, e *Engine, in *slab, g *Plan, st *Stats) (pipeline.Task, error) {
	pl, c := &r.slabs, &g.slabs
	pl.slab = *in
	pl.layout(g, c.cols)
	if c.ranges > 1 {
		sums, err := r.memoryOf(e, pl.sumsBytes())
		if err != nil {
			return nil, err
		}
		pl.useSums(sums)
	}
	st.TileM, st.TileN, st.TileK, st.Tiles = min(c.rows, in.m), c.cols, min(c.span*in.chainK(), in.k), c.count*c.ranges
	return &r.loose, r.loose.Reset(ctx, c.count*c.ranges, pl, st.Workers)
}

// A program is what computes a product on a grid.
type program interface {
	pipeline.Program
	shape() pipeline.Shape
	bytes() int64           // of slot memory
	use(mem []byte)         // lays it out
	describe(s Stats) Stats // adds how the product is cut
}

func (r *run) startGrid(ctx context.Context, e *Engine, w program, st *Stats) (pipeline.Task, error) {
	mem, err := r.memoryOf(e, w.bytes())
	if err != nil {
		return nil, err
	}
	w.use(mem)
	*st = w.describe(*st)
	return &r.grid, r.grid.Reset(ctx, w.shape(), w, st.Workers)
}

// memoryOf takes slot memory of n bytes from the engine's pool.
func (r *run) memoryOf(e *Engine, n int64) ([]byte, error) {
	if n > math.MaxInt-tile.SlotAlign {
		return nil, fmt.Errorf("gemm: slots of %d bytes are more than there can be", n)
	}
	var err error
	if r.memory, err = e.slots.Get(int(n)); err != nil {
		return nil, fmt.Errorf("gemm: %w", err)
	}
	return r.memory.Bytes(), nil
}

// execute runs task with st's workers and completes st.
func (e *Engine) execute(s *settings, task pipeline.Task, st *Stats) error {
	if s.trace != nil {
		s.trace.Begin(s.ctx, st.Workers)
		task.Record(s.trace)
	}
	e.crew.Run(task, st.Workers)
	if err := task.Err(); err != nil {
		return err
	}
	w := task.Stats()
	st.ProducerWait, st.ConsumerWait, st.Copy = w.ProducerWait, w.ConsumerWait, w.Copy
	return nil
}

// release lets go of the memory, the operands and the context.
func (r *run) release(e *Engine) {
	r.grid.Clear()
	r.loose.Clear()
	if r.memory != nil {
		e.slots.Put(r.memory)
	}
	r.memory = nil
	r.slabs.slab, r.slabs.sums = slab{}, nil
	r.columns, r.ring = columnGrid{}, ring{}
}
