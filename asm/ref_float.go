package asm

import (
	"math"
	"unsafe"
)

// The tile of the AVX2 kernel. 4 × 24 and 6 × 16 both have the twelve accumulators that hide the latency of FMA and
// run within a few per cent of each other; with 4 × 24 a step of either panel is whole vectors, which makes the
// packers simple, and it needs seven loads for twelve FMAs where 6 × 16 needs eight.
const avx2MR, avx2NR = 4, 24

// avx2Vector is the float32s of a vector of AVX2.
const avx2Vector = 8

// maxTile is the size of the largest tile, in sums.
const maxTile = 8 * 32

// A float is the type of sums.
type float interface{ float32 | float64 }

// loadTile fills acc with the tile of mr × nr that a kernel starts from.
func loadTile[F float](acc []F, src unsafe.Pointer, lds, mr, nr int) {
	if src == nil || endsBlock(lds) {
		clear(acc[:mr*nr])
		return
	}
	for i := range mr {
		copy(acc[i*nr:][:nr], unsafe.Slice((*F)(unsafe.Add(src, i*pitchOf(lds))), nr))
	}
}

// storeTile stores acc to dst, added to what lds says.
func storeTile[F float](dst unsafe.Pointer, ldd int, acc []F, src unsafe.Pointer, lds, mr, nr int) {
	for i := range mr {
		row, to := acc[i*nr:][:nr], unsafe.Slice((*F)(unsafe.Add(dst, i*ldd)), nr)
		var added []F
		switch {
		case endsChain(lds):
			added = to
		case src != nil && endsBlock(lds):
			added = unsafe.Slice((*F)(unsafe.Add(src, i*pitchOf(lds))), nr)
		}
		for j, x := range added {
			row[j] += x
		}
		copy(to, row)
	}
}

// tileAt returns the address of tile p, or nil if there is no source.
func tileAt(base unsafe.Pointer, p, mr, lds int) unsafe.Pointer {
	return forward(base, p*mr*pitchOf(lds))
}

// forward returns p + n, or nil if p is nil.
func forward(p unsafe.Pointer, n int) unsafe.Pointer {
	if p == nil {
		return nil
	}
	return unsafe.Add(p, n)
}

// mulFMA returns the twin of the kernels of float32 or float64 that have such tiles: a fused multiply-add per product.
func mulFMA[F float](mr, nr int) KernelFunc {
	size := int(unsafe.Sizeof(F(0)))
	return func(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
		var tile [maxTile]F
		acc := tile[:mr*nr]
		bs := unsafe.Slice((*F)(b), nr*k)
		for p := range m {
			as := unsafe.Slice((*F)(unsafe.Add(a, p*mr*k*size)), mr*k)
			loadTile(acc, tileAt(src, p, mr, lds), lds, mr, nr)
			for kd := range k {
				row := bs[kd*nr:][:nr]
				for i, x := range as[kd*mr:][:mr] {
					axpy(acc[i*nr:], x, row)
				}
			}
			storeTile(tileAt(dst, p, mr, ldd), ldd, acc, tileAt(src, p, mr, lds), lds, mr, nr)
		}
	}
}

// axpy adds x·y to each of sums, by a fused multiply-add.
func axpy[F float](sums []F, x F, ys []F) {
	sums = sums[:len(ys)]
	for i, y := range ys {
		if unsafe.Sizeof(x) == 4 {
			sums[i] = F(fma32(float32(x), float32(y), float32(sums[i])))
		} else {
			sums[i] = F(math.FMA(float64(x), float64(y), float64(sums[i])))
		}
	}
}

// fma32 returns x·y + z rounded once to float32, to nearest even.
func fma32(x, y, z float32) float32 {
	return float32(sumOdd(float64(x)*float64(y), float64(z)))
}

// sumOdd returns p + c rounded to odd: an inexact sum has its last bit set. Rounding that to float32 gives the sum
// rounded once (Boldo and Melquiond, Emulation of FMA and correctly rounded sums: proved algorithms using rounding to
// odd, 2008). The product of two float32s is exact in float64, so this is all that a fused multiply-add takes.
func sumOdd(p, c float64) float64 {
	s := p + c
	// TwoSum: e is what rounding took from s. It is NaN when s is not finite.
	t := s - p
	e := (p - (s - t)) + (c - t)
	if e == 0 || e != e {
		return s
	}
	if u := math.Float64bits(s); u&1 == 0 {
		// Step to the neighbour on the side of the exact sum; its last bit is odd.
		if (e > 0) == (s > 0) {
			u++
		} else {
			u--
		}
		s = math.Float64frombits(u)
	}
	return s
}

// The tile of the portable kernel. It is worked in pieces of 2 × 3: with the products under way that is as much as
// sixteen registers hold, and a sum that is spilled costs half of the speed.
const goMR, goNR = 4, 6

// mulGo is the portable kernel, and that of float64. The product is rounded before it is added: a bare a·b + c would be
// fused on some architectures and not on others.
func mulGo[F float](k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	size := int(unsafe.Sizeof(F(0)))
	var acc [goMR * goNR]F
	for p := range m {
		panel := unsafe.Add(a, p*goMR*k*size)
		loadTile(acc[:], tileAt(src, p, goMR, lds), lds, goMR, goNR)
		for i := 0; i < goMR; i += 2 {
			for j := 0; j < goNR; j += 3 {
				top, bottom := acc[i*goNR+j:], acc[(i+1)*goNR+j:]
				goPiece((*[3]F)(top), (*[3]F)(bottom), unsafe.Add(panel, i*size), unsafe.Add(b, j*size), k)
			}
		}
		storeTile(tileAt(dst, p, goMR, ldd), ldd, acc[:], tileAt(src, p, goMR, lds), lds, goMR, goNR)
	}
}

// goPiece adds the products of two rows of A and three columns of B, which start at a and b in their panels, to two
// rows of a tile.
func goPiece[F float](top, bottom *[3]F, a, b unsafe.Pointer, k int) {
	size := int(unsafe.Sizeof(F(0)))
	c00, c01, c02 := top[0], top[1], top[2]
	c10, c11, c12 := bottom[0], bottom[1], bottom[2]
	for kd := range k {
		// Without slices, and so without bounds checks.
		x, y := (*[2]F)(unsafe.Add(a, kd*goMR*size)), (*[3]F)(unsafe.Add(b, kd*goNR*size))
		x0, x1 := x[0], x[1]
		y0, y1, y2 := y[0], y[1], y[2]
		c00 += F(x0 * y0)
		c01 += F(x0 * y1)
		c02 += F(x0 * y2)
		c10 += F(x1 * y0)
		c11 += F(x1 * y1)
		c12 += F(x1 * y2)
	}
	*top = [3]F{c00, c01, c02}
	*bottom = [3]F{c10, c11, c12}
}

const peakGoFlops = 16

// opaque returns x in a way that the compiler does not see through, so that it keeps a loop whose result nobody wants.
//
//go:noinline
func opaque[F float](x F) F { return x }

func peakGo[F float](n int) {
	x0, x1 := opaque[F](0.5), opaque[F](-0.5)
	y0, y1, y2, y3 := x0, x1, x0+2, x1+2
	var c00, c01, c02, c03, c10, c11, c12, c13 F
	for range n {
		c00 += F(x0 * y0)
		c01 += F(x0 * y1)
		c02 += F(x0 * y2)
		c03 += F(x0 * y3)
		c10 += F(x1 * y0)
		c11 += F(x1 * y1)
		c12 += F(x1 * y2)
		c13 += F(x1 * y3)
	}
	opaque(c00 + c01 + c02 + c03 + c10 + c11 + c12 + c13)
}
