package asm

import (
	"math"
	"unsafe"
)

// DotBF16 returns what VDPBF16PS leaves in one 32-bit lane: acc plus the products of the two pairs of bf16 in a and b,
// the odd (high) elements first, then the even ones. Each product is exact and each sum is rounded once, to nearest even.
// Subnormal inputs, and subnormal results of either sum, become zeros of the same sign, and MXCSR plays no part.
//
// The model was checked on Zen 5 with targeted and random operands; TestDotBF16Hardware repeats that on any processor
// that has the instruction. It agrees with the pseudo-code of Intel's Software Developer's Manual (vol. 2, VDPBF16PS).
func DotBF16(acc float32, a, b uint32) float32 {
	acc = flushInput(acc)
	acc = fmaFlush(bf16Input(a&0xffff0000), bf16Input(b&0xffff0000), acc)
	return fmaFlush(bf16Input(a<<16), bf16Input(b<<16), acc)
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

// bf16Input widens the bf16 in the upper half of w.
func bf16Input(w uint32) float32 {
	if w&0x7f800000 == 0 {
		w &= 1 << 31
	}
	return math.Float32frombits(w)
}

// fmaFlush returns x·y + z rounded once, and a zero of its sign if the result is subnormal: if rounding it to 24 bits
// with an unbounded exponent leaves less than the smallest normal.
func fmaFlush(x, y, z float32) float32 {
	// From here half a unit in the last place rounds up to minNormal.
	const border = minNormal * (1 - 0x1p-25)
	s := fmaOdd(x, y, z)
	if -border < s && s < border {
		return float32(math.Copysign(0, s))
	}
	return float32(s)
}

// mulDotBF16 is the twin of the VDPBF16PS kernel and the kernel called gobf16.
func mulDotBF16(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	const mr, nr = 8, 32
	var acc [mr * nr]float32
	bs := unsafe.Slice((*uint32)(b), nr*k)
	for p := range m {
		as := unsafe.Slice((*uint32)(unsafe.Add(a, p*mr*k*4)), mr*k)
		loadTile(acc[:], tileAt(src, p, mr, lds), lds, mr, nr)
		for kd := range k {
			row := bs[kd*nr:][:nr]
			for i, x := range as[kd*mr:][:mr] {
				out := acc[i*nr:][:nr]
				for j, y := range row {
					out[j] = DotBF16(out[j], x, y)
				}
			}
		}
		storeTile(tileAt(dst, p, mr, ldd), ldd, acc[:], mr, nr)
	}
}

const peakDotBF16Flops = 4 * 4

func peakDotBF16(n int) {
	a, b := math.Float32bits(goSink), math.Float32bits(goSink+1)
	var acc [4]float32
	for range n {
		for i := range acc {
			acc[i] = DotBF16(acc[i], a, b)
		}
	}
	if acc[0]+acc[1]+acc[2]+acc[3] != 0 {
		goSink = acc[0]
	}
}
