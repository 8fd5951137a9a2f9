package bench

import (
	"os"
	"runtime"
	"slices"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/gemm"
	"golang.org/x/perf/benchfmt"
)

// BenchmarkMultiply reports GFLOP/s and the share of the peak that is measured
// right before and after. benchstat takes the names apart:
//
//	go test -run '^$' -bench Multiply -count 10 ./bench | tee new.txt
//	benchstat -col /depth -filter '/dtype:bf16' new.txt
func BenchmarkMultiply(b *testing.B) {
	engine := newTestEngine(b)
	units := benchfmt.NewWriter(os.Stdout)
	for _, u := range benchUnits {
		if err := units.Write(u); err != nil {
			b.Fatal(err)
		}
	}
	all := runtime.GOMAXPROCS(0)
	for _, t := range append(floatTypes[:3:3], asm.F64) {
		for _, n := range []int{64, 256, 1024, 2048} {
			for _, depth := range []int{0, 1, 2, 4} { // 0 is auto: the engine chooses
				for _, workers := range slices.Compact([]int{1, all}) {
					b.Run(benchName(t.String(), n, n, n, depth, workers), func(b *testing.B) {
						benchmarkMultiply(b, engine, t, n, depth, workers)
					})
				}
			}
		}
	}
}

func benchmarkMultiply(b *testing.B, engine *gemm.Engine, t asm.Type, n, depth, workers int) {
	k, err := asm.Select(t, "")
	if err != nil {
		b.Fatal(err)
	}
	w := Workload{M: n, N: n, K: n, In: t, Out: SumType(t), Alpha: 1, Seed: 1}
	a, bm, _ := newOperands(b.Context(), w)
	c := newOperand(w.Out, n, n, false)
	opts := []gemm.Option{gemm.WithWorkers(workers)}
	if depth > 0 {
		opts = append(opts, gemm.WithDepth(depth))
	}
	// Warm, and C's pages are there.
	if err := engine.Multiply(c.view, a.view, bm.view, opts...); err != nil {
		b.Fatal(err)
	}
	peak := func() float64 {
		p, err := Peak(b.Context(), k, workers, DefaultPeakTime)
		if err != nil {
			b.Fatal(err)
		}
		return p
	}
	before := peak()
	b.ReportAllocs()
	for b.Loop() {
		if err := engine.Multiply(c.view, a.view, bm.view, opts...); err != nil {
			b.Fatal(err)
		}
	}
	seconds := b.Elapsed().Seconds() / float64(b.N)
	flops := w.Flops() / seconds
	b.ReportMetric(flops/1e9, "GFLOP/s")
	b.ReportMetric(100*flops/max(before, peak()), "%peak")
}
