package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/fp8"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/golden"
)

// scaled prepares a product in tf32 or fp8.
func scaled(p *golden.ScaledProduct) product {
	x := product{
		name:  fmt.Sprintf("%s*%s %dx%dx%d %s %s", p.A, p.B, p.M, p.N, p.K, p.Layout, p.Out),
		flops: 2 * float64(p.M) * float64(p.N) * float64(p.K),
		parts: p.Parts(), most: min(maxSplit, p.K/64),
		replay: func(ctx context.Context, parts int) (string, error) { return replayScaled(ctx, p, parts) },
	}
	if p.Scales != "none" {
		x.name += " scaled by " + p.Scales
	}
	if p.Bias {
		x.name += " bias"
	}
	if p.Promoted {
		x.name += " promoted"
		x.most = 0 // the parts are of the arithmetic
	}
	return x
}

// replayScaled computes p.
func replayScaled(ctx context.Context, p *golden.ScaledProduct, parts int) (string, error) {
	var data []byte
	var err error
	if p.Out == "bf16" {
		c := gemm.NewMatrix[bf16.BF16](p.M, p.N)
		err = multiplyScaled(ctx, c, p, parts)
		for _, v := range c.Data {
			data = binary.LittleEndian.AppendUint16(data, v.Bits())
		}
	} else {
		c := gemm.NewMatrix[float32](p.M, p.N)
		err = multiplyScaled(ctx, c, p, parts)
		for _, v := range c.Data {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
	}
	if err != nil {
		return "", err
	}
	return differC(p.Out, data, p.Row, len(p.Row)/p.N, p.CRC), nil
}

// multiplyScaled sets C to p.
func multiplyScaled(ctx context.Context, c gemm.AnyMatrix, p *golden.ScaledProduct, parts int) error {
	var a, b gemm.AnyMatrix
	e4m3 := func(i, seed uint32) fp8.E4M3 { return fp8.E4M3FromFloat32(golden.Element(i, seed)) }
	e5m2 := func(i, seed uint32) fp8.E5M2 { return fp8.E5M2FromFloat32(golden.Element(i, seed)) }
	switch p.A + p.B {
	case "tf32tf32":
		a, b = operands(p.M, p.N, p.K, p.Layout, golden.TF32Element, golden.TF32Element)
	case "e4m3e4m3":
		a, b = operands(p.M, p.N, p.K, p.Layout, e4m3, e4m3)
	case "e4m3e5m2":
		a, b = operands(p.M, p.N, p.K, p.Layout, e4m3, e5m2)
	case "e5m2e4m3":
		a, b = operands(p.M, p.N, p.K, p.Layout, e5m2, e4m3)
	default:
		a, b = operands(p.M, p.N, p.K, p.Layout, e5m2, e5m2)
	}
	e, err := gemm.New(gemm.WithArithmetic(gemm.Hopper))
	if err != nil {
		return err
	}
	defer e.Close()
	scaleA, scaleB, bias := p.ScalesAndBias()
	return e.Multiply(c, a, b, gemm.WithSplitK(parts), gemm.WithPromotion(p.Promotion()), gemm.WithContext(ctx),
		gemm.WithScales(scaleA, scaleB), gemm.WithBias(bias))
}

// differC says how C, as bytes of a type, differs from the GPU's first row and checksum, or "".
func differC(typ string, c, row []byte, size int, crc uint32) string {
	for at := 0; at < len(row); at += size {
		if got, want := number(c[at:], size), number(row[at:], size); got != want {
			return fmt.Sprintf("C(0, %d) in %s is %#0*x, the GPU's %#0*x", at/size, typ, 2*size, got, 2*size, want)
		}
	}
	if got := crc32.ChecksumIEEE(c); got != crc {
		return fmt.Sprintf("the first row agrees, but the checksum of C in %s is %#08x, the GPU's %#08x", typ, got, crc)
	}
	return ""
}

// number is the little-endian one of size bytes at b.
func number(b []byte, size int) (u uint32) {
	for i := range size {
		u |= uint32(b[i]) << (8 * i)
	}
	return u
}
