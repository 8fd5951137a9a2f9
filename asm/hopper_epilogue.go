package asm

import (
	"unsafe"

	"github.com/x448/float16"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/internal/hopper"
)

// CombineHopper is [Combine] as cuBLAS's kernels for compute capability 9.0 compute it, for a C of type t: with a
// beta of 1, alpha·acc is rounded to t before the old C is added; with any other but 0, beta·C is rounded to float32
// and the rest is one fused multiply-add; and each NaN is that of the GPU's instructions. hopper/README.md has the
// records.
func CombineHopper(t Type, dst unsafe.Pointer, ldd int, acc unsafe.Pointer, lda, rows, cols int, alpha, beta float32) {
	defer canonicalNaN(dst, ldd, rows, cols)
	if beta == 0 || beta == 1 && t == F32 {
		Combine(F32, dst, ldd, acc, lda, rows, cols, float64(alpha), float64(beta))
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

// ActivateHopper is [Activate], but with [GELUTanh] as cuBLASLt's epilogues compute it there, with the instruction
// tanh.approx.f32: it is a zero below -4.9 already, and a NaN of -Inf; and each NaN is that of the GPU's instructions.
func ActivateHopper(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, cols int, bias Vector, f Activation) {
	defer canonicalNaN(dst, ldd, rows, cols)
	if f != GELUTanh {
		Activate(dst, ldd, src, lds, rows, cols, bias, f)
		return
	}
	Activate(dst, ldd, src, lds, rows, cols, bias, Identity)
	for i := range rows {
		d := unsafe.Slice((*float32)(unsafe.Add(dst, i*ldd)), cols)
		for j, x := range d {
			half := 0.5 * x
			d[j] = fma32(half, hopper.TanhApprox(x*fma32(geluHopper3*x, x, geluHopper1)), half)
		}
	}
}

// canonicalNaN makes each NaN among rows x cols float32, whose rows lie pitch bytes apart, the one that the GPU's
// instructions give, which keep no payload. What it rounds to in 16 bits is theirs, too.
func canonicalNaN(at unsafe.Pointer, pitch, rows, cols int) {
	const nan, infinity = 1<<31 - 1, 0xff << 23 // nan is all bits but the sign, too
	for i := range rows {
		row := unsafe.Slice((*uint32)(unsafe.Add(at, i*pitch)), cols)
		found := uint32(0)
		for _, x := range row { // without a branch, as most rows have none
			found |= x&nan + nan - infinity
		}
		for j := 0; found > nan && j < cols; j++ {
			if row[j]&nan > infinity {
				row[j] = nan
			}
		}
	}
}

const (
	geluHopper1 = 0x1.988454p-1 // √(2/π)
	geluHopper3 = 0x1.2444fcp-5 // not quite 0.044715 times that, whose bits end in f2: as recorded
)
