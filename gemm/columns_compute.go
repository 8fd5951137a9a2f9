package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/internal/spin"
)

// Compute implements [pipeline.Program]: it multiplies the item's part of A by one slab's columns.
func (cg *columnGrid) Compute(stage, item, cta, slab int) {
	from, end := slab*cg.Cols, min(slab*cg.Cols+cg.Cols, cg.N)
	var t spin.Turn
	t.Begin()
	pool := &scratches
	if cg.plan.B == plan.SweptB {
		pool = &brooms
	}
	s := pool.Get().(*scratch)
	defer pool.Put(s)
	for ; from < end; from += cg.Block {
		switch to := min(from+cg.Block, end); cg.plan.B {
		case plan.StreamedB:
			cg.computeStreamed(s.at(), &t, item, from, to-from)
		case plan.TurnedB:
			cg.computeTurned(s.at(), &t, item, from, to)
		default:
			cg.computePanels(s, &t, item, from, to)
		}
	}
}

// computePanels multiplies an item's part of A by the columns from .. to-1, a step of K after the other. What is not
// packed is packed to the beginning of s, behind products or before them, but for pieces that are swept.
func (cg *columnGrid) computePanels(s *scratch, t *spin.Turn, item, from, to int) {
	g := group{strip: strip{rows: cg.M}, to: to, stripBytes: cg.BytesStrip(cg.plan)}
	step, last := cg.stepsOf(item)
	room, packs := plan.StreamB, cg.Block // bytes of panels of B, and columns that are packed at a time
	switch cg.plan.B {
	case plan.BehindB:
		room = cg.BehindBytes(cg.plan)
		s.behind = behind{product: &cg.product, from: from, to: to, step: step, last: last, memory: s.at()}
		g.behind = &s.behind
	case plan.SweptB:
		room, packs = 2*asm.SweepRoom, asm.SweepN
		s.sweep = asm.Sweep{M: cg.M, Stride: cg.b.pitch(), Strip: g.stripBytes, Room: unsafe.Add(s.at(), asm.SweepRoom)}
	}
	chain := unsafe.Add(s.at(), room)
	apart := (cg.SumsEach(cg.plan) - 1) * plan.CeilDiv(to-from, cg.Kernel.NR) * g.stripBytes
	acc := cg.accumulators(unsafe.Add(chain, apart), from)
	for ; step < last; step++ {
		g.from, g.sums, g.chain, g.a.at = from, lines{acc, cg.Kernel.NR * 4}, chain, cg.stepA(step)
		g.k0, g.n = cg.ColumnStep(cg.plan, step)
		if cg.plan.B == plan.SweptB {
			cg.sweep(&s.sweep, &g, t, step+1 < last)
		}
		cg.fetch(&g, s.at(), packs)
		cg.multiplyGroup(&g, t)
	}
	s.sweep, s.behind = asm.Sweep{}, behind{}
}

// computeStreamed multiplies an item's part of A by n columns from col on. Their sums are added up in mem and go from
// there to C, or to where they wait for the next item: workers that add to the same memory every few rows of K take its
// lines from each other, though each has columns of its own, for a processor fetches the lines after them, too.
func (cg *columnGrid) computeStreamed(mem unsafe.Pointer, t *spin.Turn, item, col, n int) {
	from, to := cg.stepsOf(item)
	a := stepsOfA{cg.stepA(0), cg.bytesA(), cg.plan.Step}
	sums, wait := lines{mem, n * 4}, lines{forward(cg.acc, col*4), cg.N * 4}
	if item > 0 {
		asm.CopyRows(sums.at, sums.pitch, wait.at, wait.pitch, cg.M, n*4)
	}
	cg.streamSteps(a, from, to, col, n, sums, item > 0, t)
	if item == cg.Items-1 {
		cg.epilogue(sums, 0, col, cg.M, n)
	} else {
		asm.CopyRows(wait.at, wait.pitch, sums.at, sums.pitch, cg.M, n*4)
	}
}
