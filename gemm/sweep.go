package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
)

// A sweep is the panels of B that a worker packs for itself and multiplies, one
// after the other. Each is packed while the one before is multiplied: what waits
// for memory then waits behind products.
type sweep struct {
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
	return !p.b.packed && !p.b.trans && 2*p.kernel.NR*p.b.elem.Size() <= asm.AheadChunk
}

// pack completes the panel of now, and makes the products of s pack that of next
// and bring later closer.
func (w *sweep) pack(p *product, now, next, later piece, s *strip) {
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
		s.next = p.chunks(next)
		return
	}
	s.pack.K, s.pack.KContiguous, s.pack.Panel = w.packed, p.b.trans, next.panel
	s.pack.B, s.pack.Stride = p.rowsB(next.k0, 0, next.col)
	ahead := p.chunks(later)
	if s.rows >= restTiles*p.kernel.MR {
		s.next = ahead
		ahead.Rows = 0
	}
	if ahead.Rows == 0 {
		ahead.Base, ahead.Pitch = s.pack.B, s.pack.Stride // which is near already
	}
	s.pack.Next, s.pack.Pitch = ahead.Base, ahead.Pitch
}

// chunks returns the memory of a piece, or of its share of what it has in common
// with the one before. Where its rows do not begin with a line of the cache, the
// first line has been brought with the piece before it, and it brings the line in
// which they end.
func (p *product) chunks(b piece) asm.Ahead {
	if b.n == 0 {
		return asm.Ahead{}
	}
	at, pitch := p.rowsB(b.k0, 0, b.col)
	size := p.b.elem.Size()
	switch {
	case p.b.packed:
		return asm.Ahead{Base: at, Pitch: asm.AheadChunk, Rows: ceilDiv(b.n*pitch, asm.AheadChunk), Chunks: 1}
	case p.b.trans:
		at = unsafe.Add(at, min(lineBytes, b.n*size)-1)
		return asm.Ahead{Base: at, Pitch: pitch, Rows: b.cols, Chunks: ceilDiv(b.n*size, asm.AheadChunk)}
	case p.sharesChunks() && b.cols == p.kernel.NR:
		// The piece before has brought one half, or this one does.
		b.n /= 2
		if b.col/p.kernel.NR%2 == 1 {
			at, _ = p.rowsB(b.k0, b.n, b.col-p.kernel.NR)
		}
	}
	return asm.Ahead{Base: unsafe.Add(at, min(lineBytes, b.cols*size)-1), Pitch: pitch, Rows: b.n, Chunks: 1}
}
