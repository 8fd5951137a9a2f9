package gemm_test

import (
	"testing"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// BenchmarkCall multiplies what is so small that the call counts, by Multiply and by an Engine.
func BenchmarkCall(b *testing.B) {
	e, err := gemm.New(gemm.WithWorkers(1))
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	small := gemm.NewMatrix[float32](8, 8)
	to, half := gemm.NewMatrix[float32](8, 8), gemm.NewMatrix[bf16.BF16](32, 32)
	packed, err := gemm.Pack(half)
	if err != nil {
		b.Fatal(err)
	}
	wide := gemm.NewMatrix[float32](32, 32)
	for _, call := range []struct {
		name string
		f    func() error
	}{
		{"8/f32", func() error { return gemm.Multiply(to, small, small) }},
		{"8/f32/one", func() error { return gemm.Multiply(to, small, small, gemm.WithWorkers(1)) }},
		{"8/f32/engine", func() error { return e.Multiply(to, small, small) }},
		{"32/bf16/packed", func() error { return gemm.Multiply(wide, half, packed) }},
		{"32/bf16/packed/engine", func() error { return e.Multiply(wide, half, packed) }},
	} {
		b.Run(call.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := call.f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
