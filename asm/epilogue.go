package asm

import (
	"unsafe"

	"github.com/x448/float16"

	"example.com/leafhopper/bf16"
)

// Combine sets rows x cols elements of dst, of type t, F32 or F64, to alpha·acc + beta·dst, or to alpha·acc without
// reading dst if beta is 0. The factors are rounded to t, and so are products and the sum, each. Rows of dst lie ldd
// bytes apart, rows of acc lda bytes.
func Combine(t Type, dst unsafe.Pointer, ldd int, acc unsafe.Pointer, lda, rows, cols int, alpha, beta float64) {
	size := t.Size()
	if ldd == cols*size && lda == ldd && alpha == 1 && beta == 1 {
		rows, cols = 1, rows*cols
	}
	done := combineVectors(t, dst, ldd, acc, lda, rows, cols, alpha, beta)
	if done == cols {
		return
	}
	dst, acc = unsafe.Add(dst, done*size), unsafe.Add(acc, done*size)
	if t == F64 {
		combineGeneric(dst, ldd, acc, lda, rows, cols-done, alpha, beta)
	} else {
		combineGeneric(dst, ldd, acc, lda, rows, cols-done, float32(alpha), float32(beta))
	}
}

// combineGeneric is the twin of combineVectors, for any number of columns.
func combineGeneric[F float](dst unsafe.Pointer, ldd int, acc unsafe.Pointer, lda, rows, cols int, alpha, beta F) {
	for i := range rows {
		d := unsafe.Slice((*F)(unsafe.Add(dst, i*ldd)), cols)
		a := unsafe.Slice((*F)(unsafe.Add(acc, i*lda)), cols)
		if beta == 0 {
			for j, x := range a {
				d[j] = alpha * x
			}
			continue
		}
		for j, x := range a {
			d[j] = F(alpha*x) + F(beta*d[j])
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

// TransposeBytes are those of the most rows' elements that Transpose transposes at once.
const TransposeBytes = 128

// Transpose writes the transpose of rows of n elements of t, F32 or F64, which lie stride bytes apart, at most as many
// as TransposeBytes hold elements: row j of dst, which is so long, is column j of src, and then zeros.
func Transpose(t Type, dst, src unsafe.Pointer, stride, rows, n int) {
	if rows > 0 && n > 0 && !transposeVectors(t, dst, src, stride, rows, n) {
		packGeneric(t, 1, TransposeBytes/t.Size(), true, dst, src, stride, rows, n) // a panel is just that
	}
}
