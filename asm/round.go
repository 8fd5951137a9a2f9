package asm

import "unsafe"

// A C of 16 bits needs no accumulators, and no second look at them, if the kernel rounds what it has just summed, to nearest even.
// VDPBF16PS and TDPBF16PS leave no subnormal sum, so for these VCVTNE2PS2BF16, which makes zeros of such, is exact, unless src is
// added.

// Rounds reports whether the kernel stores a dst of type t, by MulRound and by RowsRound.
func (k *Kernel) Rounds(t Type) bool {
	to := storeOf(t)
	return to != 0 && k.stores&to != 0
}

// storeOf returns how strip kernels round to t, or 0.
func storeOf(t Type) store {
	switch t {
	case BF16:
		return storeBF16
	case F16:
		return storeF16
	}
	return 0
}

// MulRound is [Kernel.Mul] for a dst of type t, for which Rounds is true: each sum is rounded once more. With past it is
// [Kernel.MulPast]. src is float32.
func (k *Kernel) MulRound(t Type, past bool, words, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	to := storeOf(t)
	if past {
		to |= k.past(dst, ldd)
	}
	k.strip(words, m, a, b, src, lds, dst, ldd, to)
}

// RowsRound returns the RowsFunc that multiplies as those of [Kernel.Rows] do and stores dst in elements of type t, rounded, as
// MulRound does; nil if Rounds is false. With past it is what [Kernel.RowsPast] is to Rows.
func (k *Kernel) RowsRound(t Type, past bool) RowsFunc {
	if !k.Rounds(t) {
		return nil
	}
	to := storeOf(t)
	if past {
		to |= k.stores & storePast
	}
	return k.inRows[to]
}

// rounders are the strip kernels whose dst is of one type of 16 bits.
type rounders struct {
	mul  KernelFunc
	rows RowsFunc
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
