// Command leafhopper measures Leafhopper's own product with the harness of the
// Go peers. Its times must agree with gemmbench's, or one of the two clocks is
// wrong.
package main

import (
	"example.com/leafhopper/bench/peers/go/harness"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

func main() { harness.Main(harness.Library{Name: "leafhopper", Prepare: prepare}) }

func prepare(p *harness.Product, threads int) (*harness.Call, error) {
	if p.BF16 {
		a, b := make([]bf16.BF16, len(p.A)), make([]bf16.BF16, len(p.B))
		bf16.Encode(a, p.A)
		bf16.Encode(b, p.B)
		return multiply(p, a, b, threads), nil
	}
	return multiply(p, p.A, p.B, threads), nil
}

func multiply[T gemm.Element](p *harness.Product, dataA, dataB []T, threads int) *harness.Call {
	a, b := gemm.Of(p.M, p.K, dataA), gemm.Of(p.K, p.N, dataB)
	if p.Trans {
		b = gemm.Of(p.N, p.K, dataB).T()
	}
	c := gemm.NewMatrix[float32](p.M, p.N)
	return &harness.Call{
		Run:    func() error { return gemm.Multiply(c, a, b, gemm.WithWorkers(threads)) },
		Result: func() []float32 { return c.Data },
	}
}
