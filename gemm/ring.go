package gemm

import (
	"context"
	"fmt"
	"math"
	"unsafe"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/internal/spin"
	"example.com/leafhopper/pipeline"
	"example.com/leafhopper/tile"
)

// A ringProgram is the program of a product on a ring.
type ringProgram struct {
	product
	*plan.RingCut
	mapA, mapB tile.PanelMap
	stages     []byte         // [stage][A of CTA 0, A of CTA 1, ..., B]
	acc        unsafe.Pointer // [cta][slab][panel of B][rows][NR]
	chain      unsafe.Pointer // the same, if blocks of K have several stages
}

// init lays out p as its plan says. It is an error if what the caller names does not fit p.
func (r *ringProgram) init(p *product) (err error) {
	r.product, r.RingCut = *p, &p.plan.Ring
	stages := float64(r.TilesM) * float64(r.TilesN) * float64(r.Steps)
	if stages > min(pipeline.MaxItems, math.MaxInt) {
		if r.transposed { // as the caller has it
			r.transpose()
		}
		return fmt.Errorf("gemm: WithTile(%d, %d, %d) cuts a product of %dx%dx%d into %.0f stages; "+
			"at most %d can be counted",
			r.Asked.M, r.Asked.N, r.Asked.K, r.c.rows, r.c.cols, r.K, stages,
			int64(min(pipeline.MaxItems, math.MaxInt)))
	}
	if r.mapA, err = r.panelMap(tile.SideA, &r.a, r.M, !r.a.trans); err == nil && r.plan.B == plan.SlotsOfB {
		r.mapB, err = r.panelMap(tile.SideB, &r.b, r.N, r.b.trans)
	}
	return err
}

// describe adds to st how the product is cut.
func (r *ringProgram) describe(st Stats) Stats {
	st.Depth, st.Stages = r.Depth, r.Items()
	st.TileM, st.TileN, st.TileK, st.Tiles = r.BM, r.BN, r.BK, r.TilesM*r.TilesN
	for step := range r.Steps {
		_, k := r.StepOf(step)
		st.Bytes += int64(r.mapA.BoxBytes(r.M, k))*int64(r.TilesN) + int64(r.mapB.BoxBytes(r.N, k))*int64(r.TilesM)
	}
	return st
}

func (r *ringProgram) task(ctx context.Context, grid *pipeline.Grid, _ *pipeline.Slabs) (pipeline.Task, error) {
	slabs, jobs := r.RowSlabs*r.ColSlabs, plan.CeilDiv(r.BM, r.JobRows)
	shape := pipeline.Shape{Depth: r.Depth, Items: r.Items(), CTAs: r.CTAs, Slabs: slabs, Private: jobs}
	if r.plan.B == plan.SlotsOfB {
		shape.Shared = plan.CeilDiv(r.BN, r.JobCols)
	}
	return grid, grid.Reset(ctx, shape, r, r.plan.Workers)
}

// use lays out mem, which has as many bytes as the plan needs.
func (r *ringProgram) use(mem []byte) {
	r.stages = mem[:r.Depth*r.Stage()]
	r.acc = unsafe.Pointer(unsafe.SliceData(mem[len(r.stages):]))
	if r.BytesChain > 0 {
		r.chain = unsafe.Add(r.acc, r.BytesAcc)
	}
}

// slotA returns the slot of cta's A in a stage, slotB that of B.
func (r *ringProgram) slotA(stage, cta int) []byte {
	return r.stages[stage*r.Stage()+cta*r.BytesA:][:r.BytesA]
}

func (r *ringProgram) slotB(stage int) []byte {
	return r.stages[stage*r.Stage()+r.CTAs*r.BytesA:][:r.BytesB]
}

// rowsOf returns the rows of C from row on that belong to cta, and the first.
func (r *ringProgram) rowsOf(row, cta int) (first, n int) {
	first = row + cta*r.BM
	return first, max(0, min(r.BM, r.M-first))
}

func (r *ringProgram) colsOf(col int) int { return min(r.BN, r.N-col) }

// Expect implements [pipeline.Program].
func (r *ringProgram) Expect(item, cta int) int {
	row, col, step := r.Tile(item)
	_, rows := r.rowsOf(row, cta)
	_, k := r.StepOf(step)
	return (r.mapA.BoxBytes(rows, k) + r.mapB.BoxBytes(r.colsOf(col), k)) / tile.PanelTxUnit
}

// Load implements [pipeline.Program]: it copies the job's rows of A.
func (r *ringProgram) Load(stage, item, cta, job int, bars []barrier.Barrier) {
	row, _, step := r.Tile(item)
	first, rows := r.rowsOf(row, cta)
	k0, k := r.StepOf(step)
	load(&r.mapA, r.slotA(stage, cta), first, rows, job*r.JobRows, r.JobRows, k0, k, bars)
}

// LoadMulticast implements [pipeline.Program]: it copies the job's columns of B.
func (r *ringProgram) LoadMulticast(stage, item, job int, bars []barrier.Barrier) {
	_, col, step := r.Tile(item)
	k0, k := r.StepOf(step)
	load(&r.mapB, r.slotB(stage), col, r.colsOf(col), job*r.JobCols, r.JobCols, k0, k, bars)
}

// Compute implements [pipeline.Program]: it multiplies one slab.
func (r *ringProgram) Compute(stage, item, cta, slab int) {
	row, col, step := r.Tile(item)
	first, rows := r.rowsOf(row, cta)
	at := slab / r.ColSlabs * r.SlabRows
	rows = min(r.SlabRows, rows-at)
	from := slab % r.ColSlabs * r.SlabCols
	to := min(from+r.SlabCols, r.colsOf(col))
	if rows <= 0 || from >= to {
		return
	}
	k0, depth := r.StepOf(step)
	k, words := r.Kernel, r.Words(depth)
	sums := ((cta*r.RowSlabs*r.SlabRows+at)*r.BN + from*r.SlabRows) * k.Word
	g := group{
		strip: strip{row: first + at, rows: rows, chain: forward(r.chain, sums)},
		from:  col + from, to: col + to, k0: k0, n: depth,
	}
	g.sums = lines{unsafe.Add(r.acc, sums), k.NR * k.Word}
	g.a.at = unsafe.Pointer(unsafe.SliceData(r.slotA(stage, cta)[at/k.MR*k.PanelA(words):]))
	if r.Steps > 1 { // otherwise strips take turns with one's accumulators
		g.stripBytes = r.SlabRows * k.NR * k.Word
	}
	if r.plan.B == plan.SlotsOfB {
		g.b = unsafe.Pointer(unsafe.SliceData(r.slotB(stage)[from/k.NR*k.PanelB(words):]))
	} else {
		s := scratches.Get().(*scratch)
		defer scratches.Put(s)
		r.fetch(&g, s.at(), r.PackCols)
	}
	var t spin.Turn
	t.Begin()
	r.multiplyGroup(&g, &t)
}
