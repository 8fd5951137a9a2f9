package asm

import "unsafe"

// TransposeWidth is the most rows that Transpose transposes at once.
const TransposeWidth = 32

// Transpose writes the transpose of rows of n float32, which lie stride bytes apart, at most TransposeWidth of them:
// row j of dst, which is TransposeWidth long, is column j of src, and then zeros.
func Transpose(dst, src unsafe.Pointer, stride, rows, n int) {
	if rows > 0 && n > 0 && !transposeVectors(dst, src, stride, rows, n) {
		packGeneric(F32, 1, TransposeWidth, true, dst, src, stride, rows, n) // a panel is just that
	}
}
