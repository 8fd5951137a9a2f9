package gemm

import "example.com/leafhopper/asm"

// A product whose operands the kernel reads where they lie needs no panels, and its
// tiles are as wide and as high as it wants: what packs nothing is faster for few rows,
// for what does not divide into the tiles that panels have, and where a call notices
// every nanosecond. But B is read again for every tile of rows, and not line after line.
const (
	unpackedLeast = 1 << 20 // elements of B up to which it is better not packed for a tile or two of rows
	unpackedSmall = 1 << 16 // products of elements that are too few to think about
	unpackedClose = 32 << 10
	unpackedNear  = 1 << 20
	unpackedStrip = 48 // most columns that are multiplied at a time
	packedRows    = 3  // rows in whose time a row of B is packed
)

// unpackedFor returns the kernel's way to multiply unpacked operands if that is faster
// for so many rows and columns at a time, and nil otherwise.
func (p *product) unpackedFor(rows, cols int) *asm.Unpacked {
	k := p.kernel
	u := k.Unpacked(p.a.elem)
	if u == nil || p.b.trans || p.b.packed || p.exceeds(1) {
		return nil
	}
	if p.m*p.n*p.k <= unpackedSmall {
		return u
	}
	if p.n > unpackedStrip && p.m*p.k*p.a.elem.Size() > placeBytes {
		return nil
	}
	spread := p.k * spreadOf(&p.b)
	if p.a.trans && p.n > unpackedStrip {
		spread = max(spread, p.k*spreadOf(&p.a))
	}
	if rows <= 2*u.Rows && p.n*p.k <= unpackedLeast {
		return u
	}
	if spread > unpackedNear {
		return nil
	}
	// What a kernel of panels takes for the last columns that fill half a panel is more
	// than half of a panel's time.
	packed := cols / k.NR * k.NR
	switch rest := cols - packed; {
	case rest > k.Half():
		packed += k.NR
	case rest > 0:
		packed += k.NR * 3 / 4
	}
	packed *= roundUp(rows, k.MR) + packedRows
	slower := 1
	aligned := (uintptr(p.b.ptr)|uintptr(p.b.pitch()))%64 == 0
	switch {
	case !intel && aligned:
	case !intel:
		slower = 4
	case spread <= unpackedClose && aligned:
		slower = 0
	case spread <= unpackedClose:
		slower = 5
	case aligned:
		slower = 4
	default:
		slower = 18
	}
	if roundUp(cols, u.Vector)*rows*(100+slower) > packed*100 {
		return nil
	}
	return u
}

// spreadOf returns the bytes of a cache that a row of v takes from others, by its
// place in memory: rows a power of two apart share few sets.
func spreadOf(v *view) int {
	pitch := v.pitch()
	return max(pitch&-pitch, unpackedStrip*4)
}

// runUnpacked computes the columns from .. to-1.
func (in *inlined) runUnpacked(from, to int) {
	multiply := in.unpacked.Along
	if in.a.trans {
		multiply = in.unpacked.Across
	}
	lda, ldb := in.a.pitch(), in.b.pitch()
	if in.direct() {
		multiply(in.m, to-from, in.k, in.a.ptr, lda, in.b.at(0, from), ldb, in.c.at(0, from), in.c.pitch())
		return
	}
	s := scratches.Get().(*scratch)
	sums := s.at()
	const pitch = maxNR * 4
	for ; from < to; from += maxNR {
		cols := min(maxNR, to-from)
		for row := 0; row < in.m; row += unpackedRows {
			rows := min(unpackedRows, in.m-row)
			multiply(rows, cols, in.k, in.a.at(row, 0), lda, in.b.at(0, from), ldb, sums, pitch)
			in.store(in.c.at(row, from), sums, pitch, rows, cols)
		}
	}
	scratches.Put(s)
}

// unpackedRows is how many rows of sums scratch memory holds.
const unpackedRows = inlineBytes / (maxNR * 4)
