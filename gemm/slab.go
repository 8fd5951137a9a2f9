package gemm

import (
	"unsafe"

	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/internal/spin"
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

// runAlone computes the whole product. It may be one of many that follow each other, and give way together.
func (in *slab) runAlone() {
	work := in.M * in.N * in.K
	long := work > glanced || in.sharer // who has to leave, too
	if long {
		defer in.leave()
		in.turn.Begin()
	}
	in.run(0, in.N)
	switch {
	case long:
		in.turn.Look()
	case work > blind:
		spin.Glance(uint64(glanceCall + work/glanceEach))
	}
}

const (
	// Most multiply-adds of a product that does not look at the clock, which takes a tenth as long: it is no more
	// assembly than Go, like any loop of its caller's. And of one that looks only once.
	blind   = 1 << 9
	glanced = 1 << 12
	// The ticks that one takes, and of how many multiply-adds each one more: rather too many, with which it gives way a
	// few times in a row, than too few, with which it misses most of its turns (docs/findings/preemption.md).
	glanceCall = 400
	glanceEach = 4
)

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
