package gemm

import (
	"unsafe"

	"example.com/leafhopper/tile"
)

// Few rows by a B that is too small to be streamed are multiplied by the kernels that
// stream: a tile computes all of its rows, however few are wanted, and a B that is not
// packed is read where it lies.
const (
	// Up to which size of a transposed B to transpose it once is faster than in the registers
	// of a kernel that streams: words with AVX-512, bytes with AVX2, and bytes for more than one
	// row by a kernel whose tiles are whole.
	fewTurned   = 8 << 10
	twoTurned   = 64 << 10
	wholeTurned = 8 << 10
	// How many times the second-level caches of several workers hold a B of which each takes
	// columns, unless it is packed and fills them: in rows of K that are of 16-bit elements, or of
	// whole pages, whose columns share sets of a cache; in other rows; and along K. And most
	// bytes of the first two.
	timesShort = 3
	timesPlain = 2
	timesAlong = 2
	mostShort  = 8 << 20
	mostPlain  = 12 << 20
	pageBytes  = 4 << 10
	// As how many rows one counts there, because it waits for B, and for its transposition. And
	// most rows that are packed sooner than a worker is late, so that each takes a slab only.
	rowsFetched = 8
	rowsTurned  = 16
	fewPacked   = 4
	fewColumns  = 16 // of a vector of AVX-512
	// Bytes of scratch memory for A, and for sums.
	fewBytes = scratchBytes/2 - tile.SlotAlign
)

// fewRows reports whether the kernels that stream are faster for p on one goroutine.
func (p *product) fewRows() bool {
	most := p.kernel.MR * 3 / 4
	switch {
	case p.starves():
		most = p.tileFewest(1) - 1
	case p.inVectors() && (p.b.trans || p.kernel.Narrow(p.b.elem)):
		most = p.kernel.MR // for packing would transpose B, or widen it
	case p.b.trans, p.b.packed && p.inVectors():
		most = p.kernel.MR / 2
	}
	return p.m <= most && (p.b.packed || p.n*p.k < streamMin) && !(p.b.trans && p.transposes()) && p.streamsFew()
}

// sharesFew reports whether so many workers had better take columns of p each than
// stream it, or leave it to one: to start a ring takes longer than what each has to do.
func (p *product) sharesFew(workers int) bool {
	rows, size := p.kernel.StreamRows(p.b.elem), p.n*p.k*p.b.elem.Size()
	if p.starves() {
		rows = p.tileFewest(workers) - 1
	}
	held := false
	switch {
	case p.b.packed:
		held = p.heldBy(workers, 1)
	case p.b.trans:
		held = p.heldBy(workers, timesAlong)
	case p.b.elem.Size() == 2, p.b.pitch()%pageBytes == 0:
		held = size <= mostShort && p.heldBy(workers, timesShort)
	default:
		held = size <= mostPlain && p.heldBy(workers, timesPlain)
	}
	return workers >= ownLeast && p.m <= rows && held && p.streamsFew()
}

// streamsFew reports whether there is a kernel that streams B, and room for A and sums.
func (p *product) streamsFew() bool {
	k := p.kernel
	streams := k.StreamRows(p.b.elem) > 0 && !p.c.trans // C is where B is packed, see epilogue
	return streams && max(k.PanelA(p.words(p.k)), p.m*p.n*4) <= fewBytes
}

// transposes reports whether a transposed B is so small that it had better be packed.
func (p *product) transposes() bool {
	size := p.n * p.k * p.b.elem.Size()
	switch {
	case p.kernel.Edge() == nil:
		return p.m > 1 && size <= wholeTurned
	case p.inVectors():
		return p.n*p.words(p.k) <= fewTurned
	}
	return size <= twoTurned
}

// inVectors reports whether the kernels that stream take columns by the vector of AVX-512.
func (p *product) inVectors() bool { return p.kernel.NR%fewColumns == 0 }

// unit returns the columns of which every slab has a multiple: those of a panel, or of a
// vector if nothing is packed but so few rows that narrow slabs cost little.
func (in *inlined) unit() int {
	if in.few && !in.b.packed && in.m <= fewPacked && in.inVectors() {
		return fewColumns
	}
	return in.kernel.NR
}

// runFewRows computes the columns from .. to-1. Beside the columns of other workers their
// sums had better not be added to in C, see [stream.init].
func (in *inlined) runFewRows(from, to int) {
	k, cols, depth := in.kernel, to-from, in.k
	if in.b.packed {
		depth = in.packed.bk
	}
	s := scratches.Get().(*scratch)
	a := s.at()
	dst, ldd := in.c.at(0, from), in.c.pitch()
	inC := in.direct() && cols == in.n
	if !inC {
		dst, ldd = unsafe.Add(a, scratchBytes/2), cols*4
	}
	for k0 := 0; k0 < in.k; k0 += depth {
		n, add := min(depth, in.k-k0), k0 > 0
		k.PackA(in.a.elem, !in.a.trans)(a, in.a.at(0, k0), in.a.pitch(), in.m, n)
		if in.b.packed {
			k.StreamPanels(in.b.elem)(in.words(n), in.m, cols, a, in.packed.at(k0, from), in.packed.panel(n), dst, ldd, add)
		} else {
			k.Stream(in.b.elem, in.b.trans)(n, in.m, cols, a, in.b.at(k0, from), in.b.pitch(), dst, ldd, add)
		}
		in.turn.Did(flopsOf(in.m, cols, n))
	}
	if !inC {
		in.storeWide(from, dst, ldd, in.m, cols)
	}
	scratches.Put(s)
}
