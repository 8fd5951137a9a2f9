package asm

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// TestCombine compares Combine with its twin bit for bit, and checks that
// nothing around the block is written and that beta = 0 reads no old value.
func TestCombine(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	special := []float32{0, float32(math.Copysign(0, -1)), 1, -1, float32(math.Inf(1)), float32(math.Inf(-1)),
		float32(math.NaN()), math.SmallestNonzeroFloat32, math.MaxFloat32, 1e-39}
	value := func() float32 {
		if r.IntN(4) == 0 {
			return special[r.IntN(len(special))]
		}
		return float32(math.Ldexp(r.Float64()-0.5, r.IntN(40)-20))
	}
	for _, rows := range []int{1, 2, 15, 16, 17, 40} {
		for cols := 1; cols <= 35; cols++ {
			for _, beta := range []float32{0, 1, -0.5, float32(math.NaN()), float32(math.Copysign(0, -1))} {
				for _, alpha := range []float32{1, 2.5} {
					ldd, lda := cols+r.IntN(2), cols+r.IntN(2)
					acc := make([]float32, rows*lda)
					got := make([]float32, rows*ldd+8)
					for i := range acc {
						acc[i] = value()
					}
					for i := range got {
						got[i] = value()
					}
					want := append([]float32(nil), got...)
					Combine(unsafe.Pointer(&got[0]), ldd*4, unsafe.Pointer(&acc[0]), lda*4, rows, cols, alpha, beta)
					combineGeneric(unsafe.Pointer(&want[0]), ldd*4, unsafe.Pointer(&acc[0]), lda*4, rows, cols, alpha,
						beta)
					for i := range got {
						g, w := math.Float32bits(got[i]), math.Float32bits(want[i])
						if g != w && !(got[i] != got[i] && want[i] != want[i]) {
							t.Fatalf("%d x %d alpha %v beta %v: element %d is %x, want %x", rows, cols, alpha, beta, i,
								g, w)
						}
					}
				}
			}
		}
	}
}
