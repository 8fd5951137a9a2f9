package gemm

import (
	"unsafe"

	"example.com/leafhopper/internal/spin"
)

// A group is some panels of B that one worker packs and multiplies, while they
// are in its cache, by rows of A that are packed already.
type group struct {
	row, rows  int            // in C
	from, to   int            // columns of C
	k0, n      int            // elements of K
	a          unsafe.Pointer // panels
	b          unsafe.Pointer // memory for the panels of B, unless B is packed,
	there      bool           // or they are there
	acc, chain unsafe.Pointer // accumulators, strip after strip; the same of an unfinished block, or nil
	stripBytes int            // from one strip to the next
	ph         phase
	next, then feed // to bring closer: what is packed next, what is copied
	call       int  // of then
}

// multiplyGroup multiplies a group.
func (p *product) multiplyGroup(g *group, t *spin.Turn) {
	k := p.kernel
	words := p.words(g.n)
	b, panelB := g.b, k.PanelB(words)
	switch {
	case p.ready():
		b = p.packed.at(g.k0, g.from)
	case !g.there:
		p.packB(b, g.k0, g.n, g.from, g.to)
	}
	for j := 0; g.from+j*k.NR < g.to; j++ {
		col := g.from + j*k.NR
		s := strip{
			row: g.row, col: col, rows: g.rows, cols: min(k.NR, g.to-col),
			acc:  unsafe.Add(g.acc, j*g.stripBytes),
			next: g.next.share(j), then: g.then.share(g.call + j),
		}
		s.chain = forward(g.chain, j*g.stripBytes)
		p.multiply(&s, words, g.a, unsafe.Add(b, j*panelB), g.ph)
		t.Did(flopsOf(g.rows, s.cols, g.n))
	}
}

// computeBare multiplies the columns from .. to-1 of the tile that begins at col,
// whose B is not in the ring, a panel or a group at a time if it has to be packed.
func (r *ring) computeBare(g *group, t *spin.Turn, col, from, to, slabAt int) {
	nr := r.kernel.NR
	width := to - from
	if !r.ready() && !g.there {
		width = nr
		if r.starves() {
			width = bareGroup * nr
			if g.rows > bareRows {
				width /= 2
			}
		}
	}
	if !r.ready() && !r.keeps {
		s := scratches.Get().(*scratch)
		defer scratches.Put(s)
		g.b = s.at()
	}
	for j := from; j < to; j += width {
		end := min(j+width, to)
		panels := ceilDiv(end-j, nr)
		stripAt := slabAt + r.stripOf(from, j)
		g.stripBytes = r.stripOf(0, nr)
		g.from, g.to, g.acc, g.chain = col+j, col+end, unsafe.Add(r.acc, stripAt), forward(r.chain, stripAt)
		if r.keeps {
			g.b = r.keptAt(g.k0, j)
		}
		switch next := j + nr; {
		case next >= to:
			g.next = feed{}
		case g.there:
			g.next = feedOf(line(r.keptAt(g.k0, next), (panels-1)*r.kernel.PanelB(r.words(g.n))), panels-1)
		default:
			g.next = feedOf(r.reads(col+next, col+min(end+nr, to), g.k0, g.n), max(1, panels-1))
		}
		r.multiplyGroup(g, t)
		g.call += panels
	}
}

// computeSwept is computeBare for a worker that packs behind its products.
func (r *ring) computeSwept(g *group, t *spin.Turn, col, from, to, slabAt int) {
	nr := r.kernel.NR
	var w sweep
	var mem unsafe.Pointer
	if !r.keeps {
		s := scratches.Get().(*scratch)
		defer scratches.Put(s)
		mem = s.at()
	}
	at := func(j int) piece {
		if j >= to {
			return piece{}
		}
		panel := forward(mem, (j-from)/nr%2*r.kernel.PanelB(r.words(r.bk)))
		if r.keeps {
			panel = r.keptAt(g.k0, j)
		}
		return piece{g.k0, g.n, col + j, min(nr, to-j), panel}
	}
	words, reach := r.words(g.n), r.reach()*nr
	for j := from; j < to; j += nr {
		now, stripAt := at(j), slabAt+r.stripOf(from, j)
		s := strip{
			row: g.row, col: now.col, rows: g.rows, cols: now.cols,
			acc: unsafe.Add(r.acc, stripAt), chain: forward(r.chain, stripAt), then: g.then.share(g.call + (j-from)/nr),
		}
		w.pack(&r.product, now, at(j+nr), at(j+reach), &s)
		r.multiply(&s, words, g.a, now.panel, g.ph)
		t.Did(flopsOf(g.rows, now.cols, g.n))
	}
}
