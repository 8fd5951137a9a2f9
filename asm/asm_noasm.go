//go:build !amd64 || purego

package asm

import "unsafe"

// assembled says that this build has none.
const assembled = false

// No kernel has functions in assembly.
var (
	avx512BF16, avx512, avx2, amx, avx512F64, avx2F64, hopper512, hopper256 functions

	withoutTiles = goTiles
)

// Nor has what works on rows: their callers do all in Go.

func applyVectors(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, cols int, v Vector, how pass) bool {
	return false
}

func combineVectors(
	t Type, dst unsafe.Pointer, ldd int, acc unsafe.Pointer, lda, rows, cols int, alpha, beta float64,
) int {
	return 0
}

func copyVectors(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int) bool {
	return false
}

func roundVectors(t Type, dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int, past bool) bool {
	return false
}

func transposeVectors(t Type, dst, src unsafe.Pointer, stride, rows, n int) bool { return false }

func widenVectors(t Type, dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int) bool {
	return false
}
