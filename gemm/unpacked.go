package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
)

// A product whose operands the kernel reads where they lie needs no panels, and its
// tiles are as wide and as high as it wants. That is faster for few rows, for what
// does not divide into the tiles that panels have, and where a call notices every
// nanosecond. But B is read again for every tile of rows, and not line after line.
const (
	unpackedTiny  = 1 << 16 // multiply-adds that are too few to think about,
	unpackedSmall = 1 << 22 // and that are few
	unpackedTall  = 48      // most rows, if C has more columns than a tile: packing B takes as long as multiplying three
	unpackedMost  = 4 << 20 // most bytes of B, unless they are those of four second-level caches,
	unpackedThin  = 1 << 20 // or of one for so few rows that others read B where it lies as fast
	unpackedNear  = 2 << 20 // bytes of a cache over which a strip of B may be spread for a second-level one to keep it
	thinRows      = 4       // the fewest that are not so few
)

// tiny reports whether the product has so few multiply-adds that to look for a faster way
// takes longer than not to pack anything, and lays it out for that if the kernel can.
func (in *inlined) tiny() bool {
	u := in.readsBoth()
	if u == nil || in.m*in.n*in.k > unpackedTiny { // an int counts them wherever there is such a kernel
		return false
	}
	in.unpacked = u
	return true
}

// readsBoth returns the kernel's way to multiply the operands where they lie, or nil.
func (p *product) readsBoth() *asm.Unpacked {
	if p.b.trans || p.b.packed {
		return nil
	}
	return p.kernel.Unpacked(p.a.elem)
}

// unpackedFor returns the kernel's way to multiply unpacked operands if that is faster
// for so many workers, and nil otherwise.
func (p *product) unpackedFor(workers int) *asm.Unpacked {
	u := p.readsBoth()
	if u == nil || p.exceeds(1) {
		return nil
	}
	l2, size := p.on.l2, p.n*p.k*p.b.elem.Size()
	far := p.m*p.k*p.a.elem.Size() > placeBytes // A, which several strips of columns would read again
	fits := false
	switch thin := p.m < thinRows; {
	case thin && workers < ownLeast:
		fits = size <= min(4*l2, unpackedThin)
	case thin && p.heldBy(workers, timesPlain):
		fits = true
	case p.n <= u.Columns, p.m <= unpackedTall && !far:
		fits = size <= min(4*l2, unpackedMost) && (p.m <= u.Rows || p.spread(u) <= unpackedNear)
	default:
		fits = p.flops() <= 2*unpackedSmall
	}
	if !fits {
		return nil
	}
	return u
}

// spread returns the bytes of a cache that a strip of B takes and, if K lies across the rows of
// an A that several strips read, one of A.
func (p *product) spread(u *asm.Unpacked) int {
	most := spreadOf(&p.b, u.Columns)
	if p.a.trans && p.n > u.Columns {
		most = max(most, spreadOf(&p.a, u.Columns))
	}
	return p.k * most
}

// spreadOf returns the bytes of a cache that some columns of a row of v take from
// others, by where they lie: rows a power of two apart share few sets.
func spreadOf(v *view, cols int) int {
	pitch := v.pitch()
	return max(pitch&-pitch, cols*v.elem.Size())
}

// unpackedRows is how many rows of sums scratch memory holds.
const unpackedRows = scratchBytes / (maxNR * 4)

// runUnpacked computes the columns from .. to-1.
func (in *inlined) runUnpacked(from, to int) {
	multiply := in.unpacked.Along
	if in.a.trans {
		multiply = in.unpacked.Across
	}
	if in.direct() {
		in.sumUnpacked(multiply, 0, in.m, from, to-from, in.c.at(0, from), in.c.pitch())
		return
	}
	s := scratches.Get().(*scratch)
	sums := s.at()
	const pitch = maxNR * 4
	for ; from < to; from += maxNR {
		cols := min(maxNR, to-from)
		for row := 0; row < in.m; row += unpackedRows {
			rows := min(unpackedRows, in.m-row)
			in.sumUnpacked(multiply, row, rows, from, cols, sums, pitch)
			in.store(in.c.at(row, from), sums, pitch, rows, cols)
		}
	}
	scratches.Put(s)
}

// sumUnpacked sums the blocks of K of so many rows and columns at dst.
func (in *inlined) sumUnpacked(multiply asm.UnpackedFunc, row, rows, col, cols int, dst unsafe.Pointer, ldd int) {
	block, high := min(in.chainK(), in.k), rows
	if flopsOf(rows, cols, block) > callFlops {
		high = max(1, callFlops/flopsOf(in.unpacked.Rows, cols, block)) * in.unpacked.Rows
	}
	for k0 := 0; k0 < in.k; k0 += block {
		n := min(block, in.k-k0)
		for i := 0; i < rows; i += high {
			some := min(high, rows-i)
			multiply(some, cols, n, in.a.at(row+i, k0), in.a.pitch(), in.b.at(k0, col), in.b.pitch(), unsafe.Add(dst, i*ldd), ldd, k0 > 0)
			in.turn.Did(flopsOf(some, cols, n))
		}
	}
}
