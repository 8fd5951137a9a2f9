package gemm

import (
	"context"
	"fmt"
	"math"
	"unsafe"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/internal/spin"
	"example.com/leafhopper/pipeline"
	"example.com/leafhopper/tile"
)

// ring is the program of a product on a ring.
type ring struct {
	product
	ringCut
	g          *Plan
	mapA, mapB tile.PanelMap
	stages     []byte         // [stage][A of CTA 0, A of CTA 1, ..., B]
	acc        unsafe.Pointer // [cta][slab][panel of B][rows][NR]
	chain      unsafe.Pointer // the same, if blocks of K have several stages
}

// init lays out p as g says. It is an error if what the caller names does not fit p.
func (r *ring) init(p *product, g *Plan) error {
	r.product, r.ringCut, r.g, r.past = *p, g.ring, g, g.past
	if stages := float64(r.tilesM) * float64(r.tilesN) * float64(r.steps); stages > min(pipeline.MaxItems, math.MaxInt) {
		m, n, rows, cols := p.m, p.n, p.asked.m, p.asked.n
		if p.turned {
			m, n, rows, cols = n, m, cols, rows
		}
		return fmt.Errorf("gemm: WithTile(%d, %d, %d) cuts a product of %dx%dx%d into %.0f stages; at most %d can be counted",
			rows, cols, p.asked.k, m, n, p.k, stages, int64(min(pipeline.MaxItems, math.MaxInt)))
	}
	return r.maps()
}

// describe adds to st how the product is cut.
func (r *ring) describe(st Stats) Stats {
	st.Depth, st.Stages, st.Bytes = r.depth, r.items(), r.copied()
	st.TileM, st.TileN, st.TileK, st.Tiles = r.bm, r.bn, r.bk, r.tilesM*r.tilesN
	return st
}

func (r *ring) task(ctx context.Context, of *run) (pipeline.Task, error) {
	return &of.grid, of.grid.Reset(ctx, r.Shape(), r, r.g.workers)
}

// bare reports whether the ring holds no B.
func (r *ring) bare() bool { return r.g.b != slotsOfB }

// use lays out mem, which has as many bytes as the plan needs.
func (r *ring) use(mem []byte) {
	r.stages = mem[:r.depth*r.stage()]
	r.acc = unsafe.Pointer(unsafe.SliceData(mem[len(r.stages):]))
	if r.bytesChain > 0 {
		r.chain = unsafe.Add(r.acc, r.bytesAcc)
	}
}

// maps makes the panel maps of the operands.
func (r *ring) maps() (err error) {
	if r.mapA, err = r.panelMap(tile.SideA, &r.a, r.m, !r.a.trans); err != nil || r.bare() {
		return err
	}
	r.mapB, err = r.panelMap(tile.SideB, &r.b, r.n, r.b.trans)
	return err
}

// panelMap returns the map of v to panels of a side, rows of A or columns of B, along which
// K runs in memory or not.
func (p *product) panelMap(side tile.Side, v *view, rows int, kContiguous bool) (tile.PanelMap, error) {
	return tile.NewPanelMap(tile.PanelConfig{
		Kernel: p.kernel, Side: side, Type: v.elem, Global: v.memory(),
		Rows: rows, K: p.k, Stride: v.pitch(), KContiguous: kContiguous,
	})
}

// slotA returns the slot of cta's A in a stage, slotB that of B.
func (r *ring) slotA(stage, cta int) []byte {
	return r.stages[stage*r.stage()+cta*r.bytesA:][:r.bytesA]
}

func (r *ring) slotB(stage int) []byte {
	return r.stages[stage*r.stage()+r.ctas*r.bytesA:][:r.bytesB]
}

// rowsOf returns the rows of C from row on that belong to cta, and the first.
func (r *ring) rowsOf(row, cta int) (first, n int) {
	first = row + cta*r.bm
	return first, max(0, min(r.bm, r.m-first))
}

func (r *ring) colsOf(col int) int { return min(r.bn, r.n-col) }

// Expect implements [pipeline.Program].
func (r *ring) Expect(item, cta int) int {
	row, col, step := r.tile(item)
	_, rows := r.rowsOf(row, cta)
	_, k := r.depthOf(step)
	n := r.mapA.BoxBytes(rows, k)
	if !r.bare() {
		n += r.mapB.BoxBytes(r.colsOf(col), k)
	}
	return n / tile.PanelTxUnit
}

// Load implements [pipeline.Program]: it copies the job's rows of A.
func (r *ring) Load(stage, item, cta, job int, bars []barrier.Barrier) {
	row, _, step := r.tile(item)
	first, rows := r.rowsOf(row, cta)
	k0, k := r.depthOf(step)
	load(&r.mapA, r.slotA(stage, cta), first, rows, job*r.jobRows, r.jobRows, k0, k, bars)
}

// LoadMulticast implements [pipeline.Program]: it copies the job's columns of B.
func (r *ring) LoadMulticast(stage, item, job int, bars []barrier.Barrier) {
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
func (r *ring) Compute(stage, item, cta, slab int) {
	row, col, step := r.tile(item)
	first, rows := r.rowsOf(row, cta)
	at := slab / r.colSlabs * r.slabRows
	rows = min(r.slabRows, rows-at)
	from := slab % r.colSlabs * r.slabCols
	to := min(from+r.slabCols, r.colsOf(col))
	if rows <= 0 || from >= to {
		return
	}
	k0, depth := r.depthOf(step)
	k, words := r.kernel, r.words(depth)
	sums := (cta*r.rowSlabs*r.slabRows+at)*r.bn*4 + from*r.slabRows*4
	g := group{
		strip: strip{row: first + at, rows: rows, chain: forward(r.chain, sums)},
		from:  col + from, to: col + to, k0: k0, n: depth,
	}
	g.sums = lines{unsafe.Add(r.acc, sums), k.NR * 4}
	g.a.at = unsafe.Pointer(unsafe.SliceData(r.slotA(stage, cta)[at/k.MR*k.PanelA(words):]))
	if r.steps > 1 { // otherwise strips take turns with one's accumulators
		g.stripBytes = r.slabRows * k.NR * 4
	}
	if r.bare() {
		s := scratches.Get().(*scratch)
		defer scratches.Put(s)
		r.fetch(&g, s.at(), r.g.group*k.NR)
	} else {
		g.b = unsafe.Pointer(unsafe.SliceData(r.slotB(stage)[from/k.NR*k.PanelB(words):]))
	}
	var t spin.Turn
	t.Begin()
	r.multiplyGroup(&g, &t)
}

// copied returns the bytes that the copies wrote to slots.
func (r *ring) copied() int64 {
	var n int64
	for step := range r.steps {
		_, k := r.depthOf(step)
		for row := 0; row < r.m; row += r.bm {
			n += int64(r.mapA.BoxBytes(min(r.bm, r.m-row), k)) * int64(r.tilesN)
		}
		for col := 0; col < r.n && !r.bare(); col += r.bn {
			n += int64(r.mapB.BoxBytes(r.colsOf(col), k)) * int64(r.tilesM)
		}
	}
	return n
}
