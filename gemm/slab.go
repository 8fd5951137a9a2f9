package gemm

import (
	"unsafe"

	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/tile"
)

// run computes the columns from .. to-1, as the plan says.
func (in *slab) run(from, to int) {
	switch in.plan.B {
	case plan.UnpackedB:
		in.runUnpacked(from, to)
	case plan.DotsOfB:
		in.runDots()
	case plan.StreamedB:
		in.runFewRows(from, to)
	default:
		in.runPanels(from, to)
	}
}

// runAlone computes the whole product, in turns.
func (in *slab) runAlone() {
	defer in.leave()
	in.turn.Begin()
	in.run(0, in.N)
	in.turn.Look()
}

// runPanels computes the columns from .. to-1, for a block of K after the other: one panel of B after the other is
// packed, unless B is, and multiplied by all of A.
func (in *slab) runPanels(from, to int) {
	var b unsafe.Pointer
	pitch := in.Kernel.NR * in.Kernel.Word
	g := group{strip: strip{rows: in.M}, from: from, to: to, stripBytes: pitch}
	sums := lines{in.c.at(0, from), in.c.pitch()}
	if in.room != (plan.Room{}) {
		s := scratches.Get().(*scratch)
		defer scratches.Put(s)
		g.a.at = s.at()
		b = unsafe.Add(g.a.at, plan.RoundUp(in.room.A, tile.SlotAlign))
		if in.room.Acc > 0 {
			sums, g.stripBytes = lines{unsafe.Add(b, plan.RoundUp(in.room.B, tile.SlotAlign)), pitch}, 0
			if in.plan.Step < in.K {
				g.stripBytes = in.room.Acc
			}
		}
	}
	for g.k0 = 0; g.k0 < in.K; g.k0 += in.plan.Step {
		g.n = min(in.plan.Step, in.K-g.k0)
		if in.plan.A == plan.RowsOfA {
			g.a = lines{in.a.at(0, g.k0), in.a.pitch()}
		} else {
			in.Kernel.PackA(in.a.elem, !in.a.trans)(g.a.at, in.a.at(0, g.k0), in.a.pitch(), in.M, g.n)
		}
		g.sums = sums
		in.fetch(&g, b, in.Kernel.NR)
		in.multiplyGroup(&g, &in.turn)
	}
}
