package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/spin"
	"example.com/leafhopper/tile"
)

// A slab is a product, or some of its rows, that one goroutine computes by a plan without a ring: one panel of B
// after the other is packed, unless B is, and multiplied by all of A. Where A's rows, or the columns of B, do not
// divide into tiles, the last ones are computed by the kernels for edges. If the kernel has none, the last tile
// overlaps the one before it, and what both compute is the same.
type slab struct {
	product
	g        *Plan
	tilesA   int // tiles of A that are read where they lie, of which edges may be the last
	rest     int // rows of A after them
	rows     asm.RowsFunc
	edge     asm.EdgeFunc  // or nil
	unpacked *asm.Unpacked // if nothing is to be packed
	room     room          // in scratch memory
	turn     spin.Turn     // of the goroutine that computes
}

// layout lays out the slab, for so many columns at a time.
func (in *slab) layout(g *Plan, cols int) {
	in.g, in.past = g, g.past
	k := in.kernel
	if g.b == unpackedB {
		in.unpacked = k.Unpacked(in.elem)
	}
	if g.b == dotsOfB {
		return
	}
	if g.a == rowsOfA {
		in.rows, in.edge, in.tilesA = k.Rows(in.elemA), k.Edge(), in.m/k.MR
		if in.edge != nil {
			in.tilesA = ceilDiv(in.m, k.MR)
		}
		in.rest = max(0, in.m-in.tilesA*k.MR)
	}
	in.room, _ = in.problem.room(g, in.m, cols)
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

// dots reports whether it is dot products.
func (in *slab) dots() bool { return in.g.b == dotsOfB }

// runAlone computes the whole product, in turns.
func (in *slab) runAlone(s *settings) {
	defer s.leave()
	in.turn.Begin()
	in.run(0, in.n)
	in.turn.Look()
}

// run computes the columns from .. to-1.
func (in *slab) run(from, to int) {
	switch {
	case in.unpacked != nil:
		in.runUnpacked(from, to)
		return
	case in.dots():
		in.runDots()
		return
	case in.g.b == streamedB:
		in.runFewRows(from, to)
		return
	}
	k, depth, group := in.kernel, in.g.depth, in.g.group
	var s *scratch
	var a, b, acc unsafe.Pointer
	if in.room.a+in.room.b+in.room.acc > 0 {
		s = scratches.Get().(*scratch)
		a = s.at()
		b = unsafe.Add(a, roundUp(in.room.a, tile.SlotAlign))
		acc = unsafe.Add(b, roundUp(in.room.b, tile.SlotAlign))
	}
	for k0 := 0; k0 < in.k; k0 += depth {
		n := min(depth, in.k-k0)
		ph := in.phaseAt(k0, n)
		if in.tilesA == 0 {
			k.PackA(in.a.elem, !in.a.trans)(a, in.a.at(0, k0), in.a.pitch(), in.m, n)
		}
		acc := acc
		packed := from // the columns before are
		for col := from; col < to; col += k.NR {
			cols := min(k.NR, to-col)
			b := b
			if group > 1 {
				if col == packed {
					packed = min(col+group*k.NR, to)
					in.packB(b, k0, n, col, packed)
				}
				b = unsafe.Add(b, (col-from)/k.NR%group*k.PanelB(in.words(n)))
			}
			if in.tilesA > 0 {
				in.tiles(k0, n, col, cols, in.overlap(cols, to-from), b, acc, ph)
			} else {
				st := strip{col: col, rows: in.m, cols: cols, acc: acc}
				in.multiply(&st, in.words(n), a, in.panelB(b, k0, n, col, cols), ph)
				in.turn.Did(flopsOf(in.m, cols, n))
			}
			if depth < in.k {
				acc = unsafe.Add(acc, in.room.acc)
			}
		}
	}
	if s != nil {
		scratches.Put(s)
	}
}

// panelB returns a panel of B, which it packs to b unless it is packed or its
// group is there.
func (in *slab) panelB(b unsafe.Pointer, k0, n, col, cols int) unsafe.Pointer {
	switch {
	case in.ready():
		return in.packed.at(k0, col)
	case in.g.group == 1:
		in.packB(b, k0, n, col, col+cols)
	}
	return b
}

// overlap returns how many columns of those before are to be computed again with
// the last ones of so many, to have them fill a tile, for a kernel without edges.
func (in *slab) overlap(cols, of int) int {
	width := in.kernel.NR
	if in.b.packed || in.g.group > 1 || width > of || in.edge != nil {
		return 0
	}
	return width - cols
}

// tiles multiplies n elements of K from k0 on of A, which is read where it lies,
// by one panel of B, and by columns before it that others have multiplied.
func (in *slab) tiles(k0, n, col, cols, before int, b, acc unsafe.Pointer, ph phase) {
	k := in.kernel
	col, cols = col-before, cols+before
	b = in.panelB(b, k0, n, col, cols)
	a, lda := in.a.at(0, k0), in.a.pitch()
	words, pitch := in.words(n), k.NR*4
	last := in.tilesA * k.MR * pitch // bytes of the accumulators before those of the last tile, which overlaps
	dst, ldd := acc, pitch
	toC := in.room.acc == 0 && in.direct() && in.edge != nil
	finishes := ph.last && in.finish.inC && in.edge != nil
	direct := toC || finishes || ph.last && in.direct() && (cols == k.NR || in.edge != nil)
	rounds := ph.last && in.rounds() && cols == k.NR
	if direct || rounds {
		dst, ldd = in.c.at(0, col), in.c.pitch()
	}
	src, lds := ph.source(acc, pitch)
	from := pitch // bytes from one row of src to the next
	if toC {
		src, lds = ph.source(dst, ldd)
		from = ldd
	}
	rows := in.rows
	past := in.past && !finishes && src != dst && (uintptr(dst)|uintptr(ldd))%asm.PastLine == 0
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
	if finishes {
		each = min(each, finishRows/k.MR)
	}
	for at := 0; at < whole; at += each {
		some, dst := min(each, whole-at), unsafe.Add(dst, at*k.MR*ldd)
		rows(words, some, unsafe.Add(a, at*k.MR*lda), b, forward(src, at*k.MR*from), lds, dst, ldd, lda)
		if finishes {
			in.completeC(dst, some*k.MR, cols)
		}
		in.turn.Did(flopsOf(k.MR*some, cols, n))
	}
	switch {
	case in.edge != nil:
		if rounds {
			dst, ldd = acc, pitch // nor do those for edges
		}
		in.edgesInRows(whole*k.MR, cols, words, k0, b, src, from, lds, dst, ldd)
		if finishes {
			in.completeC(unsafe.Add(dst, whole*k.MR*ldd), in.m-whole*k.MR, cols)
		}
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

// wholeTiles returns how many tiles of so many columns are not for edges.
func (in *slab) wholeTiles(cols int) int {
	switch {
	case in.edge == nil:
		return in.tilesA
	case cols < in.kernel.NR:
		return 0
	}
	return in.m / in.kernel.MR
}

// edgesInRows multiplies the rows from row on of A, which is read where it lies, words
// from element k0 of K on, by the first columns of a panel of B. Rows of src, unless it
// is nil, are from bytes apart.
func (in *slab) edgesInRows(row, cols, words, k0 int, b, src unsafe.Pointer, from, lds int, dst unsafe.Pointer, ldd int) {
	for row < in.m {
		r := balance(in.m-row, in.kernel.MR)
		in.edge(r, cols, words, in.a.at(row, k0), in.a.pitch(), 4, b, forward(src, row*from), lds, unsafe.Add(dst, row*ldd), ldd)
		row += r
	}
}
