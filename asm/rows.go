package asm

import "unsafe"

// A RowsFunc is a [KernelFunc] that reads A where it lies: row i of tile p starts at a + (p·MR + i)·lda and is k words long. It
// spares small products the packing of A. See [Kernel.RowsAlign].
type RowsFunc func(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, lda int)

// Rows returns the kernel's RowsFunc for A of type t, with K along its rows, or nil if it has none: the elements of A must be
// what the kernel multiplies, words or pairs.
func (k *Kernel) Rows(t Type) RowsFunc {
	if k.inRows == nil || t != k.wordType() {
		return nil
	}
	return k.inRows[0]
}

// RowsAlign returns what a and lda of Rows should be multiples of, in bytes, to be read at full speed. AMX reads rows of 64 bytes
// for a tile, at half the speed if they are not whole lines of the cache.
func (k *Kernel) RowsAlign() uintptr {
	if k.step == amxStep {
		return 64
	}
	return 1
}

// RowsPast returns the RowsFunc that is to Rows what [Kernel.MulPast] is to Mul, for a dst and ldd that are multiples of
// [PastLine]: Rows itself if the kernel has no other.
func (k *Kernel) RowsPast(t Type) RowsFunc {
	if k.Rows(t) == nil {
		return nil
	}
	return k.inRows[k.stores&storePast]
}

// rowsGeneric is the twin of the kernels of kern that read A in rows; mul is the kernel's Mul or Ref.
func rowsGeneric(kern *Kernel, mul KernelFunc, t Type) RowsFunc {
	return func(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, lda int) {
		panels := make([]uint32, m*kern.MR*k)
		to := unsafe.Pointer(unsafe.SliceData(panels))
		kern.PackA(t, true)(to, a, lda, m*kern.MR, k*kern.KPack)
		mul(k, m, to, b, src, lds, dst, ldd)
	}
}
