package asm

import "unsafe"

// CopyRows copies rows of n bytes, which lie lds bytes apart, to rows ldd bytes apart, and brings rows to come
// closer: those of a matrix lie on pages of their own, where the hardware prefetches nothing. The memory of dst and
// src must not overlap.
func CopyRows(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int) {
	if !hasAVX || n%copyUnit != 0 || n == 0 || rows <= 0 {
		copyRowsGeneric(dst, ldd, src, lds, rows, n)
		return
	}
	for i := 0; i < rows; i += copyRowsMost {
		copyRows(unsafe.Add(dst, i*ldd), ldd, unsafe.Add(src, i*lds), lds, min(rows-i, copyRowsMost), n)
	}
}

const (
	copyUnit     = 16 // bytes
	copyRowsMost = 64 // rows of one call in assembly, as wide as a tile of C may be
)

// copyRowsGeneric is the twin of copyRows, for any number of bytes.
func copyRowsGeneric(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int) {
	for i := range rows {
		copy(unsafe.Slice((*byte)(unsafe.Add(dst, i*ldd)), n), unsafe.Slice((*byte)(unsafe.Add(src, i*lds)), n))
	}
}
