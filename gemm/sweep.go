package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
)

// A sweep is the panels of B that a worker packs for itself and multiplies, one
// after the other. Each is packed while the one before is multiplied: what waits
// for memory then waits behind products.
type sweep struct {
	mem    unsafe.Pointer // for two panels, in turns
	turn   int            // the one to be multiplied next
	packed bool           // it is there
}

const (
	sweepBytes  = 2 * panelBytes // of scratch memory for panels
	sweepPanels = 16             // most panels of a block of K before the next
	// Words of K in a panel of 16-bit elements, and of others: of rows far apart a TLB
	// and a cache with few ways do not keep more.
	freshWords = 128
	freshLong  = 96
	// Tiles from which those that do not pack have the time to bring the next
	// panel closer, a little at a time.
	restTiles = 8
)

// A piece is a part of B that fills a panel: n elements of K of cols columns.
type piece struct{ k0, n, col, cols int }

// packs reports whether workers pack B for themselves in sweeps.
func (p *product) packs() bool {
	return !p.ready() && !p.b.trans && p.kernel.Packs(p.b.elem)
}

// reach returns how many pieces after the one that is multiplied to bring closer:
// those that share a chunk come together.
func (p *product) reach() int {
	return 1 + asm.AheadChunk/(p.kernel.NR*p.b.elem.Size())
}

// panel returns the panel of now, and makes the products of s pack that of next
// and bring later closer.
func (w *sweep) panel(p *product, now, next, later piece, s *strip) unsafe.Pointer {
	b := unsafe.Add(w.mem, w.turn*panelBytes)
	if !w.packed {
		p.packB(b, now.k0, now.n, now.col, now.col+now.cols)
	}
	w.turn ^= 1
	w.packed = next.n > 0 && next.cols == p.kernel.NR && next.n%p.kernel.KPack == 0
	if !w.packed {
		return b
	}
	s.pack.K, s.pack.Panel = next.n, unsafe.Add(w.mem, w.turn*panelBytes)
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
	return b
}

// freshDepth returns the elements of K in a panel that is packed just before it
// is multiplied.
func (p *product) freshDepth() int {
	words := freshWords
	if p.b.elem.Size() > 2 {
		words = freshLong
	}
	return min(p.panelDepth(), words*p.kernel.KPack)
}

// chunks returns the memory of a piece, or of its share of what it has in common with the one
// before.
func (p *product) chunks(b piece) asm.Ahead {
	nr, size := p.kernel.NR, p.b.elem.Size()
	if b.n == 0 {
		return asm.Ahead{}
	}
	if p.b.packed {
		at, pitch := p.rowsB(b.k0, 0, b.col)
		return asm.Ahead{Base: at, Pitch: asm.AheadChunk, Rows: ceilDiv(b.n*pitch, asm.AheadChunk), Chunks: 1}
	}
	if 2*nr*size <= asm.AheadChunk {
		if b.n /= 2; b.col/nr%2 == 1 {
			b.k0 += b.n
			b.col -= nr
		}
	}
	at, pitch := p.rowsB(b.k0, 0, b.col)
	return asm.Ahead{Base: at, Pitch: pitch, Rows: b.n, Chunks: 1}
}
