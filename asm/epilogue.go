package asm

import (
	"unsafe"

	"github.com/x448/float16"

	"example.com/leafhopper/bf16"
)

// Combine sets rows x cols elements of dst to alpha·acc + beta·dst, or to alpha·acc without reading dst if beta is 0.
// Products and the sum are each rounded. Rows of dst lie ldd bytes apart, rows of acc lda bytes.
func Combine(dst unsafe.Pointer, ldd int, acc unsafe.Pointer, lda, rows, cols int, alpha, beta float32) {
	if ldd == cols*4 && lda == ldd && alpha == 1 && beta == 1 {
		rows, cols = 1, rows*cols
	}
	if done := combineVectors(dst, ldd, acc, lda, rows, cols, alpha, beta); done < cols {
		combineGeneric(unsafe.Add(dst, done*4), ldd, unsafe.Add(acc, done*4), lda, rows, cols-done, alpha, beta)
	}
}

// combineGeneric is the twin of combineVectors, for any number of columns.
func combineGeneric(dst unsafe.Pointer, ldd int, acc unsafe.Pointer, lda, rows, cols int, alpha, beta float32) {
	for i := range rows {
		d := unsafe.Slice((*float32)(unsafe.Add(dst, i*ldd)), cols)
		a := unsafe.Slice((*float32)(unsafe.Add(acc, i*lda)), cols)
		if beta == 0 {
			for j, x := range a {
				d[j] = alpha * x
			}
			continue
		}
		for j, x := range a {
			d[j] = float32(alpha*x) + float32(beta*d[j])
		}
	}
}

// RoundRows rounds rows of n float32, which lie lds bytes apart, to elements of t, BF16 or F16, in rows ldd bytes
// apart, and brings rows to come closer, as [CopyRows] does. With past, and if the rows of dst are whole lines of the
// cache, they are stored past the caches, and are there when it returns: to wait for that takes a hundred nanoseconds
// and more, so once for many rows.
func RoundRows(t Type, dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int, past bool) {
	if !roundVectors(t, dst, ldd, src, lds, rows, n, past) {
		roundRowsGeneric(t, dst, ldd, src, lds, rows, n)
	}
}

// roundRowsGeneric is the twin of roundVectors.
func roundRowsGeneric(t Type, dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int) {
	for i := range rows {
		to, from := unsafe.Add(dst, i*ldd), unsafe.Slice((*float32)(unsafe.Add(src, i*lds)), n)
		if t == BF16 {
			bf16.Encode(unsafe.Slice((*bf16.BF16)(to), n), from)
		} else {
			bf16.EncodeFloat16(unsafe.Slice((*float16.Float16)(to), n), from)
		}
	}
}

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

// TransposeWidth is the most rows that Transpose transposes at once.
const TransposeWidth = 32

// Transpose writes the transpose of rows of n float32, which lie stride bytes apart, at most TransposeWidth of them:
// row j of dst, which is TransposeWidth long, is column j of src, and then zeros.
func Transpose(dst, src unsafe.Pointer, stride, rows, n int) {
	if rows > 0 && n > 0 && !transposeVectors(dst, src, stride, rows, n) {
		packGeneric(F32, 1, TransposeWidth, true, dst, src, stride, rows, n) // a panel is just that
	}
}
