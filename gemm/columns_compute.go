package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/internal/spin"
)

// Compute implements [pipeline.Program]: it multiplies the item's part of A by one slab's columns.
func (st *columnGrid) Compute(stage, item, cta, slab int) {
	from, end := slab*st.Cols, min(slab*st.Cols+st.Cols, st.N)
	var t spin.Turn
	t.Begin()
	pool := &scratches
	if st.g.B == plan.SweptB {
		pool = &brooms
	}
	s := pool.Get().(*scratch)
	defer pool.Put(s)
	for ; from < end; from += st.Block {
		switch to := min(from+st.Block, end); st.g.B {
		case plan.StreamedB:
			st.computeStreamed(s.at(), &t, item, from, to-from)
		case plan.TurnedB:
			st.computeTurned(s.at(), &t, item, from, to)
		default:
			st.computePanels(s, &t, item, from, to)
		}
	}
}

// computePanels multiplies an item's part of A by the columns from .. to-1, a step of K after the other. What is not
// packed is packed to the beginning of s, behind products or before them, but for pieces that are swept.
func (st *columnGrid) computePanels(s *scratch, t *spin.Turn, item, from, to int) {
	g := group{strip: strip{rows: st.M}, to: to, stripBytes: st.BytesStrip(st.g)}
	step, last := st.stepsOf(item)
	room, packs := plan.StreamB, st.Block // bytes of panels of B, and columns that are packed at a time
	switch st.g.B {
	case plan.BehindB:
		room = st.BehindBytes(st.g)
		s.behind = behind{product: &st.product, from: from, to: to, step: step, last: last, memory: s.at()}
		g.behind = &s.behind
	case plan.SweptB:
		room, packs = 2*asm.SweepRoom, asm.SweepN
		s.sweep = asm.Sweep{M: st.M, Stride: st.b.pitch(), Strip: g.stripBytes, Room: unsafe.Add(s.at(), asm.SweepRoom)}
	}
	chain := unsafe.Add(s.at(), room)
	apart := (st.SumsEach(st.g) - 1) * plan.CeilDiv(to-from, st.Kernel.NR) * g.stripBytes
	acc := st.accumulators(unsafe.Add(chain, apart), from)
	for ; step < last; step++ {
		g.from, g.sums, g.chain, g.a.at = from, lines{acc, st.Kernel.NR * 4}, chain, st.stepA(step)
		g.k0, g.n = st.StepOf(st.g, step)
		if st.g.B == plan.SweptB {
			st.sweep(&s.sweep, &g, t, step+1 < last)
		}
		st.fetch(&g, s.at(), packs)
		st.multiplyGroup(&g, t)
	}
	s.sweep, s.behind = asm.Sweep{}, behind{}
}

// computeStreamed multiplies an item's part of A by n columns from col on. Their sums are added up in mem and go from
// there to C, or to where they wait for the next item: workers that add to the same memory every few rows of K take its
// lines from each other, though each has columns of its own, for a processor fetches the lines after them, too.
func (st *columnGrid) computeStreamed(mem unsafe.Pointer, t *spin.Turn, item, col, n int) {
	from, to := st.stepsOf(item)
	a := stepsOfA{st.stepA(0), st.bytesA(), st.g.Step}
	sums, wait := lines{mem, n * 4}, lines{forward(st.acc, col*4), st.N * 4}
	if item > 0 {
		asm.CopyRows(sums.at, sums.pitch, wait.at, wait.pitch, st.M, n*4)
	}
	st.streamSteps(a, from, to, col, n, sums, item > 0, t)
	if item == st.Items-1 {
		st.epilogue(sums, 0, col, st.M, n)
	} else {
		asm.CopyRows(wait.at, wait.pitch, sums.at, sums.pitch, st.M, n*4)
	}
}
