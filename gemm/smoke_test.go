package gemm

import (
	"math/rand/v2"
	"testing"
	"fmt"

	"example.com/leafhopper/bf16"
)

func TestSmoke(t *testing.T) {
	for _, n := range []int{1, 7, 64, 130, 300, 700, 1100} {
		for tr := range 4 {
			for _, w := range []int{1, 2} {
				t.Run(fmt.Sprint(n, tr, w), func(t *testing.T) {
					m, k := n+3, n+9
					a, b := NewMatrix[bf16.BF16](m, k), NewMatrix[bf16.BF16](k, n)
					if tr&1 == 1 {
						a = NewMatrix[bf16.BF16](k, m).T()
					}
					if tr&2 == 2 {
						b = NewMatrix[bf16.BF16](n, k).T()
					}
					for i := range a.Data {
						a.Data[i] = bf16.FromFloat32(rand.Float32() - 0.5)
					}
					for i := range b.Data {
						b.Data[i] = bf16.FromFloat32(rand.Float32() - 0.5)
					}
					c := NewMatrix[float32](m, n)
					var st Stats
					if err := Multiply(c, a, b, WithWorkers(w), WithStats(&st)); err != nil {
						t.Fatal(err)
					}
					bad := 0
					for x := 0; x < 300; x++ {
						i, j := rand.IntN(m), rand.IntN(n)
						var s float64
						for l := range k {
							s += float64(a.At(i, l).Float32()) * float64(b.At(l, j).Float32())
						}
						if d := s - float64(c.At(i, j)); d > 1e-2 || d < -1e-2 {
							bad++
							if bad < 5 {
								t.Errorf("%d,%d: %v want %v", i, j, c.At(i, j), s)
							}
						}
					}
					t.Log(st)
				})
			}
		}
	}
}
