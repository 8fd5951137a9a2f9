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
	var c harness.Values
	if p.DType == harness.F64 {
		c.F64 = make([]float64, p.M*p.N)
	} else {
		c.F32 = make([]float32, p.M*p.N)
	}
	var run func() error
	switch p.DType {
	case harness.BF16:
		a, b := make([]bf16.BF16, len(p.A.F32)), make([]bf16.BF16, len(p.B.F32))
		bf16.Encode(a, p.A.F32)
		bf16.Encode(b, p.B.F32)
		run = multiply(p, threads, c.F32, a, b)
	case harness.F32:
		run = multiply(p, threads, c.F32, p.A.F32, p.B.F32)
	case harness.F64:
		run = multiply(p, threads, c.F64, p.A.F64, p.B.F64)
	}
	return &harness.Call{Run: run, Result: func() harness.Values { return c }}, nil
}

func multiply[O gemm.Output, I gemm.Element](p *harness.Product, threads int, c []O, a, b []I) func() error {
	matrixC, matrixA, matrixB := gemm.Of(p.M, p.N, c), gemm.Of(p.M, p.K, a), gemm.Of(p.K, p.N, b)
	if p.Trans {
		matrixB = gemm.Of(p.N, p.K, b).T()
	}
	return func() error { return gemm.Multiply(matrixC, matrixA, matrixB, gemm.WithWorkers(threads)) }
}
