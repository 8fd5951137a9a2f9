package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/internal/spin"
)

// Compute implements [pipeline.Program]: it multiplies the item's part of A by one slab's columns.
func (cp *columnProgram) Compute(stage, item, cta, slab int) {
	from, end := slab*cp.Cols, min(slab*cp.Cols+cp.Cols, cp.N)
	var t spin.Turn
	t.Begin()
	pool := &scratches
	if cp.plan.B == plan.SweptB {
		pool = &brooms
	}
	s := pool.Get().(*scratch)
	defer pool.Put(s)
	for ; from < end; from += cp.Block {
		switch to := min(from+cp.Block, end); cp.plan.B {
		case plan.StreamedB:
			cp.computeStreamed(s.at(), &t, item, from, to-from)
		case plan.TurnedB:
			cp.computeTurned(s.at(), &t, item, from, to)
		default:
			cp.computePanels(s, &t, item, from, to)
		}
	}
}

// computePanels multiplies an item's part of A by the columns from .. to-1, a step of K after the other. What is not
// packed is packed to the beginning of s, behind products or before them, but for pieces that are swept. There follow
// the sums of a block of K that is not complete, if it takes several steps, and the sums that those are added to.
func (cp *columnProgram) computePanels(s *scratch, t *spin.Turn, item, from, to int) {
	g := group{strip: strip{rows: cp.M}, to: to, stripBytes: cp.BytesStrip(cp.plan)}
	step, last := cp.stepsOf(item)
	room, packs := plan.StreamB, cp.Block // bytes of panels of B, and columns that are packed at a time
	switch cp.plan.B {
	case plan.BehindB:
		room = cp.BehindBytes(cp.plan)
		s.behind = behind{product: &cp.product, from: from, to: to, step: step, last: last, memory: s.at()}
		g.behind = &s.behind
	case plan.SweptB:
		room, packs = 2*asm.SweepRoom, asm.SweepN
		s.sweep = asm.Sweep{M: cp.M, Stride: cp.b.pitch(), Strip: g.stripBytes, Room: unsafe.Add(s.at(), asm.SweepRoom)}
	}
	chain := unsafe.Add(s.at(), room)
	apart := (cp.SumsEach(cp.plan) - 1) * plan.CeilDiv(to-from, cp.Kernel.NR) * g.stripBytes
	acc := cp.accumulators(unsafe.Add(chain, apart), from)
	for ; step < last; step++ {
		g.from, g.sums, g.chain, g.a.at = from, lines{acc, cp.Kernel.NR * cp.Kernel.Word}, chain, cp.stepA(step)
		g.k0, g.n = cp.ColumnStep(cp.plan, step)
		if cp.plan.B == plan.SweptB {
			cp.sweep(&s.sweep, &g, t, step+1 < last)
		}
		cp.fetch(&g, s.at(), packs)
		cp.multiplyGroup(&g, t)
	}
	s.sweep, s.behind = asm.Sweep{}, behind{}
}

// computeStreamed multiplies an item's part of A by n columns from col on. Their sums are added up in mem and go from
// there to C, or to where they wait for the next item: workers that add to the same memory every few rows of K take its
// lines from each other, though each has columns of its own, for a processor fetches the lines after them, too.
func (cp *columnProgram) computeStreamed(mem unsafe.Pointer, t *spin.Turn, item, col, n int) {
	from, to := cp.stepsOf(item)
	a := stepsOfA{cp.stepA(0), cp.bytesA(), cp.plan.Step}
	word := cp.Kernel.Word
	sums, wait := lines{mem, n * word}, lines{forward(cp.acc, col*word), cp.N * word}
	if item > 0 {
		asm.CopyRows(sums.at, sums.pitch, wait.at, wait.pitch, cp.M, n*word)
	}
	cp.streamSteps(a, from, to, col, n, sums, item > 0, t)
	if item == cp.Items-1 {
		cp.epilogue(sums, 0, col, cp.M, n)
	} else {
		asm.CopyRows(wait.at, wait.pitch, sums.at, sums.pitch, cp.M, n*word)
	}
}
