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
		a, b := gemm.NewMatrix[bf16.BF16](p.M, p.K), gemm.NewMatrix[bf16.BF16](p.K, p.N)
		bf16.Encode(a.Data, p.A)
		bf16.Encode(b.Data, p.B)
		return multiply(a, b, threads), nil
	}
	return multiply(
		gemm.Matrix[float32]{Rows: p.M, Cols: p.K, Stride: p.K, Data: p.A},
		gemm.Matrix[float32]{Rows: p.K, Cols: p.N, Stride: p.N, Data: p.B},
		threads), nil
}

func multiply[T gemm.Element](a, b gemm.Matrix[T], threads int) *harness.Call {
	c := gemm.NewMatrix[float32](a.Rows, b.Cols)
	return &harness.Call{
		Run:    func() error { return gemm.Multiply(c, a, b, gemm.WithWorkers(threads)) },
		Result: func() []float32 { return c.Data },
	}
}
