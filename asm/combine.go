package asm

import "unsafe"

// Combine sets rows x cols elements of dst to alpha·acc + beta·dst, or to alpha·acc without reading dst if beta is 0.
// Products and the sum are each rounded. Rows of dst lie ldd bytes apart, rows of acc lda bytes.
func Combine(dst unsafe.Pointer, ldd int, acc unsafe.Pointer, lda, rows, cols int, alpha, beta float32) {
	whole := 0
	switch {
	case hasAVX && alpha == 1 && beta == 1:
		if ldd == cols*4 && lda == ldd {
			rows, cols = 1, rows*cols
		}
		if whole = cols &^ 7; whole > 0 {
			add(dst, ldd, acc, lda, rows, whole)
		}
	case hasAVX:
		whole = cols &^ 7
		for i := 0; whole > 0 && i < rows; i += combineRows {
			combine(unsafe.Add(dst, i*ldd), ldd, unsafe.Add(acc, i*lda), lda,
				min(rows-i, combineRows), whole, alpha, beta)
		}
	}
	if whole < cols {
		combineGeneric(unsafe.Add(dst, whole*4), ldd, unsafe.Add(acc, whole*4), lda, rows, cols-whole, alpha, beta)
	}
}

// combineRows bounds the rows of one call in assembly, for rows as wide as a tile of C may be.
const combineRows = 16

// combineGeneric is the twin of combine, for any number of columns.
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
