package gemm_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// BenchmarkBatch computes products that lie one after the other, as those of attention do, as a batch and, in turns
// with it, by a call for each, on all processors, and reports the median of the ratios of their times.
func BenchmarkBatch(b *testing.B) {
	for _, of := range [][4]int{
		{1000, 8, 8, 8}, {64, 64, 64, 64}, {12, 128, 128, 64}, {96, 128, 128, 64}, {32, 1, 512, 128},
		{256, 1, 512, 128}, {16, 512, 512, 64}, {20, 512, 512, 64}, {64, 256, 256, 256},
	} {
		name := fmt.Sprintf("%d_of_%dx%dx%d", of[0], of[1], of[2], of[3])
		b.Run(name+"/bf16", func(b *testing.B) { benchmarkBatch[bf16.BF16](b, of[0], of[1], of[2], of[3]) })
		b.Run(name+"/f32", func(b *testing.B) { benchmarkBatch[float32](b, of[0], of[1], of[2], of[3]) })
	}
}

func benchmarkBatch[I gemm.Element](b *testing.B, batch, m, n, k int) {
	r := rand.New(rand.NewPCG(2, 4))
	var all [2]gemm.Matrix[I]
	for i, rows := range []int{m, n} {
		all[i] = gemm.NewMatrix[I](batch*rows, k)
		fill(all[i], func() float32 { return ordinary(r) })
	}
	sums := gemm.NewMatrix[float32](batch*m, n)
	var c []matF32
	var x, y []gemm.Matrix[I]
	for i := range batch {
		c = append(c, gemm.Of(m, n, sums.Data[i*m*n:]))
		x = append(x, gemm.Of(m, k, all[0].Data[i*m*k:]))
		y = append(y, gemm.Of(n, k, all[1].Data[i*n*k:]).T())
	}
	timed := func(call func() error) float64 {
		start := time.Now()
		for range max(1, int(1e8)/(2*batch*m*n*k)) {
			if err := call(); err != nil {
				b.Fatal(err)
			}
		}
		return float64(time.Since(start))
	}
	var ratios []float64
	for b.Loop() {
		calls := timed(func() error {
			for i := range c {
				if err := gemm.Multiply(c[i], x[i], y[i]); err != nil {
					return err
				}
			}
			return nil
		})
		ratios = append(ratios, calls/timed(func() error { return gemm.MultiplyBatch(c, x, y) }))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "calls/batch")
}
