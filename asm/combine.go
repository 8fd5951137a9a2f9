package asm

import "unsafe"

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
