package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
)

// A group is some panels of B that one worker packs and multiplies, while they
// are in its cache, by rows of A that are packed already.
type group struct {
	row, rows  int            // in C
	from, to   int            // columns of C
	k0, n      int            // elements of K
	a          unsafe.Pointer // panels
	b          unsafe.Pointer // memory for the panels of B, unless B is packed
	acc, sum   unsafe.Pointer // accumulators, strip after strip; the same of the chains before, or nil
	stripBytes int            // from one strip to the next
	fuse       asm.FuseFunc   // or nil
	ph         phase
	next, then feed // to bring closer: what is packed next, what is copied
	call       int  // of then
}

// fuses returns the kernel that packs B while it multiplies it, or nil.
func (p *product) fuses() asm.FuseFunc {
	if p.ready() || p.b.trans || p.splitK > 1 {
		return nil
	}
	return p.kernel.Fuse(p.b.elem)
}

// multiplyGroup multiplies a group.
func (p *product) multiplyGroup(g *group) {
	k := p.kernel
	words := p.words(g.n)
	b, panelB := g.b, k.PanelB(words)
	fused := 0 // panels
	if p.ready() {
		b = p.packed.at(g.k0, g.from)
	} else {
		if g.fuse != nil && g.n%k.KPack == 0 {
			fused = (g.to - g.from) / k.NR
			p.fuse(g, fused)
		}
		if col := g.from + fused*k.NR; col < g.to {
			p.packB(unsafe.Add(b, fused*panelB), g.k0, g.n, col, g.to)
		}
	}
	for j := 0; g.from+j*k.NR < g.to; j++ {
		col := g.from + j*k.NR
		s := strip{
			row: g.row, col: col, rows: g.rows, cols: min(k.NR, g.to-col),
			acc:  unsafe.Add(g.acc, j*g.stripBytes),
			next: g.next.share(j), then: g.then.share(g.call + j),
		}
		s.sum = forward(g.sum, j*g.stripBytes)
		a := g.a
		if j < fused {
			// The first panel of A has been multiplied.
			if g.ph.last {
				p.epilogue(s.acc, s.row, col, min(k.MR, s.rows), k.NR)
			}
			if s.row, s.rows = s.row+k.MR, s.rows-k.MR; s.rows <= 0 {
				continue
			}
			s.acc, a = unsafe.Add(s.acc, k.MR*k.NR*4), unsafe.Add(a, k.PanelA(words))
		}
		p.multiply(&s, words, a, unsafe.Add(b, j*panelB), g.ph)
	}
}

// fuseRows is how many rows of K are taken through several panels before the
// next: each lies on a page of its own, and a TLB holds few.
const fuseRows = 64

// fuse packs whole panels of a group and adds their products with the first
// panel of A to the accumulators.
func (p *product) fuse(g *group, panels int) {
	k := p.kernel
	pitch, panelB := k.NR*4, k.PanelB(g.n/k.KPack)
	rows := fuseRows
	if panels == 1 {
		rows = g.n
	}
	for at := 0; at < g.n; at += rows {
		word := at / k.KPack
		for j := range panels {
			dst := unsafe.Add(g.acc, j*g.stripBytes)
			src := dst
			if g.ph.first && at == 0 {
				src = nil
			}
			b, stride := p.rowsB(g.k0, at, g.from+j*k.NR)
			g.fuse(min(rows, g.n-at), unsafe.Add(g.a, word*k.MR*4), b, stride,
				unsafe.Add(g.b, j*panelB+word*pitch), src, pitch, dst, pitch)
		}
	}
}
