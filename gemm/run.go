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

// run is what an engine keeps for a product on a grid: the programs of the routes,
// of which each product needs one, and the grid whose workers execute it.
type run struct {
	ring    ring
	columns columnGrid
	slabs   slabGrid
	grid    pipeline.Grid
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
	var prog program
	switch g.share {
	case bySlabs:
		prog, err = r.startSlabs(e, in, g, &st)
	case byColumns:
		prog, err = r.startColumns(e, &in.product, g, &st)
	default:
		prog, err = r.startRing(e, &in.product, g, &st)
	}
	if err == nil {
		err = r.execute(e, s, prog, &st)
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

func (r *run) startSlabs(e *Engine, in *slab, g *Plan, st *Stats) (program, error) {
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
	return pl, nil
}

func (r *run) startColumns(e *Engine, p *product, g *Plan, st *Stats) (program, error) {
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
	return w, nil
}

func (r *run) startRing(e *Engine, p *product, g *Plan, st *Stats) (program, error) {
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
	return w, nil
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

// A program is what the workers of a grid execute: that of a route.
type program interface {
	pipeline.Program
	shape() pipeline.Shape
}

// execute runs prog on the grid with st's workers and completes st.
func (r *run) execute(e *Engine, s *settings, prog program, st *Stats) error {
	var ctx context.Context
	if s.ctx != nil && s.ctx.Done() != nil {
		ctx = s.ctx
	}
	if err := r.grid.Reset(ctx, prog.shape(), prog, st.Workers); err != nil {
		return err
	}
	if s.trace != nil {
		s.trace.Begin(s.ctx, st.Workers)
		r.grid.Record(s.trace)
	}
	e.crew.Run(&r.grid, st.Workers)
	if err := r.grid.Err(); err != nil {
		return err
	}
	w := r.grid.Stats()
	st.ProducerWait, st.ConsumerWait, st.Copy = w.ProducerWait, w.ConsumerWait, w.Copy
	return nil
}

// release lets go of the memory, the operands and the context.
func (r *run) release(e *Engine) {
	r.grid.Clear()
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
