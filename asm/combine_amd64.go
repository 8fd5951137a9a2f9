//go:build amd64 && !purego

package asm

import "unsafe"

var hasAVX = features["AVX"]

// combine is combineGeneric in AVX; cols is a positive multiple of 8 and rows is positive.
//
//go:noescape
func combine(dst unsafe.Pointer, ldd int, acc unsafe.Pointer, lda, rows, cols int, alpha, beta float32)

// add is combine for factors of 1, of any number of rows.
//
//go:noescape
func add(dst unsafe.Pointer, ldd int, acc unsafe.Pointer, lda, rows, cols int)

// copyRows is copyRowsGeneric in AVX; n is a positive multiple of copyUnit and rows is positive.
//
//go:noescape
func copyRows(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int)
