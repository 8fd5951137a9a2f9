package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/internal/spin"
)

// sweep multiplies those columns of a step that are in whole pieces, and leaves the others in g; K may go on after the
// step. The kernel packs a piece of B and multiplies it before the next, so few elements of K deep that all columns go
// by before the next of K. What they have as accumulators is to stay in a second-level cache.
func (cp *columnProgram) sweep(s *asm.Sweep, g *group, t *spin.Turn, goesOn bool) {
	from, end := g.from, g.from+(g.to-g.from)/asm.SweepN*asm.SweepN
	if g.n < asm.SweepK || end == from {
		return
	}
	k, ph := cp.Kernel, cp.phaseAt(g.k0, g.n)
	at := func(sums unsafe.Pointer, col int) unsafe.Pointer {
		return unsafe.Add(sums, (col-from)/k.NR*g.stripBytes)
	}
	sums := g.sums.at
	if ph.added {
		sums = g.chain
	}
	s.A, s.First = g.a.at, ph.begins
	most := max(1, plan.CallLimit(k)/(2*plan.RoundUp(cp.M, k.MR)*asm.SweepN*asm.SweepK)) * asm.SweepN
	for col := from; col < end; col += most {
		s.B, s.N, s.Acc, s.Next = cp.b.at(g.k0, col), min(most, end-col), at(sums, col), nil
		switch {
		case col+most < end:
			s.Next = cp.b.at(g.k0, col+most)
		case goesOn && g.k0+2*asm.SweepK <= cp.K:
			s.Next = cp.b.at(g.k0+asm.SweepK, from)
		}
		k.Sweep(s)
		t.Did(plan.FlopsOf(cp.M, s.N, g.n))
	}
	for col := from; col < end && ph.ends; col += k.NR {
		if ph.added {
			asm.Combine(k.Sum, at(g.sums.at, col), k.NR*k.Word, at(g.chain, col), k.NR*k.Word, cp.M, k.NR, 1, 1)
		}
		if ph.last {
			cp.epilogue(lines{at(g.sums.at, col), k.NR * k.Word}, 0, col, cp.M, k.NR)
		}
	}
	if g.from = end; end < g.to { // nothing need lie after the last
		g.sums.at, g.chain = at(g.sums.at, end), at(g.chain, end)
	}
}
