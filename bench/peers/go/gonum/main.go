// Command gonum measures gonum's matrix products in float32 and float64.
package main

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"example.com/leafhopper/bench/peers/go/harness"
)

func main() { harness.Main(harness.Library{Name: "gonum", Prepare: prepare}) }

func prepare(p *harness.Product, _ int) (*harness.Call, error) {
	trans, stride := blas.NoTrans, p.N
	if p.Trans {
		trans, stride = blas.Trans, p.K
	}
	a, b, lib := p.A, p.B, gonum.Implementation{}
	var c harness.Values
	var run func() error
	switch p.DType {
	case harness.F32:
		c.F32 = make([]float32, p.M*p.N)
		run = func() error {
			lib.Sgemm(blas.NoTrans, trans, p.M, p.N, p.K, 1, a.F32, p.K, b.F32, stride, 0, c.F32, p.N)
			return nil
		}
	case harness.F64:
		c.F64 = make([]float64, p.M*p.N)
		run = func() error {
			lib.Dgemm(blas.NoTrans, trans, p.M, p.N, p.K, 1, a.F64, p.K, b.F64, stride, 0, c.F64, p.N)
			return nil
		}
	default:
		return nil, harness.ErrUnsupported
	}
	return &harness.Call{Run: run, Result: func() harness.Values { return c }}, nil
}
