package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/plan"
)

// A behind packs the panels of B that a worker multiplies for itself, of some columns and steps of K. Each is packed
// while the one before is multiplied: what waits for memory then waits behind products.
type behind struct {
	*product
	from, to   int            // columns
	step, last int            // of K: the first and the one after the last
	memory     unsafe.Pointer // for two panels
	at         int            // the panel to be multiplied next,
	done       int            // and the elements of K of it that are packed
}

// A panelOfB is what fills a panel: n elements of K of cols columns.
type panelOfB struct {
	k0, n, col, cols int
	at               unsafe.Pointer // where to pack it: not over the one before
}

// panel returns panel i, or nothing if that comes after the last.
func (w *behind) panel(i int) panelOfB {
	nr := w.Kernel.NR
	panels := plan.CeilDiv(w.to-w.from, nr)
	step := w.step + i/panels
	if step >= w.last {
		return panelOfB{}
	}
	k0, n := w.ColumnStep(w.plan, step)
	col := w.from + i%panels*nr
	return panelOfB{k0, n, col, min(nr, w.to-col), unsafe.Add(w.memory, i%2*w.BehindBytes(w.plan)/2)}
}

// sharesChunks reports whether rows of K of two panels fit a chunk.
func (p *product) sharesChunks() bool {
	return !p.b.packed && !p.b.trans && 2*p.Kernel.NR*p.b.elem.Size() <= asm.PackChunk
}

// next completes the panel to be multiplied next, and says how its products pack the one after it and bring a later
// one closer.
func (w *behind) next() (panel unsafe.Pointer, ahead asm.Packing) {
	k, b, now, next, later := w.Kernel, &w.b, w.panel(w.at), w.panel(w.at+1), w.panel(w.at+2)
	if w.sharesChunks() { // which come together
		later = w.panel(w.at + 3)
	}
	if rest := now.n - w.done; rest > 0 {
		w.packB(unsafe.Add(now.at, w.done/k.KPack*k.NR*k.Word), now.k0, w.done, rest, now.col, now.col+now.cols)
	}
	w.at, w.done = w.at+1, 0
	if next.cols == k.NR {
		w.done = next.n - next.n%k.PackDepth(b.elem, b.trans)
	}
	if w.done == 0 {
		return now.at, ahead
	}
	ahead = asm.Packing{K: w.done, KContiguous: b.trans, Panel: next.at}
	ahead.B, ahead.Stride = w.rowsB(next.k0, 0, next.col)
	ahead.Next, ahead.Pitch = ahead.B, ahead.Stride // which is near already
	if later.n > 0 {
		ahead.Next, ahead.Pitch = w.chunks(later)
	}
	return now.at, ahead
}

// chunks returns the first chunk of a panel, or of its share of what it has in common with the one before, and the
// bytes to the next. Where its rows do not begin with a line of the cache, the first line has been brought with the
// panel before it, and it brings the line in which they end.
func (p *product) chunks(b panelOfB) (at unsafe.Pointer, pitch int) {
	at, pitch = p.rowsB(b.k0, 0, b.col)
	size, row := p.b.elem.Size(), b.cols
	switch {
	case p.b.packed:
		return at, asm.PackChunk
	case p.b.trans:
		row = b.n
	case p.sharesChunks() && b.cols == p.Kernel.NR && b.col/p.Kernel.NR%2 == 1:
		// The panel before has brought one half, and this one brings the other.
		at, _ = p.rowsB(b.k0, b.n/2, b.col-p.Kernel.NR)
	}
	return unsafe.Add(at, min(plan.LineBytes, row*size)-1), pitch
}
