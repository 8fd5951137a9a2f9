package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/internal/spin"
)

// A strip is a part of C one panel of B wide, and some elements of K by which to multiply it.
type strip struct {
	row, col, rows, cols int
	words                int            // of K
	a                    lines          // rows of A, or panels if their pitch is 0
	b                    unsafe.Pointer // a panel
	sums                 lines          // where they wait for more of K
	chain                unsafe.Pointer // the same of a block of K of several steps, after the first, NR to a row
	pack                 asm.Packing    // of the next panel of B, if its K is not 0
}

// A way is how a kernel multiplies.
type way uint8

const (
	byTiles   way = iota // which may be larger than what is left of the strip
	byEdge               // rows and columns that are less than a tile
	byPacking            // by tiles, and the next panel is packed meanwhile
)

// multiply multiplies the tiles of A by the panel of B. The sums of a whole block of K are added to those before;
// those of a part go on with its chain, which is added to them where the block ends. The last result goes to C, at
// once if kernels can store it there.
func (p *product) multiply(s *strip, ph phase, t *spin.Turn) {
	k := p.Kernel
	c := lines{p.c.at(s.row, s.col), p.c.pitch()}
	src, lds, dst, adds := p.places(ph, s.sums, lines{s.chain, k.NR * k.Word})
	final := ph.last && !ph.apart()
	direct, rounds := final && (p.Direct() || p.finishesInC), final && p.Rounds()
	stores := p.Kernel.Stores(p.c.elem)
	if p.past && !p.finishesInC {
		stores |= asm.StorePast
	}
	// Bytes of A between tiles, and between rows and words of one.
	tile, lda, step := k.PanelA(s.words), k.Word, k.MR*k.Word
	if s.a.pitch != 0 {
		tile, lda, step = k.MR*s.a.pitch, s.a.pitch, k.Word
	}
	a := s.a.at
	for row := 0; row < s.rows; {
		n, how := p.next(s, s.rows-row)
		rows := min(n*k.MR, s.rows-row)
		fits := rows == n*k.MR && s.cols == k.NR
		inC := direct && (fits || how == byEdge) || rounds && fits && how == byTiles
		to, from := dst, src.row(row)
		if inC {
			to = c
		}
		at, over := to.row(row), 0 // rows of the tile that those before have, too
		switch how {
		case byEdge:
			k.Edge()(rows, s.cols, s.words, a, lda, step, tile, s.b, from, lds, at, to.pitch)
		case byPacking:
			k.MulPack(p.b.elem, s.words, n, a, s.b, from, lds, at, to.pitch, &s.pack)
			s.pack.K = 0
		default:
			if s.a.pitch != 0 {
				over = n*k.MR - rows
			}
			store := stores
			if !inC || from == at { // a dst that is read
				store = 0
			}
			k.Strip(s.words, n, unsafe.Add(a, -over*lda), s.b, from, lds, at, to.pitch, s.a.pitch, store)
		}
		if adds {
			asm.Combine(k.Sum, s.sums.row(row), s.sums.pitch, at, to.pitch, rows, k.NR, 1, 1)
		}
		switch {
		case inC && p.finishesInC:
			p.complete(at, lines{at, to.pitch}, lines{at, to.pitch}, rows, s.cols)
		case ph.last && !inC:
			p.epilogue(lines{s.sums.row(row + over), k.NR * k.Word}, s.row+row, s.col, rows, s.cols)
		}
		t.Did(n * plan.TileFlops(k, s.words)) // also of what C lacks to whole tiles
		if row += rows; row < s.rows {
			a = unsafe.Add(a, n*tile) // nothing lies after the last tile
		}
	}
}

// next returns how many tiles a kernel is to multiply in a call, which cannot be preempted, where so many rows of the
// strip are left.
func (p *product) next(s *strip, rows int) (tiles int, how way) {
	k := p.Kernel
	whole := rows / k.MR
	switch {
	case s.pack.K > 0:
		return min(plan.CeilDiv(rows, k.MR), plan.CeilDiv(s.pack.K/k.KPack*asm.PackSteps, s.words)), byPacking
	case k.Edge() != nil && (whole == 0 || s.cols < k.NR):
		whole, how = plan.CeilDiv(rows, k.MR), byEdge
	}
	if p.finishesInC {
		whole = min(whole, finishRows/k.MR)
	}
	if flops := plan.TileFlops(k, s.words); whole*flops > plan.CallLimit(k) {
		whole = plan.CallLimit(k) / flops
	}
	return max(1, whole), how
}

// A group is rows of A by some columns of B, for some elements of K: a strip that moves on.
type group struct {
	strip              // the first, but for its columns and words
	from, to   int     // columns
	k0, n      int     // elements of K
	packs      int     // columns of B that are packed to b at a time, or 0 if they are there
	behind     *behind // what packs them behind products, or nil
	stripBytes int     // from one strip's sums, and chain, to the next's
}

// fetch says where a group finds B: it is packed, or will be in memory at b, so many columns at a time.
func (p *product) fetch(g *group, b unsafe.Pointer, columns int) {
	if p.Ready() {
		g.b, g.packs = p.panelB(g.k0, g.from), 0
	} else {
		g.b, g.packs = b, columns
	}
}

// multiplyGroup multiplies a group, strip by strip.
func (p *product) multiplyGroup(g *group, t *spin.Turn) {
	k, s, ph := p.Kernel, &g.strip, p.phaseAt(g.k0, g.n)
	s.words = p.Words(g.n)
	panels, packed := s.b, g.from // the columns before are
	for col := g.from; col < g.to; col += k.NR {
		if col > g.from { // nothing need lie after the last
			s.b, s.sums.at = unsafe.Add(s.b, k.PanelB(s.words)), unsafe.Add(s.sums.at, g.stripBytes)
			s.chain = forward(s.chain, g.stripBytes)
		}
		s.col, s.cols = col, min(k.NR, g.to-col)
		switch {
		case g.behind != nil:
			s.b, s.pack = g.behind.next()
		case g.packs > 0 && col == packed:
			packed = min(col+g.packs, g.to)
			s.b = panels
			p.packB(panels, g.k0, 0, g.n, col, packed)
		}
		p.multiply(s, ph, t)
	}
}

// finishRows is how many rows of C kernels store at most before they are completed: caches keep so many, though they
// are a power of two apart.
const finishRows = 32
