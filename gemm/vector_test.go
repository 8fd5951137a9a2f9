package gemm_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// TestVector multiplies matrices by vectors. The bits are those of a product whose C is
// a column of a wider matrix, and so not a row of its transpose.
func TestVector(t *testing.T) {
	t.Run("bf16-f32", testVector[float32, bf16.BF16])
	t.Run("f16-bf16", testVector[bf16.BF16, float16.Float16])
	t.Run("f32-f32", testVector[float32, float32])
}

func testVector[O gemm.Output, I gemm.Element](t *testing.T) {
	for _, k := range asm.Kernels() {
		name := k.Name
		if !k.Accepts(typeOf[I]()) || k.Supported() != nil {
			continue
		}
		for i, tc := range []struct{ m, k int }{
			{2000, 1}, {1, 2000}, {33, 33}, {70, 300}, {520, 513}, {1001, 40}, {30000, 3},
		} {
			if tc.m*tc.k > 1<<15 && (slowKernel(name) || raceEnabled) {
				continue
			}
			for _, layout := range []struct{ ta, tb bool }{{}, {ta: true}, {tb: true}} {
				t.Run(fmt.Sprint(name, tc, layout), func(t *testing.T) {
					s := size(tc.m, 1, tc.k, gemm.WithKernel(name), gemm.WithArithmetic(k.Arithmetic))
					s.ta, s.tb, s.padC = layout.ta, layout.tb, 1
					s.seed, s.padA, s.padB = uint64(i), i%3, i%2
					if i%3 == 1 {
						s.alpha, s.beta = 0.75, -1.5
					}
					want := product[O, I](t, s)
					s.padC = 0
					for _, workers := range []int{1, 3} {
						for _, packed := range []bool{false, true} {
							s := s
							s.opts, s.packed = append(slices.Clip(s.opts), gemm.WithWorkers(workers)), packed
							sameAs[O, I](t, s, want)
						}
					}
				})
			}
		}
	}
}
