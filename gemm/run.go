package gemm

import (
	"context"
	"fmt"
	"math"
	"time"
	"unsafe"

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
		task, err = r.startColumns(ctx, e, &in.product, g, &st)
	default:
		task, err = r.startRing(ctx, e, &in.product, g, &st)
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

func (r *run) startColumns(ctx context.Context, e *Engine, p *product, g *Plan, st *Stats) (pipeline.Task, error) {
	w := &r.columns
	if err := w.init(p, g); err != nil {
		return nil, err
	}
	bytesA, bytesAcc := roundUp(w.steps*w.bytesA(), tile.SlotAlign), w.bytesAcc(g)
	mem, err := r.memoryOf(e, int64(bytesA)+int64(bytesAcc))
	if err != nil {
		return nil, err
	}
	w.slot = mem[:bytesA]
	if bytesAcc > 0 {
		w.acc = unsafe.Pointer(unsafe.SliceData(mem[bytesA:]))
	}
	st.Depth, st.Stages = w.items, w.items
	st.TileM, st.TileN, st.TileK, st.Tiles = w.m, w.cols, w.k, w.columnCut.slabs
	for item := range w.items {
		st.Bytes += int64(w.Expect(item, 0)) * tile.PanelTxUnit
	}
	return &r.grid, r.grid.Reset(ctx, w.shape(), w, st.Workers)
}

func (r *run) startRing(ctx context.Context, e *Engine, p *product, g *Plan, st *Stats) (pipeline.Task, error) {
	w := &r.ring
	if err := w.init(p, g); err != nil {
		return nil, err
	}
	mem, err := r.memoryOf(e, w.bytes())
	if err != nil {
		return nil, err
	}
	w.use(mem)
	st.Depth, st.Stages, st.Bytes = w.depth, w.items(), w.copied()
	st.TileM, st.TileN, st.TileK, st.Tiles = w.bm, w.bn, w.bk, w.tilesM*w.tilesN
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
	if r.slabs.kernel != nil {
		r.slabs.slab, r.slabs.sums = slab{}, nil
	}
	if r.columns.kernel != nil {
		r.columns = columnGrid{}
	}
	if r.ring.kernel != nil {
		r.ring = ring{}
	}
}
