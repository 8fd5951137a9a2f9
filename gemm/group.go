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
	b          unsafe.Pointer // memory for the panels of B, unless B is packed
	acc, chain unsafe.Pointer // accumulators, strip after strip; the same of an unfinished block, or nil
	stripBytes int            // from one strip to the next
	ph         phase
}

// multiplyGroup multiplies a group.
func (p *product) multiplyGroup(g *group, t *spin.Turn) {
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
			acc: unsafe.Add(g.acc, j*g.stripBytes), chain: forward(g.chain, j*g.stripBytes),
		}
		p.multiply(&s, words, g.a, unsafe.Add(b, j*panelB), g.ph)
		t.Did(flopsOf(g.rows, s.cols, g.n))
	}
}

// computeBare multiplies the columns from .. to-1 of the tile that begins at col,
// whose B is not in the ring, a panel or a group at a time if it has to be packed.
func (r *ring) computeBare(g *group, t *spin.Turn, col, from, to, slabAt int) {
	nr := r.kernel.NR
	width := to - from
	if r.g.b == packedB {
		width = r.g.group * nr
		s := scratches.Get().(*scratch)
		defer scratches.Put(s)
		g.b = s.at()
	}
	for j := from; j < to; j += width {
		end := min(j+width, to)
		stripAt := slabAt + r.stripOf(from, j)
		g.stripBytes = r.stripOf(0, nr)
		g.from, g.to, g.acc, g.chain = col+j, col+end, unsafe.Add(r.acc, stripAt), forward(r.chain, stripAt)
		r.multiplyGroup(g, t)
	}
}
