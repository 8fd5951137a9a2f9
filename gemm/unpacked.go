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
	unpackedSmall = 1 << 16 // multiply-adds that are too few to think about
	unpackedMost  = 8 << 20 // most bytes of B, unless they are those of eight second-level caches,
	unpackedLeast = 4 << 20 // up to which, or to those of four, it is not packed for one or two tiles of rows,
	unpackedThin  = 1 << 20 // nor for so few rows that other kernels read B where it lies as fast on one or two workers
	thinRows      = 4       // the fewest that are not so few
	// Bytes of a cache over which a strip of B may be spread for a first-level cache to
	// keep it, for a second-level one, and for two tiles of rows not to mind.
	unpackedClose = 32 << 10
	unpackedNear  = 1 << 20
	unpackedTwice = 1 << 21
	packedRows    = 3 // rows in whose time a row of B is packed,
	streamedRows  = 6 // if it does not come from a cache
)

// Percent that a tile takes longer than one of panels if it reads B where that is so
// spread that a first-level cache keeps it, or only a second-level one, and in whole
// lines or in pieces of two. Who multiplies 64 bytes at once waits sooner: measured on
// an Emerald Rapids, the others on a Zen 4, with AVX-512 in halves and with AVX2.
const (
	slowerClose, slowerClosePieces   = 0, 5
	slowerNear, slowerNearPieces     = 5, 18
	slowerHalves, slowerHalvesPieces = 1, 4
)

// tiny reports whether the product has so few multiply-adds that to look for a faster way
// takes longer than not to pack anything, and lays it out for that if the kernel can.
func (in *inlined) tiny() bool {
	u := in.readsBoth()
	if u == nil || in.m*in.n*in.k > unpackedSmall { // an int counts them wherever there is such a kernel
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
// for so many rows and columns at a time by so many workers, and nil otherwise.
func (p *product) unpackedFor(rows, cols, workers int) *asm.Unpacked {
	u := p.readsBoth()
	if u == nil {
		return nil
	}
	far := p.m*p.k*p.a.elem.Size() > placeBytes // A, which several strips would read again
	if p.exceeds(1) || far && p.n > u.Columns {
		return nil
	}
	spread := p.spread(u)
	thin := rows < thinRows
	switch size := p.n * p.k * p.b.elem.Size(); {
	case thin && workers >= ownLeast && p.heldBy(workers, timesPlain):
		return u
	case size > min(8*p.on.l2, unpackedMost) || thin && workers < ownLeast && size > min(4*p.on.l2, unpackedThin):
		return nil
	case size > min(4*p.on.l2, unpackedLeast):
	case rows <= u.Rows || rows <= 2*u.Rows && (halves(u) || spread <= unpackedTwice):
		return u
	}
	if spread > min(p.on.l2, unpackedNear) {
		return nil
	}
	if far {
		return u // A would be packed, too
	}
	if roundUp(cols, u.Vector)*rows*(100+p.slower(u, spread)) > p.timePacked(u, rows, cols)*100 {
		return nil
	}
	return u
}

// unpackedSlab returns the same for a slab of a product whose operands are packed for taller
// ones, if it has so few rows that to pack columns of B for them alone takes longer, and a
// second-level cache keeps those columns.
func (p *product) unpackedSlab() *asm.Unpacked {
	u := p.readsBoth()
	if u == nil || p.m > 2*u.Rows || p.n*p.k*p.b.elem.Size() > min(4*p.on.l2, unpackedLeast) || p.exceeds(1) || p.spread(u) > min(p.on.l2, unpackedNear) {
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

// halves reports whether u multiplies less than a line at once.
func halves(u *asm.Unpacked) bool { return u.Vector*4 < lineBytes }

// slower returns how many percent longer a tile takes that reads a B so spread.
func (p *product) slower(u *asm.Unpacked, spread int) int {
	whole := (uintptr(p.b.ptr)|uintptr(p.b.pitch()))%lineBytes == 0
	switch {
	case halves(u) && whole:
		return slowerHalves
	case halves(u):
		return slowerHalvesPieces
	case spread <= unpackedClose && whole:
		return slowerClose
	case spread <= unpackedClose:
		return slowerClosePieces
	case whole:
		return slowerNear
	}
	return slowerNearPieces
}

// timePacked returns how long the product of so many rows and columns takes if B is
// packed, in the times of its elements.
func (p *product) timePacked(u *asm.Unpacked, rows, cols int) int {
	wide := roundUp(cols, u.Vector)
	wide += (roundUp(wide, p.kernel.NR) - wide) / 3 // few columns wait for each other's products
	pack := packedRows
	if p.n*p.k >= streamMin {
		pack = streamedRows
	}
	return wide * (rows + pack)
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
