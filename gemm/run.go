package gemm

import (
	"context"
	"fmt"
	"unsafe"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/pipeline"
	"example.com/leafhopper/tile"
)

// run is one product on a ring: the program that the grid's workers execute.
type run struct {
	product
	plan
	stream stream // instead of product and plan, for few rows
	place  place  // or for an A that stays in a cache
	grid   pipeline.Grid
	mapA   tile.PanelMap
	mapB   tile.PanelMap
	memory *tile.Slots
	stages []byte         // [stage][A of CTA 0, A of CTA 1, ..., B]
	acc    unsafe.Pointer // [cta][slab][panel of B][rows][NR]
	sum    unsafe.Pointer // the same, if K is split
	kept   unsafe.Pointer // [stage of K][panel of B], if the plan keeps them
}

// grid computes the product on a grid and returns how it went.
func (e *Engine) grid(in *inlined, s *settings, how route) (Stats, error) {
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
	r.product, r.plan = *p, newPlan(p, s)
	if stages := float64(r.tilesM) * float64(r.tilesN) * float64(r.steps); stages > pipeline.MaxItems {
		m, n, rows, cols := p.m, p.n, s.tile[0], s.tile[1]
		if p.turned {
			m, n, rows, cols = n, m, cols, rows
		}
		return Stats{}, fmt.Errorf("gemm: WithTile(%d, %d, %d) cuts a product of %dx%dx%d into %.0f stages; at most %d can be counted",
			rows, cols, s.tile[2], m, n, p.k, stages, int64(pipeline.MaxItems))
	}
	r.past = p.exceeds(1) // for who stores a part comes late, if ever, to the next
	if r.b.packed && r.chains > 1 && r.chainK%r.bk != 0 {
		return Stats{}, fmt.Errorf("gemm: WithSplitK(%d): parts of %d elements do not begin with the packed stages of %d", p.splitK, r.chainK, r.bk)
	}
	if err := r.maps(); err != nil {
		return Stats{}, err
	}
	mem, err := r.memoryOf(e, r.plan.bytes())
	if err != nil {
		return Stats{}, err
	}
	r.stages = mem[:r.depth*r.stage()]
	r.acc = unsafe.Pointer(unsafe.SliceData(mem[len(r.stages):]))
	if r.bytesSum > 0 {
		r.sum = unsafe.Add(r.acc, r.bytesAcc)
	}
	if r.keeps {
		r.kept = unsafe.Add(r.acc, r.bytesAcc+r.bytesSum)
	}
	st := Stats{
		Kernel: r.kernel.Name, Workers: r.workers, Depth: r.depth,
		TileM: r.bm, TileN: r.bn, TileK: r.bk,
		Tiles: r.tilesM * r.tilesN, Bytes: r.copied(),
	}
	err = r.execute(e, s, r.shape(), r, r.workers, &st)
	return st, err
}

func (r *run) runStream(e *Engine, p *product, s *settings) (Stats, error) {
	workers := s.parallelism()
	if err := r.stream.init(p, workers); err != nil {
		return Stats{}, err
	}
	w := &r.stream
	bytesA, bytesAcc := roundUp(w.steps*w.bytesA(), tile.SlotAlign), w.bytesAcc()
	mem, err := r.memoryOf(e, bytesA+bytesAcc)
	if err != nil {
		return Stats{}, err
	}
	w.slot = mem[:bytesA]
	if bytesAcc > 0 {
		w.acc = unsafe.Pointer(unsafe.SliceData(mem[bytesA:]))
	}
	st := Stats{
		Kernel: w.kernel.Name, Workers: workers, Depth: w.items,
		TileM: w.m, TileN: w.cols, TileK: w.k, Tiles: w.slabs,
	}
	for item := range w.items {
		st.Bytes += int64(w.Expect(item, 0) * tile.PanelTxUnit)
	}
	err = r.execute(e, s, w.shape(), w, workers, &st)
	return st, err
}

func (r *run) runPlace(e *Engine, in *inlined, s *settings) (Stats, error) {
	pl := &r.place
	pl.init(in, s.parallelism())
	pl.past = pl.exceeds(pl.workers)
	st := Stats{
		Kernel: pl.kernel.Name, Workers: pl.workers,
		TileM: min(pl.slabRows, pl.m), TileN: pl.slabCols, TileK: pl.k, Tiles: pl.slabs,
	}
	err := r.execute(e, s, pl.shape(), pl, pl.workers, &st)
	st.Stages = 0 // of a ring
	return st, err
}

// memoryOf takes slot memory of n bytes from the engine's pool.
func (r *run) memoryOf(e *Engine, n int) ([]byte, error) {
	var err error
	if r.memory, err = e.slots.Get(n); err != nil {
		return nil, err
	}
	return r.memory.Bytes(), nil
}

// execute runs prog on the grid and completes st.
func (r *run) execute(e *Engine, s *settings, shape pipeline.Shape, prog pipeline.Program, workers int, st *Stats) error {
	var ctx context.Context
	if s.ctx != nil && s.ctx.Done() != nil {
		ctx = s.ctx
	}
	if err := r.grid.Reset(ctx, shape, prog, workers); err != nil {
		return err
	}
	e.crew.Run(&r.grid, workers)
	if err := r.grid.Err(); err != nil {
		return err
	}
	w := r.grid.Stats()
	st.Stages = shape.Items
	st.ProducerWait, st.ConsumerWait, st.Copy = w.ProducerWait, w.ConsumerWait, w.Copy
	return nil
}

// release lets go of the memory, the operands and the context.
func (r *run) release(e *Engine) {
	r.grid.Clear()
	if r.memory != nil {
		e.slots.Put(r.memory)
	}
	r.memory, r.stages, r.acc, r.sum, r.kept = nil, nil, nil, nil, nil
	if r.place.kernel != nil {
		r.place.inlined = inlined{}
	}
	if r.stream.kernel != nil {
		r.stream = stream{}
	}
	if r.kernel != nil {
		r.product = product{}
		r.mapA, r.mapB = tile.PanelMap{}, tile.PanelMap{}
	}
}

// maps makes the panel maps of the operands.
func (r *run) maps() (err error) {
	r.mapA, err = tile.NewPanelMap(tile.PanelConfig{
		Kernel: r.kernel, Side: tile.SideA, Type: r.a.elem, Global: r.a.memory(),
		Rows: r.m, K: r.k, Stride: r.a.pitch(), KContiguous: !r.a.trans,
	})
	if err != nil || r.bare {
		return err
	}
	r.mapB, err = tile.NewPanelMap(tile.PanelConfig{
		Kernel: r.kernel, Side: tile.SideB, Type: r.b.elem, Global: r.b.memory(),
		Rows: r.n, K: r.k, Stride: r.b.pitch(), KContiguous: r.b.trans,
	})
	return err
}

// slotA returns the slot of cta's A in a stage, slotB that of B.
func (r *run) slotA(stage, cta int) []byte {
	return r.stages[stage*r.stage()+cta*r.bytesA:][:r.bytesA]
}

func (r *run) slotB(stage int) []byte {
	return r.stages[stage*r.stage()+r.ctas*r.bytesA:][:r.bytesB]
}

// rowsOf returns the rows of C from row on that belong to cta, and the first.
func (r *run) rowsOf(row, cta int) (first, n int) {
	first = row + cta*r.bm
	return first, max(0, min(r.bm, r.m-first))
}

func (r *run) colsOf(col int) int { return min(r.bn, r.n-col) }

// Expect implements [pipeline.Program].
func (r *run) Expect(item, cta int) int {
	row, col, step := r.tile(item)
	_, rows := r.rowsOf(row, cta)
	_, k := r.depthOf(step)
	n := r.mapA.BoxBytes(rows, k)
	if !r.bare {
		n += r.mapB.BoxBytes(r.colsOf(col), k)
	}
	return n / tile.PanelTxUnit
}

// Load implements [pipeline.Program]: it copies the job's rows of A.
func (r *run) Load(stage, item, cta, job int, bars []barrier.Barrier) {
	row, _, step := r.tile(item)
	first, rows := r.rowsOf(row, cta)
	k0, k := r.depthOf(step)
	load(&r.mapA, r.slotA(stage, cta), first, rows, job*r.jobRows, r.jobRows, k0, k, bars)
}

// LoadMulticast implements [pipeline.Program]: it copies the job's columns of B.
func (r *run) LoadMulticast(stage, item, job int, bars []barrier.Barrier) {
	_, col, step := r.tile(item)
	k0, k := r.depthOf(step)
	load(&r.mapB, r.slotB(stage), col, r.colsOf(col), job*r.jobCols, r.jobCols, k0, k, bars)
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

// Compute implements [pipeline.Program]: it multiplies one slab.
func (r *run) Compute(stage, item, cta, slab int) {
	row, col, step := r.tile(item)
	first, rows := r.rowsOf(row, cta)
	at := slab / r.colSlabs * r.slabRows
	rows = min(r.slabRows, rows-at)
	from := slab % r.colSlabs * r.slabCols
	to := min(from+r.slabCols, r.colsOf(col))
	if rows <= 0 {
		return
	}
	k0, depth := r.depthOf(step)
	k, words := r.kernel, r.words(depth)
	a := unsafe.Pointer(unsafe.SliceData(r.slotA(stage, cta)[at/k.MR*k.PanelA(words):]))
	ph := r.phaseOf(step)
	slabAt := (cta*r.rowSlabs*r.slabRows + at) * r.bn * 4
	calls := ceilDiv(r.slabCols, k.NR)
	next := r.feed(item+r.depth, r.ctas*r.rowSlabs*r.colSlabs*calls)
	call := (cta*r.rowSlabs*r.colSlabs + slab) * calls
	if r.bare {
		g := group{
			row: first + at, rows: rows, k0: k0, n: depth, a: a,
			ph: ph, then: next, call: call, there: r.keptFor(item),
		}
		if r.packs() && !g.there {
			r.computeSwept(&g, col, from, to, slabAt)
		} else {
			r.computeBare(&g, col, from, to, slabAt)
		}
		return
	}
	b := unsafe.Pointer(unsafe.SliceData(r.slotB(stage)))
	for j := from; j < to; j += k.NR {
		stripAt := slabAt + r.stripOf(from, j)
		s := strip{
			row: first + at, col: col + j, rows: rows, cols: min(k.NR, to-j),
			acc: unsafe.Add(r.acc, stripAt), sum: forward(r.sum, stripAt), next: next.share(call + (j-from)/k.NR),
		}
		r.multiply(&s, words, a, unsafe.Add(b, j/k.NR*k.PanelB(words)), ph)
	}
}

// stripOf returns where the accumulators of a slab's strip lie: those of column j,
// if from is the first. Strips that need them in one step only take turns.
func (r *run) stripOf(from, j int) int {
	if r.steps == 1 {
		j = from
	}
	return j * r.slabRows * 4
}

// keptAt returns where the tile's panel of B of column j is kept, from element k0
// of K on.
func (r *run) keptAt(k0, j int) unsafe.Pointer {
	k, n := r.kernel, min(r.bk, r.k-k0)
	stage := r.bn / k.NR * k.PanelB(r.words(r.bk))
	return unsafe.Add(r.kept, k0/r.bk*stage+j/k.NR*k.PanelB(r.words(n)))
}

// copied returns the bytes that the copies wrote to slots.
func (r *run) copied() int64 {
	var n int64
	for step := range r.steps {
		_, k := r.depthOf(step)
		for row := 0; row < r.m; row += r.bm {
			n += int64(r.mapA.BoxBytes(min(r.bm, r.m-row), k) * r.tilesN)
		}
		for col := 0; col < r.n && !r.bare; col += r.bn {
			n += int64(r.mapB.BoxBytes(r.colsOf(col), k) * r.tilesM)
		}
	}
	return n
}

// memory returns the bytes from v's first element to the end of its Data.
func (v *view) memory() []byte {
	return unsafe.Slice((*byte)(v.ptr), v.len*v.elem.Size())
}

var _ pipeline.Program = (*run)(nil)
