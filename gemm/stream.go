package gemm

import (
	"unsafe"

	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/internal/spin"
)

// callBytes are the bytes of B that a kernel reads in a call, a hundred microseconds or two from memory.
const callBytes = 8 << 20

// runFewRows computes the columns from .. to-1 of so few rows that they are one panel. Beside the columns of other
// workers their sums had better not be added to in C, see computeStreamed.
func (in *slab) runFewRows(from, to int) {
	k, cols, depth := in.Kernel, to-from, in.StageK()
	s := scratches.Get().(*scratch)
	a := stepsOfA{s.at(), k.PanelA(in.Words(depth)), depth}
	k.PackA(in.a.elem, !in.a.trans)(a.at, in.a.ptr, in.a.pitch(), in.M, in.K)
	sums := lines{in.c.at(0, from), in.c.pitch()}
	inC := in.Direct() && cols == in.N
	if !inC {
		sums = lines{unsafe.Add(a.at, plan.ScratchBytes/2), cols * k.Word} // the other half is A's
	}
	in.streamSteps(a, 0, plan.CeilDiv(in.K, depth), from, cols, sums, false, &in.turn)
	if !inC {
		in.epilogue(sums, 0, from, in.M, cols)
	}
	scratches.Put(s)
}

// stepsOfA are the panels of A, a step of K after the other.
type stepsOfA struct {
	at    unsafe.Pointer
	apart int // bytes from one step to the next
	depth int // elements of K in a step
}

// streamSteps multiplies some steps of A by n columns of B from col on, and adds to sums, or sets them first: at
// once, or, if A fills more than a panel, by as many as a panel of B has after the other.
func (p *product) streamSteps(a stepsOfA, from, to, col, n int, sums lines, add bool, t *spin.Turn) {
	k0, end := from*a.depth, min(to*a.depth, p.K)
	deep, width := a.depth, n // of a call, which is not more of B than is read in one turn
	nr, size := p.Kernel.NR, p.b.elem.Size()
	switch {
	case p.b.packed && p.M > p.Kernel.MR:
		width = nr
	case p.b.packed:
	case p.b.trans: // rows along K, which are read fastest to their ends
		if p.M <= p.Kernel.MR { // steps of panels of A lie one after the other
			deep = min(end-k0, deep*max(1, callBytes/(deep*nr*size)))
		}
		width = max(1, callBytes/(deep*nr*size)) * nr
	default: // steps of K that lie one after the other
		deep *= max(1, callBytes/(deep*n*size))
	}
	for ; k0 < end; k0 += deep {
		for j := 0; j < n; j += width {
			at := lines{unsafe.Add(sums.at, j*p.Kernel.Word), sums.pitch}
			panels := unsafe.Add(a.at, k0/a.depth*a.apart)
			p.streamPanel(panels, k0, min(deep, end-k0), col+j, min(width, n-j), at, add, t)
		}
		add = true
	}
}

// streamPanel multiplies all of A by n columns of B: where B is packed and A fills more than a panel, by those of a
// panel. The kernel for the first panel of A reads B from memory as fast as it can, and leaves it in a cache for more.
func (p *product) streamPanel(a unsafe.Pointer, k0, depth, col, n int, sums lines, add bool, t *spin.Turn) {
	k, words := p.Kernel, p.Words(depth)
	if !p.b.packed {
		stream := k.Stream(p.b.elem, p.b.trans)
		stream(depth, p.M, n, a, p.b.at(k0, col), p.b.pitch(), sums.at, sums.pitch, add)
		t.Did(plan.FlopsOf(p.M, n, depth))
		return
	}
	for row := 0; row < p.M; row += k.MR {
		if row > 0 { // nothing need lie after the last
			a, sums.at = unsafe.Add(a, k.PanelA(words)), sums.row(k.MR)
			if p.Ready() && k.Edge() != nil {
				s := strip{col: col, rows: p.M - row, cols: n, words: words, a: lines{at: a}, sums: sums}
				s.b = p.panelB(k0, col)
				p.multiply(&s, phase{begins: true, ends: true, added: add}, t)
				return
			}
		}
		rows := min(k.MR, p.M-row)
		panels := k.StreamPanels(p.b.elem)
		panels(words, rows, n, a, p.panelB(k0, col), p.b.panelPitch(p.first+k0), sums.at, sums.pitch, add)
		t.Did(plan.FlopsOf(rows, n, depth))
	}
}
