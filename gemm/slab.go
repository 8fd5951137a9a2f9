package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/spin"
	"example.com/leafhopper/tile"
)

// A slab is a product, or some of its rows, that one goroutine computes by a plan without a ring: one panel of B
// after the other is packed, unless B is, and multiplied by all of A.
type slab struct {
	product
	g        *Plan
	unpacked *asm.Unpacked // if nothing is to be packed
	room     room          // in scratch memory
	turn     spin.Turn     // of the goroutine that computes
}

// layout lays out the slab, for so many columns at a time.
func (in *slab) layout(g *Plan, cols int) {
	in.g, in.past = g, g.past
	if g.b == unpackedB {
		in.unpacked = in.kernel.Unpacked(in.elem)
	}
	if g.b != dotsOfB {
		in.room, _ = in.problem.room(g, in.m, cols)
	}
}

// dots reports whether it is dot products.
func (in *slab) dots() bool { return in.g.b == dotsOfB }

// run computes the columns from .. to-1.
func (in *slab) run(from, to int) {
	switch {
	case in.unpacked != nil:
		in.runUnpacked(from, to)
	case in.dots():
		in.runDots()
	case in.g.b == streamedB:
		in.runFewRows(from, to)
	default:
		in.runPanels(from, to)
	}
}

// runPanels computes the columns from .. to-1, for a block of K after the other.
func (in *slab) runPanels(from, to int) {
	var s *scratch
	var b unsafe.Pointer
	pitch := in.kernel.NR * 4
	g := group{strip: strip{rows: in.m}, from: from, to: to, stripBytes: pitch}
	sums := lines{in.c.at(0, from), in.c.pitch()}
	if in.room != (room{}) {
		s = scratches.Get().(*scratch)
		g.a.at = s.at()
		b = unsafe.Add(g.a.at, roundUp(in.room.a, tile.SlotAlign))
		if in.room.acc > 0 {
			sums, g.stripBytes = lines{unsafe.Add(b, roundUp(in.room.b, tile.SlotAlign)), pitch}, 0
			if in.g.depth < in.k {
				g.stripBytes = in.room.acc
			}
		}
	}
	for g.k0 = 0; g.k0 < in.k; g.k0 += in.g.depth {
		g.n = min(in.g.depth, in.k-g.k0)
		if in.g.a == rowsOfA {
			g.a.at, g.a.lda = in.a.at(0, g.k0), in.a.pitch()
		} else {
			in.kernel.PackA(in.a.elem, !in.a.trans)(g.a.at, in.a.at(0, g.k0), in.a.pitch(), in.m, g.n)
		}
		g.sums = sums
		in.fetch(&g, b, in.g.group*in.kernel.NR)
		in.multiplyGroup(&g, &in.turn)
	}
	if s != nil {
		scratches.Put(s)
	}
}
