package asm

import (
	"math"
	"unsafe"
)

// dotBF16 returns what VDPBF16PS leaves in one 32-bit lane: acc plus the products of the two pairs of bf16 in a and
// b, the odd (high) elements first, then the even ones. Each product is exact and each sum is rounded once, to
// nearest even. Subnormal inputs, and subnormal results of either sum, become zeros of the same sign, and MXCSR plays
// no part.
//
// The model was checked on Zen 5 with targeted and random operands; TestDotBF16Hardware repeats that on any processor
// that has the instruction. It agrees with the pseudo-code of Intel's Software Developer's Manual (vol. 2, VDPBF16PS).
func dotBF16(acc float32, a, b uint32) float32 {
	acc = sumFlush(bf16Input(a&0xffff0000)*bf16Input(b&0xffff0000), flushInput(acc))
	return sumFlush(bf16Input(a<<16)*bf16Input(b<<16), acc)
}

// minNormal is the smallest normal float32.
const minNormal = 0x1p-126

// flushInput turns a subnormal into a zero of its sign.
func flushInput(x float32) float32 {
	if -minNormal < x && x < minNormal {
		return math.Float32frombits(math.Float32bits(x) & (1 << 31))
	}
	return x
}

// bf16Input returns the value of the bf16 in the upper half of w, a zero if it is subnormal.
func bf16Input(w uint32) float64 {
	if w&0x7f800000 == 0 {
		w &= 1 << 31
	}
	return float64(math.Float32frombits(w))
}

// sumFlush returns p + c rounded once, for p a product of two bf16, or a zero of its sign if the result is subnormal.
func sumFlush(p float64, c float32) float32 {
	if s := p + float64(c); roundsOnce(s) {
		return float32(s)
	}
	return sumFlushExact(p, float64(c))
}

// sumFlushAll adds x times each of y to each of acc, as sumFlush does.
func sumFlushAll(acc []float32, x float64, y []float64) {
	y = y[:len(acc)]
	for j, c := range acc {
		p := x * y[j]
		s := p + float64(c)
		if !roundsOnce(s) {
			acc[j] = sumFlushExact(p, float64(c))
			continue
		}
		acc[j] = float32(s)
	}
}

// roundsOnce reports whether s, a sum that was rounded, is surely a normal float32 if rounded to one, and the same as
// if it had not been rounded before: it does not lie half-way between two float32s.
func roundsOnce(s float64) bool {
	const half, below = 1 << 28, 1<<29 - 1 // of the 29 bits that a float32 lacks
	u := math.Float64bits(s)
	return u&below != half && u<<1 >= (1023-126)<<53
}

// sumFlushExact is sumFlush where it takes care.
func sumFlushExact(p, c float64) float32 {
	// A result is subnormal if rounding to 24 bits with an unbounded exponent leaves less than minNormal. From
	// border, half a unit in the last place below it, that rounds up.
	const border = minNormal * (1 - 0x1p-25)
	if s := p + c; s == 0 {
		return float32(s) // exact, and frequent: zeros fill up panels
	}
	s := sumOdd(p, c)
	if -border < s && s < border {
		return float32(math.Copysign(0, s))
	}
	return float32(s)
}

// mulDotBF16 is the twin of the VDPBF16PS kernel and the kernel called gobf16.
func mulDotBF16(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	const mr, nr = 8, 32
	var acc [mr * nr]float32
	var odd, even [nr]float64 // a step of B
	bs := unsafe.Slice((*uint32)(b), nr*k)
	for p := range m {
		as := unsafe.Slice((*uint32)(unsafe.Add(a, p*mr*k*4)), mr*k)
		loadTile(acc[:], tileAt(src, p, mr, lds), lds, mr, nr)
		if k > 0 {
			for i, x := range acc {
				acc[i] = flushInput(x)
			}
		}
		for kd := range k {
			for j, y := range bs[kd*nr:][:nr] {
				odd[j], even[j] = bf16Input(y&0xffff0000), bf16Input(y<<16)
			}
			for i, x := range as[kd*mr:][:mr] {
				xOdd, xEven := bf16Input(x&0xffff0000), bf16Input(x<<16)
				// dotBF16, but for the flush of the accumulators, which flushed themselves.
				out := acc[i*nr:][:nr]
				sumFlushAll(out, xOdd, odd[:])
				sumFlushAll(out, xEven, even[:])
			}
		}
		storeTile(tileAt(dst, p, mr, ldd), ldd, acc[:], tileAt(src, p, mr, lds), lds, mr, nr)
	}
}

const peakDotBF16Flops = 8 * 4

// peakDotBF16 adds and takes away, so that the sums stay normal and exact, where the model is fastest.
func peakDotBF16(n int) {
	acc := [8]float32{1, 2, 3, 4, 5, 6, 7, 8}
	odd, even := 0.5, -0.5
	for range n {
		for i := range acc {
			acc[i] = sumFlush(even, sumFlush(odd, acc[i]))
		}
	}
	for _, x := range acc {
		opaque(x)
	}
}
