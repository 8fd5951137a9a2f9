package gemm_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/gemm"
)

// defined is an element of C as package gemm defines it, of exact numbers that are rounded to float32 where the kernel
// rounds: K in blocks, each a chain from zero, and their sums in order.
func defined(kernel string, a, b []float32) (sum float32) {
	block := asm.F32.Block()
	for k0 := 0; k0 < len(a); k0 += block {
		var chain float32
		for k := k0; k < min(k0+block, len(a)); k++ {
			product := new(big.Float).SetPrec(512).Mul(big.NewFloat(float64(a[k])), big.NewFloat(float64(b[k])))
			if kernel == "go" { // it has no fused instruction
				rounded, _ := product.Float32()
				product.SetFloat64(float64(rounded))
			}
			chain, _ = product.Add(product, big.NewFloat(float64(chain))).Float32()
		}
		if k0 == 0 {
			sum = chain
		} else {
			sum += chain
		}
	}
	return sum
}

// TestDefinition compares a few elements of products on every route with their definition, of which nothing here is
// taken from what computes them.
func TestDefinition(t *testing.T) {
	processors(t, 4)
	block, routes := asm.F32.Block(), map[string]bool{}
	shapes := [][3]int{
		{1, 1, 40*block + 3}, {1, 300, 3*block - 1}, {3, 1000, 2 * block}, {16, 2048, 2*block + 1}, {70, 70, block + 5},
		{64, 40, 9 * block}, {300, 333, 2*block + 9}, {1100, 1030, block + 1},
	}
	eachKernel(t, asm.F32, func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		if k.Arithmetic != asm.Native {
			t.Skip("it is the hardware's")
		}
		for i, d := range shapes {
			m, n, depth := d[0], d[1], d[2]
			if slowKernel(k.Name) && m*n*depth > 1<<24 {
				continue
			}
			r := rand.New(rand.NewPCG(uint64(i), 38))
			a, b := gemm.NewMatrix[float32](m, depth), gemm.NewMatrix[float32](n, depth)
			c := gemm.NewMatrix[float32](m, n)
			for _, data := range [][]float32{a.Data, b.Data} {
				for j := range data {
					data[j] = float32(r.NormFloat64())
				}
			}
			var st gemm.Stats
			with := append(opts[:len(opts):len(opts)], gemm.WithWorkers(1+3*(i%2)), gemm.WithStats(&st))
			packed, err := gemm.Pack(b.T(), opts...)
			if err != nil {
				t.Fatal(err)
			}
			for j, of := range []gemm.Operand[float32]{b.T(), packed, b.T()} {
				if j == 2 {
					with = append(with, gemm.WithDepth(2))
				}
				if err := gemm.Multiply(c, a, of, with...); err != nil {
					t.Fatal(err)
				}
				routes[st.Route] = true
				for range 4 {
					row, col := r.IntN(m), r.IntN(n)
					want := defined(k.Name, a.Data[row*depth:][:depth], b.Data[col*depth:][:depth])
					if got := c.At(row, col); got != want {
						t.Fatalf("%v, %v: element (%d, %d) is %v, defined as %v",
							fmt.Sprint(d), &st, row, col, got, want)
					}
				}
			}
		}
	})
	if assembled := asm.Named("avx2").Mul != nil; assembled && len(routes) < 4 {
		t.Errorf("products took the routes %v alone", routes)
	}
}
