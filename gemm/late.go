package gemm

import "unsafe"

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
	ph         phase
	next, then feed // to bring closer: what is packed next, what is copied
	call       int  // of then
}

// multiplyGroup multiplies a group.
func (p *product) multiplyGroup(g *group) {
	k := p.kernel
	words := p.words(g.n)
	b, panelB := g.b, k.PanelB(words)
	if p.ready() {
		b = p.packed.at(g.k0, g.from)
	} else {
		p.packB(b, g.k0, g.n, g.from, g.to)
	}
	for j := 0; g.from+j*k.NR < g.to; j++ {
		col := g.from + j*k.NR
		s := strip{
			row: g.row, col: col, rows: g.rows, cols: min(k.NR, g.to-col),
			acc:  unsafe.Add(g.acc, j*g.stripBytes),
			next: g.next.share(j), then: g.then.share(g.call + j),
		}
		s.sum = forward(g.sum, j*g.stripBytes)
		p.multiply(&s, words, g.a, unsafe.Add(b, j*panelB), g.ph)
	}
}
