package asm

import "unsafe"

// TransposeWidth is the most rows that Transpose transposes at once.
const TransposeWidth = 32

// Transpose writes the transpose of rows of n float32, which lie stride bytes apart, at most TransposeWidth of them: row j of
// dst, which is TransposeWidth long, is column j of src, and then zeros.
func Transpose(dst, src unsafe.Pointer, stride, rows, n int) {
	if rows > 0 && n > 0 && !transpose(dst, src, stride, rows, n) {
		transposeGeneric(dst, src, stride, rows, n)
	}
}

// transposeGeneric is the twin of the assembly.
func transposeGeneric(dst, src unsafe.Pointer, stride, rows, n int) {
	to := unsafe.Slice((*float32)(dst), TransposeWidth*n)
	clear(to)
	for i := range rows {
		for j, x := range unsafe.Slice((*float32)(unsafe.Add(src, i*stride)), n) {
			to[j*TransposeWidth+i] = x
		}
	}
}
