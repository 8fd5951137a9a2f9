package asm

import "unsafe"

// A C of 16 bits needs no accumulators, and no second look at them, if the kernel rounds what it has just summed, to nearest even.
// VDPBF16PS and TDPBF16PS leave no subnormal sum, so for these VCVTNE2PS2BF16, which makes zeros of such, is exact, unless src is
// added.

// rounders are the strip kernels whose dst is of one type of 16 bits.
type rounders struct {
	mul      KernelFunc // nil in assembly, see mulStrips
	rows     RowsFunc
	rowsPast RowsFunc // or nil
}

// Rounds reports whether the kernel stores a dst of type t, by MulRound and by RowsRound.
func (k *Kernel) Rounds(t Type) bool { return k.RowsRound(t, false) != nil }

// MulRound is [Kernel.MulAhead] for a dst of type t, for which Rounds is true: each sum is rounded once more. With past it is
// [Kernel.MulPast]. src is float32.
func (k *Kernel) MulRound(t Type, past bool, words, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, next *Ahead) {
	past = past && (uintptr(dst)|uintptr(ldd))%PastLine == 0
	how := wayRoundBF16
	switch {
	case t == F16 && past:
		how = wayRoundPastF16
	case t == F16:
		how = wayRoundF16
	case past:
		how = wayRoundPastBF16
	}
	if !k.mulStrips(how, words, m, a, b, src, lds, dst, ldd, next) {
		k.round[t].mul(words, m, a, b, src, lds, dst, ldd)
	}
}

// RowsRound returns the RowsFunc that multiplies as those of [Kernel.Rows] do and stores dst in elements of type t, rounded, as
// MulRound does; nil if Rounds is false. With past it is what [Kernel.RowsPast] is to Rows.
func (k *Kernel) RowsRound(t Type, past bool) RowsFunc {
	if t >= numTypes {
		return nil
	}
	if past && k.round[t].rowsPast != nil {
		return k.round[t].rowsPast
	}
	return k.round[t].rows
}

// roundGeneric is the twin of the kernels of kern that round to t; mul and rows are those that do not.
func roundGeneric(kern *Kernel, mul KernelFunc, rows RowsFunc, t Type) rounders {
	round := func(m, lds int, dst unsafe.Pointer, ldd int, multiply func(sums unsafe.Pointer, pitch int)) {
		sums, pitch := make([]float32, m*kern.MR*kern.NR), kern.NR*4
		at := unsafe.Pointer(unsafe.SliceData(sums))
		multiply(at, pitch)
		for i, x := range sums {
			if kern.KPack == 2 && lds >= 0 {
				sums[i] = flushInput(x)
			}
		}
		roundRowsGeneric(t, dst, ldd, at, pitch, m*kern.MR, kern.NR)
	}
	return rounders{
		mul: func(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
			round(m, lds, dst, ldd, func(sums unsafe.Pointer, pitch int) { mul(k, m, a, b, src, lds, sums, pitch) })
		},
		rows: func(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, lda int) {
			round(m, lds, dst, ldd, func(sums unsafe.Pointer, pitch int) { rows(k, m, a, b, src, lds, sums, pitch, lda) })
		},
	}
}
