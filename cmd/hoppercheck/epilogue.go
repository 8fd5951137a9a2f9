package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/x448/float16"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/golden"
)

// finished prepares a product with an epilogue.
func finished(p *golden.EpilogueProduct) product {
	x := product{
		name:  fmt.Sprintf("%s %dx%dx%d %s alpha %v beta %v", p.DType, p.M, p.N, p.K, p.Layout, p.Alpha, p.Beta),
		flops: 2 * float64(p.M) * float64(p.N) * float64(p.K),
		parts: 1, most: min(maxSplit, p.K/64),
		replay: func(ctx context.Context, parts int) (string, error) {
			if p.DType == "bf16" {
				return replayFinished(ctx, p, parts, bf16.FromFloat32, bf16.BF16.Float32, bf16.BF16.Bits)
			}
			return replayFinished(ctx, p, parts, float16.Fromfloat32, float16.Float16.Float32, float16.Float16.Bits)
		},
	}
	if p.Bias {
		x.name += " bias"
	}
	if p.Activation != "identity" {
		x.name += " " + p.Activation
	}
	return x
}

var activations = map[string]gemm.Activation{"identity": gemm.Identity, "relu": gemm.ReLU, "gelutanh": gemm.GELUTanh}

// replayFinished computes p.
func replayFinished[T gemm.Output](
	ctx context.Context, p *golden.EpilogueProduct, parts int, round func(float32) T, widen func(T) float32, bits func(T) uint16,
) (string, error) {
	from := func(i, seed uint32) T { return round(golden.Element(i, seed)) }
	a, b := operands(p.M, p.N, p.K, p.Layout, from, from)
	c := gemm.NewMatrix[T](p.M, p.N)
	for i := range c.Data {
		c.Data[i] = from(uint32(i), golden.SeedC)
	}
	var bias []float32
	if p.Bias {
		for j := range p.N {
			bias = append(bias, widen(from(uint32(j), golden.SeedBias)))
		}
	}
	if err := gemm.Multiply(c, a, b, gemm.WithArithmetic(gemm.Hopper), gemm.WithSplitK(parts), gemm.WithContext(ctx),
		gemm.WithAlpha(p.Alpha), gemm.WithBeta(p.Beta), gemm.WithBias(bias), gemm.WithActivation(activations[p.Activation])); err != nil {
		return "", err
	}
	data := slices.Grow([]byte(nil), 2*len(c.Data))
	for _, v := range c.Data {
		data = binary.LittleEndian.AppendUint16(data, bits(v))
	}
	return differC(p.DType, data, p.Row, 2, p.CRC), nil
}
