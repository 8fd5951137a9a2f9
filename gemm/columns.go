package gemm

import (
	"context"
	"unsafe"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/pipeline"
	"example.com/leafhopper/tile"
)

// columnGrid is the program of a product with few rows. That is bound by reading B, so copying B to a slot that
// others read would double the work. Instead the ring holds all of A, in one stage or for many workers in several,
// and every slab is a range of columns: its worker walks down K, step by step, and uses the panels of B at once,
// from its own cache or, if B is packed, from where they lie.
type columnGrid struct {
	product
	*plan.ColumnCut
	mapA tile.PanelMap
	slot []byte         // A: [step of K][panel]
	acc  unsafe.Pointer // sums, if they outlast an item: [panel of B][rows][NR], or [m][n]
}

// init lays out p as its plan says.
func (cg *columnGrid) init(p *product) (err error) {
	side := tile.SideA
	if p.plan.B == plan.TurnedB {
		side = tile.SideB
	}
	*cg = columnGrid{product: *p, ColumnCut: &p.plan.Columns}
	cg.mapA, err = p.panelMap(side, &p.a, p.M, !p.a.trans)
	return err
}

// Bytes returns the slot memory that the plan needs: A, and the accumulators that outlast an item.
func (cg *columnGrid) Bytes() int64 { return int64(cg.bytesSlot()) + int64(cg.BytesAcc(cg.plan)) }

func (cg *columnGrid) bytesSlot() int { return plan.RoundUp(cg.Steps*cg.bytesA(), tile.SlotAlign) }

// use lays out mem, which has as many bytes or more.
func (cg *columnGrid) use(mem []byte) {
	cg.slot = mem[:cg.bytesSlot()]
	if cg.BytesAcc(cg.plan) > 0 {
		cg.acc = unsafe.Pointer(unsafe.SliceData(mem[len(cg.slot):]))
	}
}

// describe adds to st how the product is cut.
func (cg *columnGrid) describe(st Stats) Stats {
	st.Depth, st.Stages = cg.Items, cg.Items
	st.TileM, st.TileN, st.TileK, st.Tiles = cg.M, cg.Cols, cg.K, cg.Slabs
	for item := range cg.Items {
		st.Bytes += int64(cg.Expect(item, 0)) * tile.PanelTxUnit
	}
	return st
}

// bytesA returns the size of the panels of A of a whole step.
func (cg *columnGrid) bytesA() int { return cg.mapA.BoxBytes(cg.M, cg.plan.Step) }

func (cg *columnGrid) task(ctx context.Context, grid *pipeline.Grid, _ *pipeline.Slabs) (pipeline.Task, error) {
	jobs := plan.CeilDiv(cg.Span*cg.PanelsA, cg.JobPanels)
	shape := pipeline.Shape{Depth: cg.Items, Items: cg.Items, CTAs: 1, Slabs: cg.Slabs, Private: jobs}
	return grid, grid.Reset(ctx, shape, cg, cg.plan.Workers)
}

// stepsOf returns the first step of K of an item and the one after its last.
func (cg *columnGrid) stepsOf(item int) (from, to int) {
	return item * cg.Span, min(item*cg.Span+cg.Span, cg.Steps)
}

// Expect implements [pipeline.Program].
func (cg *columnGrid) Expect(item, cta int) int {
	n := 0
	for step, to := cg.stepsOf(item); step < to; step++ {
		_, k := cg.ColumnStep(cg.plan, step)
		n += cg.mapA.BoxBytes(cg.M, k)
	}
	return n / tile.PanelTxUnit
}

// Load implements [pipeline.Program]: it copies some panels of A.
func (cg *columnGrid) Load(stage, item, cta, job int, bars []barrier.Barrier) {
	from, to := cg.stepsOf(item)
	end := min((job+1)*cg.JobPanels, (to-from)*cg.PanelsA)
	for panel := job * cg.JobPanels; panel < end; panel++ {
		high := cg.mapA.Width()
		step, row := from+panel/cg.PanelsA, panel%cg.PanelsA*high
		k0, k := cg.ColumnStep(cg.plan, step)
		load(&cg.mapA, cg.slot[step*cg.bytesA():], 0, cg.M, row, high, k0, k, bars)
	}
}

// LoadMulticast implements [pipeline.Program]; there is nothing to share.
func (cg *columnGrid) LoadMulticast(stage, item, job int, bars []barrier.Barrier) {}

// accumulators returns where those of the columns from col on lie: at mem, unless they outlast the item.
func (cg *columnGrid) accumulators(mem unsafe.Pointer, col int) unsafe.Pointer {
	if cg.acc == nil {
		return mem
	}
	return unsafe.Add(cg.acc, col*cg.PanelsA*cg.mapA.Width()*4)
}

// stepA returns A's panels of a step of K.
func (cg *columnGrid) stepA(step int) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(cg.slot[step*cg.bytesA():]))
}
