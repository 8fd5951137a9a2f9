package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
)

// A behind packs panels of B that a worker multiplies for itself, one
// after the other. Each is packed while the one before is multiplied: what waits
// for memory then waits behind products.
type behind struct {
	packed int // elements of K that are there, of the panel to be multiplied next
}

// A piece is a part of B that fills a panel: n elements of K of cols columns.
type piece struct {
	k0, n, col, cols int
	panel            unsafe.Pointer // where to pack it: not over that of the piece before
}

// reach returns how many pieces after the one that is multiplied to bring closer:
// those that share a chunk come together.
func (p *product) reach() int {
	if p.sharesChunks() {
		return 3
	}
	return 2
}

// sharesChunks reports whether rows of K of two pieces fit a chunk.
func (p *product) sharesChunks() bool {
	return !p.b.packed && !p.b.trans && 2*p.kernel.NR*p.b.elem.Size() <= asm.PackChunk
}

// pack completes the panel of now, and returns how the products of now pack that of next and bring later closer.
func (w *behind) pack(p *product, now, next, later piece) (ahead asm.Packing) {
	k := p.kernel
	if rest := now.n - w.packed; rest > 0 {
		if p.b.packed {
			now.cols = k.NR
		}
		from, stride := p.rowsB(now.k0, w.packed, now.col)
		k.PackB(p.b.elem, p.b.trans)(unsafe.Add(now.panel, w.packed/k.KPack*k.NR*4), from, stride, now.cols, rest)
	}
	w.packed = 0
	if next.cols == k.NR {
		w.packed = next.n - next.n%k.PackDepth(p.b.elem, p.b.trans)
	}
	if w.packed == 0 {
		return ahead
	}
	ahead = asm.Packing{K: w.packed, KContiguous: p.b.trans, Panel: next.panel}
	ahead.B, ahead.Stride = p.rowsB(next.k0, 0, next.col)
	ahead.Next, ahead.Pitch = ahead.B, ahead.Stride // which is near already
	if later.n > 0 {
		ahead.Next, ahead.Pitch = p.chunks(later)
	}
	return ahead
}

// chunks returns the first chunk of a piece, or of its share of what it has in common
// with the one before, and the bytes to the next. Where its rows do not begin with a line of the
// cache, the first line has been brought with the piece before it, and it brings the line in
// which they end.
func (p *product) chunks(b piece) (at unsafe.Pointer, pitch int) {
	at, pitch = p.rowsB(b.k0, 0, b.col)
	size, row := p.b.elem.Size(), b.cols
	switch {
	case p.b.packed:
		return at, asm.PackChunk
	case p.b.trans:
		row = b.n
	case p.sharesChunks() && b.cols == p.kernel.NR && b.col/p.kernel.NR%2 == 1:
		// The piece before has brought one half, and this one brings the other.
		at, _ = p.rowsB(b.k0, b.n/2, b.col-p.kernel.NR)
	}
	return unsafe.Add(at, min(lineBytes, row*size)-1), pitch
}
