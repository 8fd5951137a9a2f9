package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/internal/spin"
)

// Compute implements [pipeline.Program]: it multiplies A by one slab's columns.
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
			a := blocksOfA{st.blockA(0), st.bytesA(), st.bk}
			st.streamColumns(a, from, to-from, st.g.Workers == 1, s.at(), &t)
		case plan.AlongB:
			st.computeAlong(s.at(), &t, from, to)
		default:
			st.computePanels(s, &t, from, to)
		}
	}
}

// computePanels multiplies A by the columns from .. to-1, a step of K after the other. What is not packed is packed to
// the beginning of s, behind products or before them, but for pieces that are swept.
func (st *columnGrid) computePanels(s *scratch, t *spin.Turn, from, to int) {
	g := group{strip: strip{rows: st.M}, to: to, stripBytes: st.BytesStrip(st.g)}
	switch st.g.B {
	case plan.BehindB:
		s.behind = behind{product: &st.product, g: st.g, from: from, to: to, memory: s.at()}
		g.behind = &s.behind
	case plan.SweptB:
		s.sweep = asm.Sweep{M: st.M, Stride: st.b.pitch(), Strip: g.stripBytes, Room: unsafe.Add(s.at(), asm.SweepRoom)}
	}
	chain := unsafe.Add(s.at(), st.room)
	apart := (st.SumsEach(st.g) - 1) * plan.CeilDiv(to-from, st.Kernel.NR) * g.stripBytes
	for step := range st.Steps {
		g.from, g.sums, g.chain, g.a.at = from, lines{unsafe.Add(chain, apart), st.Kernel.NR * 4}, chain, st.blockA(step)
		g.k0, g.n = st.blockOf(st.g, step)
		if st.g.B == plan.SweptB {
			st.sweep(&s.sweep, &g, t, step+1 < st.Steps)
		}
		st.fetch(&g, s.at(), st.group)
		st.multiplyGroup(&g, t)
	}
	s.sweep, s.behind = asm.Sweep{}, behind{}
}

// blockA returns A's panels of a block of K.
func (st *columnGrid) blockA(step int) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(st.slot[step*st.bytesA():]))
}
