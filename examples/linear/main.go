// Linear computes layers of a network as PyTorch computes them on an H100 or H200, bit for bit, and compares checksums:
//
//	torch.nn.functional.linear(x, w, bias)                            in bf16
//	torch._addmm_activation(bias, x, w.t(), use_gelu=True)            in bf16, with GELU in the same kernel
//	torch._scaled_mm(x, w.t(), sx, sw, bias=bias, use_fast_accum=…)   in fp8, a scale for each row of x and of w
//
// In all y = x·wᵀ + bias, where w has a row for each output: for the engine w.T() is a view. Tensor cores leave sums
// in float32; there they are scaled, the bias is added, GELU is applied, and they are rounded once, to bf16. Without
// fast accumulation, PyTorch's default, sums in fp8 begin anew every 128 elements of K and are added up in float32.
//
// Elements are hashes of their indices, which linear.py makes in PyTorch.
package main

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"log"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/fp8"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/cli"
)

// value returns element i of a tensor in [-1, 1), by a seed.
func value(i int, seed uint32) float32 {
	x := uint32(i)*2654435761 + seed*40503
	for range 2 {
		x = (x>>16 ^ x) * 0x45d9f3b
	}
	x = x>>16 ^ x
	return (float32(x&0xffff) - 32768) / 32768
}

// tensor returns a matrix of such elements, which round converts.
func tensor[T gemm.Element](rows, cols int, seed uint32, round func(x float32) T) gemm.Matrix[T] {
	m := gemm.NewMatrix[T](rows, cols)
	for i := range m.Data {
		m.Data[i] = round(value(i, seed))
	}
	return m
}

// vector returns n such elements, made something of.
func vector(n int, seed uint32, of func(x float32) float32) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = of(value(i, seed))
	}
	return v
}

func scale(x float32) float32 { return max(x, -x) + 0.01 }
func bias(x float32) float32  { return bf16.FromFloat32(x).Float32() }

// linear returns the checksum of y = x·wᵀ + bias for inputs of k elements, in whatever way opts say.
func linear[T gemm.Element](rows, outputs, k int, round func(x float32) T, opts ...gemm.Option) uint32 {
	x, w := tensor(rows, k, 1, round), tensor(outputs, k, 2, round)
	y := gemm.NewMatrix[bf16.BF16](rows, outputs)
	opts = append(opts, gemm.WithArithmetic(gemm.Hopper), gemm.WithBias(vector(outputs, 5, bias)))
	if err := gemm.Multiply(y, x, w.T(), opts...); err != nil {
		log.Fatal(err)
	}
	bytes := make([]byte, 0, 2*len(y.Data))
	for _, v := range y.Data {
		bytes = binary.LittleEndian.AppendUint16(bytes, v.Bits())
	}
	return crc32.ChecksumIEEE(bytes)
}

func main() { cli.Print(run) }

func run(w io.Writer) error {
	show := func(layer, gpu string, there, here uint32) {
		fmt.Fprintf(w, "%-24s %s %10d, here %10d\n", layer, gpu, there, here)
	}
	show("bf16", "H100", 2488688206, linear(512, 512, 512, bf16.FromFloat32))
	show("bf16 with GELU", "H200", 281129556,
		linear(512, 512, 512, bf16.FromFloat32, gemm.WithActivation(gemm.GELUTanh)))
	scales := gemm.WithScales(vector(512, 3, scale), vector(512, 4, scale))
	e4m3 := fp8.E4M3FromFloat32
	show("fp8, fast accumulation", "H100", 3157618082, linear(512, 512, 1024, e4m3, scales))
	show("fp8", "H100", 714520773, linear(512, 512, 1024, e4m3, scales, gemm.WithPromotion(128)))
	return nil
}
