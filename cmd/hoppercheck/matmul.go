package main

import (
	"context"
	"fmt"

	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/internal/replay"
)

// matmul prepares a product of cuBLASLt.
func matmul(p *golden.Matmul) product {
	x := product{
		name:  fmt.Sprintf("%s*%s %dx%dx%d %s %s", p.A, p.B, p.M, p.N, p.K, p.Layout, p.Out),
		flops: 2 * float64(p.M) * float64(p.N) * float64(p.K),
		parts: p.Parts(), most: min(maxSplit, p.K/64),
		replay: func(ctx context.Context, parts int) (string, error) {
			return replay.Matmul(p, parts, gemm.WithContext(ctx))
		},
	}
	if p.Scales != "none" {
		x.name += " scaled by " + p.Scales
	}
	if p.Alpha != 1 || p.Beta != 0 {
		x.name += fmt.Sprintf(" alpha %v beta %v", p.Alpha, p.Beta)
	}
	if p.Bias {
		x.name += " bias"
	}
	if p.Activation != "identity" {
		x.name += " " + p.Activation
	}
	if p.Promoted {
		x.name += " promoted"
	}
	if p.Promoted || p.Whole { // the parts are of the arithmetic, or there are none
		x.most = 0
	}
	return x
}
