//go:build !amd64 || purego

package asm

import "unsafe"

const hasAVX = false

func combine(dst unsafe.Pointer, ldd int, acc unsafe.Pointer, lda, rows, cols int, alpha, beta float32) {
	combineGeneric(dst, ldd, acc, lda, rows, cols, alpha, beta)
}

func add(dst unsafe.Pointer, ldd int, acc unsafe.Pointer, lda, rows, cols int) {
	combineGeneric(dst, ldd, acc, lda, rows, cols, 1, 1)
}

func copyRows(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int) {
	copyRowsGeneric(dst, ldd, src, lds, rows, n)
}
