package gemm_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/fp8"
	"example.com/leafhopper/gemm"
)

// BenchmarkWeights multiplies an A of bf16 by weights in bf16 and in fp8, in turns, on one worker, and reports the
// median of the ratios of their times, and how fast the fp8 is read.
func BenchmarkWeights(b *testing.B) {
	for _, d := range [][3]int{
		{1, 4096, 4096}, {8, 4096, 4096}, {16, 4096, 4096}, {32, 4096, 4096}, {64, 4096, 4096},
		{64, 64, 64}, {128, 128, 128}, {512, 512, 512}, {1024, 1024, 1024},
	} {
		for _, trans := range []bool{false, true} {
			layout := "NN"
			if trans {
				layout = "NT"
			}
			b.Run(fmt.Sprintf("%dx%dx%d/%s", d[0], d[1], d[2], layout), func(b *testing.B) {
				benchmarkWeights(b, d[0], d[1], d[2], trans)
			})
		}
	}
}

func benchmarkWeights(b *testing.B, m, n, k int, trans bool) {
	s := size(m, n, k)
	s.tb = trans
	o := build[float32, bf16.BF16](b, s)
	defer o.free()
	narrow, free := matrix[fp8.E4M3](b, k, n, 0, trans, true)
	defer free()
	for i := range k {
		for j := range n {
			narrow.Set(i, j, fp8.E4M3FromFloat32(o.b.At(i, j).Float32()))
		}
	}
	calls := max(1, 1e8/(2*m*n*k)) // that take about a millisecond
	multiply := func(weights gemm.AnyMatrix) float64 {
		start := time.Now()
		for range calls {
			if err := testEngine.Multiply(o.c, o.a, weights, gemm.WithWorkers(1)); err != nil {
				b.Fatal(err)
			}
		}
		return float64(time.Since(start)) / float64(calls)
	}
	var ratios, times []float64
	for b.Loop() {
		wide := multiply(o.b)
		times = append(times, multiply(narrow))
		ratios = append(ratios, wide/times[len(times)-1])
	}
	slices.Sort(ratios)
	slices.Sort(times)
	b.ReportMetric(ratios[len(ratios)/2], "bf16/fp8")
	b.ReportMetric(float64(n*k)/times[len(times)/2], "GB/s")
}
