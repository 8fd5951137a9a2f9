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
func (st *columnGrid) init(p *product) (err error) {
	side := tile.SideA
	if p.g.B == plan.TurnedB {
		side = tile.SideB
	}
	*st = columnGrid{product: *p, ColumnCut: &p.g.Columns}
	st.mapA, err = p.panelMap(side, &p.a, p.M, !p.a.trans)
	return err
}

// Bytes returns the slot memory that the plan needs: A, and the accumulators that outlast an item.
func (st *columnGrid) Bytes() int64 { return int64(st.bytesSlot()) + int64(st.BytesAcc(st.g)) }

func (st *columnGrid) bytesSlot() int { return plan.RoundUp(st.Steps*st.bytesA(), tile.SlotAlign) }

// use lays out mem, which has as many bytes or more.
func (st *columnGrid) use(mem []byte) {
	st.slot = mem[:st.bytesSlot()]
	if st.BytesAcc(st.g) > 0 {
		st.acc = unsafe.Pointer(unsafe.SliceData(mem[len(st.slot):]))
	}
}

// describe adds to s how the product is cut.
func (st *columnGrid) describe(s Stats) Stats {
	s.Depth, s.Stages = st.Items, st.Items
	s.TileM, s.TileN, s.TileK, s.Tiles = st.M, st.Cols, st.K, st.ColumnCut.Slabs
	for item := range st.Items {
		s.Bytes += int64(st.Expect(item, 0)) * tile.PanelTxUnit
	}
	return s
}

// bytesA returns the size of the panels of A of a whole step.
func (st *columnGrid) bytesA() int { return st.mapA.BoxBytes(st.M, st.g.Step) }

func (st *columnGrid) task(ctx context.Context, grid *pipeline.Grid, _ *pipeline.Slabs) (pipeline.Task, error) {
	jobs := plan.CeilDiv(st.Span*st.PanelsA, st.JobPanels)
	shape := pipeline.Shape{Depth: st.Items, Items: st.Items, CTAs: 1, Slabs: st.Slabs, Private: jobs}
	return grid, grid.Reset(ctx, shape, st, st.g.Workers)
}

// stepsOf returns the first step of K of an item and the one after its last.
func (st *columnGrid) stepsOf(item int) (from, to int) {
	return item * st.Span, min(item*st.Span+st.Span, st.Steps)
}

// Expect implements [pipeline.Program].
func (st *columnGrid) Expect(item, cta int) int {
	n := 0
	for step, to := st.stepsOf(item); step < to; step++ {
		_, k := st.StepOf(st.g, step)
		n += st.mapA.BoxBytes(st.M, k)
	}
	return n / tile.PanelTxUnit
}

// Load implements [pipeline.Program]: it copies some panels of A.
func (st *columnGrid) Load(stage, item, cta, job int, bars []barrier.Barrier) {
	from, to := st.stepsOf(item)
	end := min((job+1)*st.JobPanels, (to-from)*st.PanelsA)
	for panel := job * st.JobPanels; panel < end; panel++ {
		high := st.mapA.Width()
		step, row := from+panel/st.PanelsA, panel%st.PanelsA*high
		k0, k := st.StepOf(st.g, step)
		load(&st.mapA, st.slot[step*st.bytesA():], 0, st.M, row, high, k0, k, bars)
	}
}

// LoadMulticast implements [pipeline.Program]; there is nothing to share.
func (st *columnGrid) LoadMulticast(stage, item, job int, bars []barrier.Barrier) {}

// accumulators returns where those of the columns from col on lie: at mem, unless they outlast the item.
func (st *columnGrid) accumulators(mem unsafe.Pointer, col int) unsafe.Pointer {
	if st.acc == nil {
		return mem
	}
	return unsafe.Add(st.acc, col*st.PanelsA*st.mapA.Width()*4)
}

// stepA returns A's panels of a step of K.
func (st *columnGrid) stepA(step int) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(st.slot[step*st.bytesA():]))
}
