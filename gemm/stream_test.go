package gemm_test

import (
	"fmt"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// TestStream compares products with few rows, which stream B, with the same
// products on the ring, bit for bit.
func TestStream(t *testing.T) {
	for _, name := range kernels(asm.BF16) {
		if slowKernel(name) || name == "goamx" {
			continue
		}
		for _, trans := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/NT=%t", name, trans), func(t *testing.T) {
				streamLikeRing[float32](t, name, trans, 1, 0)
				streamLikeRing[bf16.BF16](t, name, trans, 0.5, -2)
			})
		}
	}
}

func streamLikeRing[O gemm.Element](t *testing.T, name string, trans bool, alpha, beta float32) {
	const n, k = 517, 1043
	rows := []int{1, 3, 8, 9, 40, 64}
	if raceEnabled || testing.Short() {
		rows = []int{1, 9}
	}
	for _, m := range rows {
		var want []O
		for _, opt := range []gemm.Option{
			gemm.WithDepth(2), // names a ring
			gemm.WithWorkers(1),
			gemm.WithWorkers(2),
			gemm.WithWorkers(5),
		} {
			s := size(m, n, k, gemm.WithKernel(name), opt)
			s.tb, s.alpha, s.beta, s.padB = trans, alpha, beta, 3
			got := product[O, bf16.BF16](t, s)
			if want == nil {
				want = got
				continue
			}
			for i := range got {
				if bitsOf(got[i]) != bitsOf(want[i]) {
					t.Fatalf("m = %d: element %d is %v, on the ring %v", m, i, got[i], want[i])
				}
			}
		}
	}
}
