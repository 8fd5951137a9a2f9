package asm

import (
	"unsafe"

	"github.com/x448/float16"

	"example.com/leafhopper/bf16"
)

// CombineHopper is [Combine] as cuBLAS's kernels for compute capability 9.0 compute it, for a C of type t: with a beta of
// 1, alpha·acc is rounded to t before the old C is added; with any other but 0, beta·C is rounded to float32 and the
// rest is one fused multiply-add. hopper/README.md has the records.
func CombineHopper(t Type, dst unsafe.Pointer, ldd int, acc unsafe.Pointer, lda, rows, cols int, alpha, beta float32) {
	if beta == 0 || beta == 1 && t == F32 {
		Combine(dst, ldd, acc, lda, rows, cols, alpha, beta)
		return
	}
	for i := range rows {
		d := unsafe.Slice((*float32)(unsafe.Add(dst, i*ldd)), cols)
		for j, x := range unsafe.Slice((*float32)(unsafe.Add(acc, i*lda)), cols) {
			switch {
			case beta != 1:
				d[j] = fma32(alpha, x, beta*d[j])
			case t == BF16:
				d[j] += bf16.FromFloat32(alpha * x).Float32()
			default:
				d[j] += float16.Fromfloat32(alpha * x).Float32()
			}
		}
	}
}
