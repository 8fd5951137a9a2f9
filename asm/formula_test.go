package asm

import (
	"math"
	"math/rand/v2"
	"unsafe"
)

// A wordBits is a word of a panel: the bits of a float32, of two bf16 or of a float64.
type wordBits interface{ uint32 | uint64 }

// A formula is what a kernel computes, of bits.
type formula[W wordBits] struct {
	chain func(acc W, a, b []W) W // what it adds to acc for a row of A and a column of B
	plus  func(x, y W) W
	same  func(x, y W) bool // two NaNs are
}

// float32s and float64s are the formulas of kernels by their sums.
func float32s(k *Kernel) formula[uint32] {
	f := chain(k)
	return formula[uint32]{
		func(acc uint32, a, b []uint32) uint32 { return math.Float32bits(f(math.Float32frombits(acc), a, b)) },
		func(x, y uint32) uint32 { return math.Float32bits(math.Float32frombits(x) + math.Float32frombits(y)) },
		func(x, y uint32) bool { return sameBits(math.Float32frombits(x), math.Float32frombits(y)) },
	}
}

func float64s(k *Kernel) formula[uint64] {
	step := math.FMA
	if k.Name == "gof64" {
		step = func(x, y, acc float64) float64 { return acc + float64(x*y) }
	}
	of, from := math.Float64bits, math.Float64frombits
	return formula[uint64]{
		func(acc uint64, a, b []uint64) uint64 {
			sum := from(acc)
			for kd := range a {
				sum = step(from(a[kd]), from(b[kd]), sum)
			}
			return of(sum)
		},
		func(x, y uint64) uint64 { return of(from(x) + from(y)) },
		func(x, y uint64) bool { return sameBits64(from(x), from(y)) },
	}
}

// step returns the multiply-add of float32 kernels of two words, as a formula.
func step(k *Kernel) func(acc float32, a, b uint32) float32 {
	switch {
	case k.KPack == 2:
		return dotBF16
	case k.Name == "go":
		return func(acc float32, a, b uint32) float32 {
			return acc + float32(math.Float32frombits(a)*math.Float32frombits(b))
		}
	}
	return func(acc float32, a, b uint32) float32 {
		return fma32(math.Float32frombits(a), math.Float32frombits(b), acc)
	}
}

// chain returns what the kernel adds to acc for a row of A and a column of B, as a formula.
func chain(k *Kernel) func(acc float32, a, b []uint32) float32 {
	if k.step == amxStep {
		return func(acc float32, a, b []uint32) float32 {
			for kd := 0; kd < len(a); kd += amxStep {
				acc = dotTile(acc, (*[amxStep]uint32)(a[kd:]), (*[amxStep]uint32)(b[kd:]))
			}
			return acc
		}
	}
	f := step(k)
	return func(acc float32, a, b []uint32) float32 {
		for kd := range a {
			acc = f(acc, a[kd], b[kd])
		}
		return acc
	}
}

// operands are the kinds of values that the conformance suite feeds to kernels: each makes a word of a panel.
var operands = []struct {
	name string
	word func(r *rand.Rand, kpack int) uint32
}{
	{"near1", func(r *rand.Rand, kpack int) uint32 {
		if kpack == 2 {
			return r.Uint32()&0x80ff80ff | 0x3f003f00
		}
		return r.Uint32()&0x80ffffff | 0x3f000000
	}},
	{"wide", func(r *rand.Rand, kpack int) uint32 {
		// Exponents of all sizes, so that sums cancel, vanish, overflow and go subnormal, but no operand is NaN or Inf.
		w := r.Uint32()
		for _, shift := range []int{23, 7} {
			if w>>shift&0xff == 0xff {
				w ^= 1 << shift
			}
		}
		return w
	}},
	{"special", func(r *rand.Rand, kpack int) uint32 {
		special := []uint32{0, 0x8000, 0x3f80, 0x7f80, 0xff80, 0x7fc0, 0x7f81, 0x0001, 0x8001, 0x007f, 0x0080, 0x8080,
			0x7f7f, 0xff7f, 0x7ff0, 0xfff0}
		pick := func() uint32 {
			if r.IntN(8) > 0 {
				return r.Uint32()&0x80ff | 0x3f00
			}
			return special[r.IntN(len(special))]
		}
		return pick()<<16 | pick()
	}},
	{"subnormal", func(r *rand.Rand, kpack int) uint32 {
		// Products of small numbers that fall around the smallest normal.
		if kpack == 2 {
			return r.Uint32()&0x81ff81ff | 0x1f001f00
		}
		return r.Uint32()&0x81ffffff | 0x1f000000
	}},
}

func sameBits(x, y float32) bool {
	return math.Float32bits(x) == math.Float32bits(y) || x != x && y != y
}

func sameBits64(x, y float64) bool {
	return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y
}

// fillPeriod is how many words a filler draws before it repeats them, as to draw one takes longer than to multiply
// it. It is prime, so that words differ which lie rows, tiles or pages apart.
const fillPeriod = 1021

// filler returns a function that fills n bytes with words of kern, of kpack elements each.
func filler(
	kern *Kernel, r *rand.Rand, word func(r *rand.Rand, kpack int) uint32,
) func(p unsafe.Pointer, n, kpack int) {
	return func(p unsafe.Pointer, n, kpack int) {
		if kern.Sum == F64 {
			repeat(unsafe.Slice((*uint64)(p), n/8), func() uint64 { return double(r, word) })
		} else {
			repeat(unsafe.Slice((*uint32)(p), n/4), func() uint32 { return word(r, kpack) })
		}
	}
}

// repeat fills words with those that it draws first.
func repeat[W wordBits](words []W, word func() W) {
	for i := range min(len(words), fillPeriod) {
		words[i] = word()
	}
	for i := fillPeriod; i < len(words); i *= 2 {
		copy(words[i:], words[:i])
	}
}

// double returns a float64 like the words: its exponent of 11 bits begins as theirs of 8, so that it is as far from 1,
// or as close to where numbers end. Of one in four the lower half is zero, as of an infinity.
func double(r *rand.Rand, word func(r *rand.Rand, kpack int) uint32) uint64 {
	low := uint64(r.Uint32())
	if low&3 == 0 {
		low = 0
	}
	return uint64(word(r, 1))<<32 | low
}
