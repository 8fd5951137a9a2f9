package gemm

import (
	"context"
	"fmt"
	"math"
	"unsafe"

	"example.com/leafhopper/pipeline"
	"example.com/leafhopper/tile"
)

// run is what an engine keeps for a product on a grid: the programs of the routes,
// of which each product needs one, and the grid whose workers execute it.
type run struct {
	ring   ring
	stream stream
	place  place
	grid   pipeline.Grid
	memory *tile.Slots
}

// grid computes the product on a grid and returns how it went.
func (e *Engine) grid(in *inlined, s *settings, how route) (Stats, error) {
	defer s.leave()
	r, err := e.begin(s)
	if err != nil {
		return Stats{}, err
	}
	defer e.end(r)
	defer r.release(e)
	var st Stats
	switch how {
	case routePlace:
		st, err = r.runPlace(e, in, s)
	case routeStream:
		st, err = r.runStream(e, &in.product, s)
	default:
		st, err = r.runRing(e, &in.product, s)
	}
	st.Route = routeNames[how]
	if in.turned {
		st.TileM, st.TileN = st.TileN, st.TileM
	}
	return st, err
}

func (r *run) runRing(e *Engine, p *product, s *settings) (Stats, error) {
	g := &r.ring
	if err := g.init(p, s); err != nil {
		return Stats{}, err
	}
	mem, err := r.memoryOf(e, g.bytes())
	if err != nil {
		return Stats{}, err
	}
	g.use(mem)
	st := Stats{
		Kernel: g.kernel.Name, Workers: g.workers, Depth: g.depth,
		TileM: g.bm, TileN: g.bn, TileK: g.bk,
		Tiles: g.tilesM * g.tilesN, Stages: g.items(), Bytes: g.copied(),
	}
	err = r.execute(e, s, g, &st)
	return st, err
}

func (r *run) runStream(e *Engine, p *product, s *settings) (Stats, error) {
	workers := s.parallelism()
	if err := r.stream.init(p, workers); err != nil {
		return Stats{}, err
	}
	w := &r.stream
	bytesA, bytesAcc := roundUp(w.steps*w.bytesA(), tile.SlotAlign), w.bytesAcc()
	mem, err := r.memoryOf(e, int64(bytesA)+int64(bytesAcc))
	if err != nil {
		return Stats{}, err
	}
	w.slot = mem[:bytesA]
	if bytesAcc > 0 {
		w.acc = unsafe.Pointer(unsafe.SliceData(mem[bytesA:]))
	}
	st := Stats{
		Kernel: w.kernel.Name, Workers: workers, Depth: w.items,
		TileM: w.m, TileN: w.cols, TileK: w.k, Tiles: w.slabs, Stages: w.items,
	}
	for item := range w.items {
		st.Bytes += int64(w.Expect(item, 0)) * tile.PanelTxUnit
	}
	err = r.execute(e, s, w, &st)
	return st, err
}

func (r *run) runPlace(e *Engine, in *inlined, s *settings) (Stats, error) {
	pl := &r.place
	pl.init(in, s.parallelism())
	pl.past = pl.exceeds(pl.workers)
	if pl.ranges > 1 {
		sums, err := r.memoryOf(e, pl.sumsBytes())
		if err != nil {
			return Stats{}, err
		}
		pl.useSums(sums)
	}
	st := Stats{
		Kernel: pl.kernel.Name, Workers: pl.workers,
		TileM: min(pl.slabRows, pl.m), TileN: pl.slabCols, TileK: min(pl.span*pl.chainK(), pl.k), Tiles: pl.slabs * pl.ranges,
	}
	err := r.execute(e, s, pl, &st)
	return st, err
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
	if r.place.kernel != nil {
		r.place.inlined, r.place.sums = inlined{}, nil
	}
	if r.stream.kernel != nil {
		r.stream = stream{}
	}
	if r.ring.kernel != nil {
		r.ring = ring{}
	}
}
