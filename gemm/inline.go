package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/spin"
	"example.com/leafhopper/tile"
)

// inlined is how a product, or a slab of one, is computed without a ring, on one
// goroutine: one panel of B after the other is packed, unless B is, and multiplied by
// all of A. Whether a product is computed so, its [inlined.route] says.
// A is read where it lies if the kernel can. Where its rows, or the columns of B, do
// not divide into tiles, the last ones are computed by the kernels for edges. If the
// kernel has none, the last tile overlaps the one before it, and what both compute is
// the same.
type inlined struct {
	product
	depth    int // elements of K at a time
	tilesA   int // tiles of A that are read where they lie, of which edges may be the last; 0 if A is packed
	rest     int // rows of A after them
	rows     asm.RowsFunc
	edge     asm.EdgeFunc  // or nil
	unpacked *asm.Unpacked // if nothing is to be packed
	dots     bool          // if it is few dot products, see dotted
	few      bool          // if the kernels that stream multiply, see fewRows
	whole    bool          // if whole tiles are all there is, see takesWholeTiles
	own      bool          // it is placed, and each worker fetches for itself what a small slab needs
	inC      bool          // sums are in C, also before they are complete
	group    int           // panels of B that are packed at once
	sizeA    int           // bytes of the panels of A in scratch memory
	sizeB    int           // bytes of the panels of B there
	turn     spin.Turn     // of the goroutine that computes
	accBytes int           // bytes of the accumulators of a strip there, of which there is one, or all if K has stages, or none
}

// bareGroup is how many panels of B are packed at once by a kernel that cannot
// pack one while it multiplies it: memory gives longer rows faster, and an L2
// cache still keeps them, beside bareRows of A; beside more it keeps half of them.
const (
	bareGroup = 8
	bareRows  = 128
	bareMin   = 1 << 16 // fewest elements of B; smaller ones come from a cache anyway
)

// init lays out the product, and reports whether the scratch memory is enough.
func (in *inlined) init() bool {
	in.unpacked = in.unpackedFor(1)
	in.few = in.unpacked == nil && in.fewRows()
	return in.layout(in.m, in.n)
}

// layout lays out the product for so many rows and columns of it at a time, and
// reports whether the scratch memory is enough for that.
func (in *inlined) layout(rows, cols int) bool {
	if in.unpacked != nil || in.few || in.dots {
		return true
	}
	p := &in.product
	k := p.kernel
	in.depth = min(p.k, p.panelDepth())
	if in.rows = k.Rows(p.a.elem); p.readsA() {
		in.tilesA = p.m / k.MR
		if in.edge = k.Edge(); in.edge != nil {
			in.tilesA = ceilDiv(p.m, k.MR)
		}
		in.rest = max(0, p.m-in.tilesA*k.MR)
	}
	return in.memory(rows, cols)
}

// memory lays out the scratch memory for so many rows and columns at a time, and
// reports whether it is enough.
func (in *inlined) memory(rows, cols int) bool {
	p := &in.product
	k := p.kernel
	strips := 1
	if in.depth < p.k {
		strips = ceilDiv(cols, k.NR)
	}
	panels, words := ceilDiv(rows, k.MR), p.words(in.depth)
	if in.tilesA == 0 {
		in.sizeA = panels * k.PanelA(words)
	}
	in.group = 1
	if !p.ready() {
		if p.starves() && !p.b.trans && p.n*p.k >= bareMin {
			in.group = min(bareGroup, ceilDiv(cols, k.NR))
		}
		in.sizeB = in.group * k.PanelB(words)
	}
	in.accBytes = panels * k.MR * k.NR * 4
	// In floating point, for of many rows an int of 32 bits does not count the bytes.
	const most = scratchBytes - 2*tile.SlotAlign
	operands, acc := float64(in.sizeB), float64(panels)*float64(k.MR*k.NR*4)
	if in.tilesA == 0 {
		operands += float64(panels) * float64(k.PanelA(words))
	}
	sums := float64(strips) * acc
	if in.inC = in.sumsInC() && (in.depth == p.k || operands+sums > most && !in.own); in.inC {
		in.accBytes, sums = 0, 0
	}
	return operands+sums <= most
}

// sumsInC reports whether sums need no memory but C's: tiles and edges of an A that is read
// where it lies go there as they are. Several workers that add to a small C, again and
// again, would take its lines from each other.
func (in *inlined) sumsInC() bool { return in.edge != nil && in.direct() }

// readsA reports whether the kernel reads A where it lies.
func (p *product) readsA() bool { return p.kernel.Rows(p.a.elem) != nil && p.inRows() }

// inRows reports whether A lies as a kernel that reads it in rows wants it. What K
// lacks to a whole tile would have to be padded again for every panel of B.
func (p *product) inRows() bool {
	k := p.kernel
	lies := uintptr(p.a.ptr) | uintptr(p.a.pitch())
	return !p.a.trans && p.words(p.k)*k.KPack == p.k && lies&(k.RowsAlign()-1) == 0
}

// panelDepth returns the elements of K that a panel of B holds at most.
func (p *product) panelDepth() int {
	if p.b.packed {
		return p.packed.bk
	}
	if p.kernel.Arithmetic == Native || p.part > 0 {
		return p.chainK()
	}
	return stageDepth(p.kernel, p.kernel.KStep(p.a.elem)) * p.kernel.KPack
}

const (
	// Most multiply-adds of a product that does not look at the clock, which takes a tenth as long: it is no more
	// assembly than Go, like any loop of its caller's. And of one that looks only once.
	blind   = 1 << 9
	glanced = 1 << 12
	// The least ticks that one takes, and of how many multiply-adds each one more.
	glanceCall = 100
	glanceEach = 32
)

// runAlone computes the whole product, in turns.
func (in *inlined) runAlone(s *settings) {
	defer s.leave()
	in.past = in.exceeds(1)
	in.turn.Begin()
	in.run(0, in.n)
	in.turn.Look()
}

// run computes the columns from .. to-1.
func (in *inlined) run(from, to int) {
	switch {
	case in.unpacked != nil:
		in.runUnpacked(from, to)
		return
	case in.dots:
		in.runDots()
		return
	case in.few:
		in.runFewRows(from, to)
		return
	case in.whole:
		in.runWhole(from, to)
		return
	}
	k := in.kernel
	var s *scratch
	var a, b, acc unsafe.Pointer
	if in.sizeA+in.sizeB+in.accBytes > 0 {
		s = scratches.Get().(*scratch)
		a = s.at()
		b = unsafe.Add(a, roundUp(in.sizeA, tile.SlotAlign))
		acc = unsafe.Add(b, roundUp(in.sizeB, tile.SlotAlign))
	}
	for k0 := 0; k0 < in.k; k0 += in.depth {
		n := min(in.depth, in.k-k0)
		ph := in.phaseAt(k0, n)
		if in.tilesA == 0 {
			k.PackA(in.a.elem, !in.a.trans)(a, in.a.at(0, k0), in.a.pitch(), in.m, n)
		}
		acc := acc
		packed := from // the columns before are
		for col := from; col < to; col += k.NR {
			cols := min(k.NR, to-col)
			b := b
			if in.group > 1 {
				if col == packed {
					packed = min(col+in.group*k.NR, to)
					in.packB(b, k0, n, col, packed)
				}
				b = unsafe.Add(b, (col-from)/k.NR%in.group*k.PanelB(in.words(n)))
			}
			if in.tilesA > 0 {
				in.tiles(k0, n, col, cols, in.overlap(cols, to-from), b, acc, ph)
			} else {
				st := strip{col: col, rows: in.m, cols: cols, acc: acc}
				in.multiply(&st, in.words(n), a, in.panelB(b, k0, n, col, cols), ph)
				in.turn.Did(flopsOf(in.m, cols, n))
			}
			if in.depth < in.k {
				acc = unsafe.Add(acc, in.accBytes)
			}
		}
	}
	if s != nil {
		scratches.Put(s)
	}
}

// panelB returns a panel of B, which it packs to b unless it is packed or its
// group is there.
func (in *inlined) panelB(b unsafe.Pointer, k0, n, col, cols int) unsafe.Pointer {
	switch {
	case in.ready():
		return in.packed.at(k0, col)
	case in.group == 1:
		in.packB(b, k0, n, col, col+cols)
	}
	return b
}

// overlap returns how many columns of those before are to be computed again with
// the last ones of so many, to have them fill a tile, for a kernel without edges.
func (in *inlined) overlap(cols, of int) int {
	width := in.kernel.NR
	if in.b.packed || in.group > 1 || width > of || in.edge != nil {
		return 0
	}
	return width - cols
}

// tiles multiplies n elements of K from k0 on of A, which is read where it lies,
// by one panel of B, and by columns before it that others have multiplied.
func (in *inlined) tiles(k0, n, col, cols, before int, b, acc unsafe.Pointer, ph phase) {
	k := in.kernel
	col, cols = col-before, cols+before
	b = in.panelB(b, k0, n, col, cols)
	a, lda := in.a.at(0, k0), in.a.pitch()
	words, pitch := in.words(n), k.NR*4
	last := in.tilesA * k.MR * pitch // bytes of the accumulators before those of the last tile, which overlaps
	dst, ldd := acc, pitch
	direct := in.inC || ph.last && in.direct() && (cols == k.NR || in.edge != nil)
	rounds := ph.last && in.rounds() && cols == k.NR
	if direct || rounds {
		dst, ldd = in.c.at(0, col), in.c.pitch()
	}
	src, lds := ph.source(acc, pitch)
	from := pitch // bytes from one row of src to the next
	if in.inC {
		src, lds = ph.source(dst, ldd)
		from = ldd
	}
	rows := in.rows
	past := in.past && src != dst && (uintptr(dst)|uintptr(ldd))%asm.PastLine == 0
	switch {
	case rounds:
		rows = k.RowsRound(in.c.elem, past)
	case direct && past:
		rows = k.RowsPast(in.a.elem)
	}
	whole := in.wholeTiles(cols)
	each := whole // tiles in a call
	if flops := tileFlops(k, words); each*flops > callFlops {
		each = max(1, callFlops/flops)
	}
	for at := 0; at < whole; at += each {
		rows(words, min(each, whole-at), unsafe.Add(a, at*k.MR*lda), b, forward(src, at*k.MR*from), lds, unsafe.Add(dst, at*k.MR*ldd), ldd, lda)
		in.turn.Did(flopsOf(k.MR*min(each, whole-at), cols, n))
	}
	switch {
	case in.edge != nil:
		if rounds {
			dst, ldd = acc, pitch // nor do those for edges
		}
		in.edgesInRows(whole*k.MR, cols, words, k0, b, src, from, lds, dst, ldd)
	case in.rest > 0:
		to := last
		if direct || rounds {
			to = (in.m - k.MR) * ldd
		}
		rows(words, 1, unsafe.Add(a, (in.m-k.MR)*lda), b, forward(src, last), lds, unsafe.Add(dst, to), ldd, lda)
	}
	stored := 0 // rows that are in C
	switch {
	case !ph.last || direct || rounds && in.edge == nil:
		return
	case rounds:
		stored = whole * k.MR
	}
	acc, col, cols = unsafe.Add(acc, before*4), col+before, cols-before
	if tiled := min(in.tilesA*k.MR, in.m); stored < tiled {
		in.epilogue(unsafe.Add(acc, stored*pitch), stored, col, tiled-stored, cols)
	}
	if in.rest > 0 {
		in.epilogue(unsafe.Add(acc, last+(k.MR-in.rest)*pitch), in.tilesA*k.MR, col, in.rest, cols)
	}
}

// wholeTiles returns how many tiles of so many columns are not for edges: the last edge is as
// high as a tile can be, or half as high and one of two, as few rows wait for each other's products.
func (in *inlined) wholeTiles(cols int) int {
	k := in.kernel
	rest := in.m % k.MR
	switch whole := in.m / k.MR; {
	case in.edge == nil:
		return in.tilesA
	case cols < k.NR:
		return 0
	case 0 < rest && rest < k.MR/2 && whole > 0:
		return whole - 1
	default:
		return whole
	}
}

// edgesInRows multiplies the rows from row on of A, which is read where it lies, words
// from element k0 of K on, by the first columns of a panel of B. Rows of src, unless it
// is nil, are from bytes apart.
func (in *inlined) edgesInRows(row, cols, words, k0 int, b, src unsafe.Pointer, from, lds int, dst unsafe.Pointer, ldd int) {
	for row < in.m {
		r := balance(in.m-row, in.kernel.MR)
		in.edge(r, cols, words, in.a.at(row, k0), in.a.pitch(), 4, b, forward(src, row*from), lds, unsafe.Add(dst, row*ldd), ldd)
		row += r
	}
}
