package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/internal/spin"
	"example.com/leafhopper/tile"
)

// A slab is a product, or some of its rows, that one goroutine computes by a plan without a ring: one panel of B
// after the other is packed, unless B is, and multiplied by all of A.
type slab struct {
	product
	g        *plan.Plan
	unpacked *asm.Unpacked // if nothing is to be packed
	room     plan.Room     // in scratch memory
	turn     spin.Turn     // of the goroutine that computes
}

// layout has the slab computed as g says.
func (in *slab) layout(g *plan.Plan) {
	in.g, in.past, in.room = g, g.Past, g.Room
	if g.B == plan.UnpackedB {
		in.unpacked = in.Kernel.Unpacked(in.Elem)
	}
}

// dots reports whether it is dot products.
func (in *slab) dots() bool { return in.g.B == plan.DotsOfB }

// runPanels computes the columns from .. to-1, for a block of K after the other.
func (in *slab) runPanels(from, to int) {
	var s *scratch
	var b unsafe.Pointer
	pitch := in.Kernel.NR * 4
	g := group{strip: strip{rows: in.M}, from: from, to: to, stripBytes: pitch}
	sums := lines{in.c.at(0, from), in.c.pitch()}
	if in.room != (plan.Room{}) {
		s = scratches.Get().(*scratch)
		g.a.at = s.at()
		b = unsafe.Add(g.a.at, plan.RoundUp(in.room.A, tile.SlotAlign))
		if in.room.Acc > 0 {
			sums, g.stripBytes = lines{unsafe.Add(b, plan.RoundUp(in.room.B, tile.SlotAlign)), pitch}, 0
			if in.g.Depth < in.K {
				g.stripBytes = in.room.Acc
			}
		}
	}
	for g.k0 = 0; g.k0 < in.K; g.k0 += in.g.Depth {
		g.n = min(in.g.Depth, in.K-g.k0)
		if in.g.A == plan.RowsOfA {
			g.a.at, g.a.lda = in.a.at(0, g.k0), in.a.pitch()
		} else {
			in.Kernel.PackA(in.a.elem, !in.a.trans)(g.a.at, in.a.at(0, g.k0), in.a.pitch(), in.M, g.n)
		}
		g.sums = sums
		in.fetch(&g, b, in.Kernel.NR)
		in.multiplyGroup(&g, &in.turn)
	}
	if s != nil {
		scratches.Put(s)
	}
}
