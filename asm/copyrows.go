package asm

import "unsafe"

// CopyRows copies rows of n bytes, which lie lds bytes apart, to rows ldd bytes apart, and brings rows to come
// closer: those of a matrix lie on pages of their own, where the hardware prefetches nothing. The memory of dst and
// src must not overlap.
func CopyRows(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int) {
	if !copyVectors(dst, ldd, src, lds, rows, n) {
		copyRowsGeneric(dst, ldd, src, lds, rows, n)
	}
}

// copyRowsGeneric is the twin of copyVectors, for any number of bytes.
func copyRowsGeneric(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int) {
	for i := range rows {
		copy(unsafe.Slice((*byte)(unsafe.Add(dst, i*ldd)), n), unsafe.Slice((*byte)(unsafe.Add(src, i*lds)), n))
	}
}
