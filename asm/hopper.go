package asm

import (
	"unsafe"

	"example.com/leafhopper/internal/race"
)

// # Hopper's arithmetic
//
// A step adds products of L pairs of elements to an accumulator as one fused sum (package internal/hopper has the
// rule): with E the largest exponent among the nonzero products, ea + eb, and the nonzero accumulator, every term is
// truncated toward zero to a multiple of u = 2^(E-F), the terms are added exactly, and the sum is truncated to the
// result.
//
// In vectors, L = 16 and F = 25: the factors are float32s, so a·b is exact; times 1/u, a power of two, it is exact
// again, and conversion to an integer truncates toward zero. The integers fit 32 bits, and converting their sum to a
// float32 with truncation, times u, is the result:
//
//	E    = max(exponent of C, ea[k] + eb[k] ...)    signed bytes, 64 columns at once
//	sum  = int(C·1/u) + Σ int(a[k]·b[k]·1/u)        float32 and int32
//	C    = float32(sum)·u                           rounded toward zero
//
// For that a panel holds each element twice, as a float32 and as the byte of its exponent:
//
//	header      64 bytes
//	values      A: k × MR float32; B: k × part float32, NR/part times, part columns each
//	exponents   A: k × MR dwords, a byte four times; B: k × pitch bytes
//
// An exponent stands relative to the largest of its panel, which becomes 63; a zero is -128. So a sum with a zero in
// it is at most -65, which stands for 2^-101 or less as long as the largest exponents of both panels add up to no
// more than [maxExponents]; and that is where E is bounded below, so zeros never win against anything.
//
// Tiles for which 32 bits are not enough, or a panel says so, take kernels that count in float64 instead, at a third
// of the speed: with infinities and NaN, exponents out of that range, accumulators close to overflow or to the
// subnormal numbers, or where both panels are so heavy that a sum may need a 33rd bit. Their twin is [mulExact], and
// all have the same bits.
//
// Accumulators in f16 are float32s, too, and rounded to nearest even by way of a sum that is rounded to odd. They
// overflow at any step; then those kernels begin anew.

// A hopperHeader begins a panel. The assembly reads the first word.
type hopperHeader struct {
	largest  int32 // exponent of the largest element, or notFinite; 0 if all are zero
	smallest int32 // exponent of the smallest nonzero element; 0 if all are zero
	normal   int32 // exponent of the smallest normal number of the type, which subnormal ones share
	products int32 // L
	fraction int32 // F
	result   int32 // bits of the fraction of a result
	heavy    int32 // 1 if the significands of L consecutive elements add up to heavySum or more, otherwise 0
	_        [9]int32
}

const headerBytes = int(unsafe.Sizeof(hopperHeader{}))

const (
	// notFinite is the exponent of infinities and NaN, beyond every bound.
	notFinite = 1 << 20

	// maxExponents bounds the sum of the largest exponents of two panels, minExponents the sum of the smallest. Then
	// all products are normal, and 2^(E-F), which is at least 2^(minExponents-25), is so too.
	maxExponents, minExponents = 90, -101

	// The exponents of nonzero accumulators: from minAccumulator, the least E of the assembly, none is too small for
	// it, and those that products make later are multiples of 2^-126; below maxAccumulator none overflows in
	// maxHopperDepth.
	minAccumulator, maxAccumulator = minExponents, 120

	// maxHopperDepth is the depth to which that holds.
	maxHopperDepth = 1 << 18

	// heavySum: 16 products and the accumulator overflow 32 bits only if the products add up to 62·2^E or more
	// (16 products below 4·2^E are below 2^31·u, the accumulator is below 2·2^E). A product is below twice the
	// significand of either factor, so on both sides 16 significands add up to more than 31.
	heavySum = 31
)

// A hopperKind is the arithmetic of an element type.
type hopperKind struct {
	products int // L
	fraction int // F
	result   int // bits of the fraction of a result
	normal   int // exponent of the smallest normal number
	bits     int // of the fraction of an element
}

// hopperKinds maps the types; F32 is tf32, to which packing rounds.
var hopperKinds = [numTypes]hopperKind{
	BF16: {16, 25, 23, -126, 7},
	F16:  {16, 25, 23, -14, 10},
	F32:  {8, 25, 23, -126, 10},
	E4M3: {32, 13, 13, -6, 3},
	E5M2: {32, 13, 13, -14, 2},
}

// A hopperShape is the geometry of tiles and panels.
type hopperShape struct {
	mr, nr int
	part   int // columns of B side by side, a divisor of nr
	pitch  int // bytes of exponents of a step of k of B
}

// width returns the rows or columns of a panel.
func (s *hopperShape) width(side panelSide) int {
	if side == sideB {
		return s.nr
	}
	return s.mr
}

// sub returns how many of them lie side by side.
func (s *hopperShape) sub(side panelSide) int {
	if side == sideB {
		return s.part
	}
	return s.mr
}

// The tiles of the kernels. Those of the vectors can be packed by the packers of the native kernels.
var (
	hopperShape512 = hopperShape{8, 64, 32, 64}
	hopperShape256 = hopperShape{4, 24, 24, 32}
	hopperShapeGo  = hopperShape{4, 16, 16, 16}
)

// maxHopperNR is the NR of the widest shape, and maxHopperTile the float32s of the largest tile.
const maxHopperNR, maxHopperTile = 64, 8 * 64

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// bytes returns the bytes of a panel, words deep.
func (s *hopperShape) bytes(side panelSide, words int) int {
	n := s.mr * 8
	if side == sideB {
		n = s.nr*4 + s.pitch
	}
	return roundUp(headerBytes+words*n, 64)
}

// sumTiles is how many tiles of sums of a block of K wait to be added, and blockSums memory for them.
const sumTiles = 4

var blockSums race.Pool[[sumTiles * maxHopperTile]float32]

// adding returns mul, which goes on with the chain of src, as a whole [KernelFunc]: with [EndBlock] it sums a
// block of K for itself and adds that to src.
func (s *hopperShape) adding(mul KernelFunc) KernelFunc {
	return func(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
		if src == nil || !endsBlock(lds) {
			mul(k, m, a, b, src, lds, dst, ldd)
			return
		}
		lds = pitchOf(lds)
		mem, pitch := blockSums.Get(), s.nr*4
		for p := 0; p < m; p += sumTiles {
			n := min(sumTiles, m-p)
			mul(k, n, unsafe.Add(a, p*s.bytes(sideA, k)), b, nil, pitch, unsafe.Pointer(mem), pitch)
			to := tileAt(dst, p, s.mr, ldd)
			if src != dst || lds != ldd {
				CopyRows(to, ldd, tileAt(src, p, s.mr, lds), lds, n*s.mr, pitch)
			}
			Combine(F32, to, ldd, unsafe.Pointer(mem), pitch, n*s.mr, s.nr, 1, 1)
		}
		blockSums.Put(mem)
	}
}
