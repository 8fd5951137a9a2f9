package gemm_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// BenchmarkFinish multiplies with a bias and GELU and without, in turns, and reports the median of the ratios of two
// that follow each other, and the quartiles.
func BenchmarkFinish(b *testing.B) {
	for _, d := range [][3]int{{128, 3072, 768}, {1, 4096, 4096}, {1024, 1024, 1024}, {2048, 2048, 2048}} {
		for _, workers := range []int{1, 2} {
			name := fmt.Sprintf("%dx%dx%d/workers=%d/", d[0], d[1], d[2], workers)
			b.Run(name+"f32-f32", func(b *testing.B) { benchmarkFinish[float32, float32](b, d, workers) })
			b.Run(name+"bf16-bf16", func(b *testing.B) { benchmarkFinish[bf16.BF16, bf16.BF16](b, d, workers) })
		}
	}
}

func benchmarkFinish[O gemm.Output, I gemm.Element](b *testing.B, d [3]int, workers int) {
	s := size(d[0], d[1], d[2])
	o := build[O, I](b, s)
	defer o.free()
	bias := make([]float32, s.n)
	opts := []gemm.Option{gemm.WithWorkers(workers), gemm.WithBias(bias), gemm.WithActivation(gemm.GELU)}
	multiply := func(opts []gemm.Option) float64 {
		start := time.Now()
		if err := gemm.Multiply(o.c, o.a, o.b, opts...); err != nil {
			b.Fatal(err)
		}
		return float64(time.Since(start))
	}
	var ratios []float64
	for b.Loop() {
		before := multiply(opts[:1])
		ratios = append(ratios, multiply(opts)/before)
	}
	slices.Sort(ratios)
	for q, name := range []string{"q1", "median", "q3"} {
		b.ReportMetric((ratios[len(ratios)*(q+1)/4]-1)*100, name+"-%")
	}
}
