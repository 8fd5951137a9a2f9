package asm

import (
	"unsafe"

	"example.com/leafhopper/bf16"
)

// A C of bf16 needs no accumulators, and no second look at them, if the kernel rounds what it has just summed. VDPBF16PS and
// TDPBF16PS leave no subnormal sum, so VCVTNE2PS2BF16, which makes zeros of those, is exact. It rounds to nearest even.

// rounders are the strip kernels whose dst is of one type of 16 bits.
type rounders struct {
	mul  KernelFunc // nil in assembly, see mulStrips
	rows RowsFunc
}

// Rounds reports whether the kernel stores a dst of type t, by MulRound and by RowsRound.
func (k *Kernel) Rounds(t Type) bool { return k.RowsRound(t) != nil }

// MulRound is [Kernel.MulAhead] for a dst of type t, for which Rounds is true: each sum is rounded once more, to nearest even. With
// past it is [Kernel.MulPast]. src is float32.
func (k *Kernel) MulRound(t Type, past bool, words, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, next *Ahead) {
	how := wayRound
	if past && (uintptr(dst)|uintptr(ldd))%PastLine == 0 {
		how = wayRoundPast
	}
	if !k.mulStrips(how, words, m, a, b, src, lds, dst, ldd, next) {
		k.round[t].mul(words, m, a, b, src, lds, dst, ldd)
	}
}

// RowsRound returns the RowsFunc that is to Rows of a bf16 A what MulRound is to Mul, or nil if there is none.
func (k *Kernel) RowsRound(t Type) RowsFunc {
	if t >= numTypes {
		return nil
	}
	return k.round[t].rows
}

// roundGeneric is the twin of the kernels of kern that round to bf16; mul and rows are those that do not.
func roundGeneric(kern *Kernel, mul KernelFunc, rows RowsFunc) rounders {
	sums := func(m int) ([]float32, unsafe.Pointer) {
		s := make([]float32, m*kern.MR*kern.NR)
		return s, unsafe.Pointer(unsafe.SliceData(s))
	}
	round := func(sums []float32, dst unsafe.Pointer, ldd int) {
		for i := 0; len(sums) > 0; i++ {
			row := unsafe.Slice((*bf16.BF16)(unsafe.Add(dst, i*ldd)), kern.NR)
			for j := range row {
				row[j] = bf16.FromFloat32(flushInput(sums[j]))
			}
			sums = sums[kern.NR:]
		}
	}
	strip := func(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
		s, at := sums(m)
		mul(k, m, a, b, src, lds, at, kern.NR*4)
		round(s, dst, ldd)
	}
	return rounders{mul: strip, rows: func(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, lda int) {
		s, at := sums(m)
		rows(k, m, a, b, src, lds, at, kern.NR*4, lda)
		round(s, dst, ldd)
	}}
}
