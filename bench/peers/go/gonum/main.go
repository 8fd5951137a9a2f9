// Command gonum measures gonum's matrix product in float32.
package main

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"example.com/leafhopper/bench/peers/go/harness"
)

func main() { harness.Main(harness.Library{Name: "gonum", Prepare: prepare}) }

func prepare(p *harness.Product, _ int) (*harness.Call, error) {
	if p.BF16 {
		return nil, harness.ErrUnsupported
	}
	trans, stride := blas.NoTrans, p.N
	if p.Trans {
		trans, stride = blas.Trans, p.K
	}
	c := make([]float32, p.M*p.N)
	run := func() error {
		gonum.Implementation{}.Sgemm(blas.NoTrans, trans, p.M, p.N, p.K, 1, p.A, p.K, p.B, stride, 0, c, p.N)
		return nil
	}
	return &harness.Call{Run: run, Result: func() []float32 { return c }}, nil
}
