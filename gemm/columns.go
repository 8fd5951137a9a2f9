package gemm

import (
	"context"
	"unsafe"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/pipeline"
	"example.com/leafhopper/tile"
)

// A columnProgram is the program of a product with few rows. That is bound by reading B, so copying B to a slot that
// others read would double the work. Instead the ring holds all of A, in one stage or for many workers in several,
// and every slab is a range of columns: its worker walks down K, step by step, and uses the panels of B at once,
// from its own cache or, if B is packed, from where they lie.
type columnProgram struct {
	product
	*plan.ColumnCut
	mapA tile.PanelMap
	slot []byte         // A: [step of K][panel]
	acc  unsafe.Pointer // sums, if they outlast an item: [panel of B][rows][NR], or [m][n]
}

// init lays out p as its plan says.
func (cp *columnProgram) init(p *product) (err error) {
	side := tile.SideA
	if p.plan.B == plan.TurnedB {
		side = tile.SideB
	}
	*cp = columnProgram{product: *p, ColumnCut: &p.plan.Columns}
	cp.mapA, err = p.panelMap(side, &p.a, p.M, !p.a.trans)
	return err
}

// Bytes returns the slot memory that the plan needs: A, and the accumulators that outlast an item.
func (cp *columnProgram) Bytes() int64 { return int64(cp.bytesSlot()) + int64(cp.BytesAcc(cp.plan)) }

func (cp *columnProgram) bytesSlot() int { return plan.RoundUp(cp.Steps*cp.bytesA(), tile.SlotAlign) }

// use lays out mem, which has as many bytes or more.
func (cp *columnProgram) use(mem []byte) {
	cp.slot = mem[:cp.bytesSlot()]
	if cp.BytesAcc(cp.plan) > 0 {
		cp.acc = unsafe.Pointer(unsafe.SliceData(mem[len(cp.slot):]))
	}
}

// describe adds to st how the product is cut.
func (cp *columnProgram) describe(st Stats) Stats {
	st.Depth, st.Stages = cp.Items, cp.Items
	st.TileM, st.TileN, st.TileK, st.Tiles = cp.M, cp.Cols, cp.K, cp.Slabs
	for item := range cp.Items {
		st.Bytes += int64(cp.Expect(item, 0)) * tile.PanelTxUnit
	}
	return st
}

// bytesA returns the size of the panels of A of a whole step.
func (cp *columnProgram) bytesA() int { return cp.mapA.BoxBytes(cp.M, cp.plan.Step) }

func (cp *columnProgram) task(ctx context.Context, grid *pipeline.Grid, _ *pipeline.Slabs) (pipeline.Task, error) {
	jobs := plan.CeilDiv(cp.Span*cp.PanelsA, cp.JobPanels)
	shape := pipeline.Shape{Depth: cp.Items, Items: cp.Items, CTAs: 1, Slabs: cp.Slabs, Private: jobs}
	return grid, grid.Reset(ctx, shape, cp, cp.plan.Workers)
}

// stepsOf returns the first step of K of an item and the one after its last.
func (cp *columnProgram) stepsOf(item int) (from, to int) {
	return item * cp.Span, min(item*cp.Span+cp.Span, cp.Steps)
}

// Expect implements [pipeline.Program].
func (cp *columnProgram) Expect(item, cta int) int {
	n := 0
	for step, to := cp.stepsOf(item); step < to; step++ {
		_, k := cp.ColumnStep(cp.plan, step)
		n += cp.mapA.BoxBytes(cp.M, k)
	}
	return n / tile.PanelTxUnit
}

// Load implements [pipeline.Program]: it copies some panels of A.
func (cp *columnProgram) Load(stage, item, cta, job int, bars []barrier.Barrier) {
	from, to := cp.stepsOf(item)
	end := min((job+1)*cp.JobPanels, (to-from)*cp.PanelsA)
	for panel := job * cp.JobPanels; panel < end; panel++ {
		high := cp.mapA.Width()
		step, row := from+panel/cp.PanelsA, panel%cp.PanelsA*high
		k0, k := cp.ColumnStep(cp.plan, step)
		load(&cp.mapA, cp.slot[step*cp.bytesA():], 0, cp.M, row, high, k0, k, bars)
	}
}

// LoadMulticast implements [pipeline.Program]; there is nothing to share.
func (cp *columnProgram) LoadMulticast(stage, item, job int, bars []barrier.Barrier) {}

// accumulators returns where those of the columns from col on lie: at mem, unless they outlast the item.
func (cp *columnProgram) accumulators(mem unsafe.Pointer, col int) unsafe.Pointer {
	if cp.acc == nil {
		return mem
	}
	return unsafe.Add(cp.acc, col*cp.PanelsA*cp.mapA.Width()*cp.Kernel.Word)
}

// stepA returns A's panels of a step of K.
func (cp *columnProgram) stepA(step int) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(cp.slot[step*cp.bytesA():]))
}
