package gemm_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"example.com/leafhopper/gemm"
)

// BenchmarkVector multiplies matrices by vectors on one worker, and in turns with it has gonum's Sgemv do so or,
// where K is three, a loop. It reports the median of how many times as fast it is, and if the second factor is
// packed, as the same product by one that is not.
func BenchmarkVector(b *testing.B) {
	for _, d := range [][2]int{
		{16, 16}, {32, 32}, {64, 64}, {100, 100}, {256, 256}, {1000, 768}, {768, 1000}, {1024, 1024},
		{2048, 2048}, {10000, 384}, {384, 10000}, {1000000, 3},
	} {
		n, k := d[0], d[1]
		for _, along := range []bool{false, true} {
			for _, column := range []bool{false, true} {
				for _, packed := range []bool{false, true} {
					name := fmt.Sprintf("1x%dx%d/", n, k)
					if column {
						name = fmt.Sprintf("%dx1x%d/", n, k)
					}
					name += map[bool]string{false: "across", true: "along"}[along]
					name += map[bool]string{false: "/plain", true: "/packed"}[packed]
					b.Run(name, func(b *testing.B) { benchmarkVector(b, n, k, along, column, packed) })
				}
			}
		}
	}
}

// benchmarkVector multiplies k elements by a matrix for n sums, in rows along K or across it. As a column they are B,
// else A.
func benchmarkVector(b *testing.B, n, k int, along, column, packed bool) {
	matrix, x := gemm.NewMatrix[float32](k, n), gemm.NewMatrix[float32](1, k)
	if along {
		matrix = gemm.NewMatrix[float32](n, k).T()
	}
	fill(matrix, func() float32 { return 1 })
	fill(x, func() float32 { return 1 })
	c, left, right := gemm.NewMatrix[float32](1, n), x, matrix
	if column {
		c, left = gemm.NewMatrix[float32](n, 1), matrix.T()
		right = gemm.Matrix[float32]{Rows: k, Cols: 1, Stride: 1, Data: x.Data}
	}
	y := make([]float32, n)
	var second gemm.Operand[float32] = right
	if packed {
		p, err := gemm.Pack(right)
		if err != nil {
			b.Fatal(err)
		}
		second = p
	}
	opts := []gemm.Option{gemm.WithWorkers(1)}
	multiply := func(right gemm.Operand[float32]) func() {
		return func() {
			if err := gemm.Multiply(c, left, right, opts...); err != nil {
				b.Fatal(err)
			}
		}
	}
	product := multiply(second)
	peer := func() {
		if along {
			gonum.Implementation{}.Sgemv(blas.NoTrans, n, k, 1, matrix.Data, k, x.Data, 1, 0, y, 1)
		} else {
			gonum.Implementation{}.Sgemv(blas.Trans, k, n, 1, matrix.Data, n, x.Data, 1, 0, y, 1)
		}
	}
	if k == 3 {
		peer = func() {
			if along {
				loopAlong(y, matrix.Data, x.Data)
			} else {
				loopAcross(y, matrix.Data, x.Data)
			}
		}
	}
	calls := 1 + 1<<17/(n*k)
	sample := func(f func()) float64 {
		for range 4 { // bring closer what the others have not read, as far as a cache keeps it
			f()
		}
		start := time.Now()
		for range calls {
			f()
		}
		return float64(time.Since(start))
	}
	var times, ratios, plain []float64
	for b.Loop() {
		t := sample(product)
		times, ratios = append(times, t/float64(calls)), append(ratios, sample(peer)/t)
		if packed {
			plain = append(plain, sample(multiply(right))/t)
		}
	}
	report := func(of []float64, name string) {
		slices.Sort(of)
		b.ReportMetric(of[len(of)/2], name)
	}
	report(times, "ns/product")
	report(ratios, "times")
	if packed {
		report(plain, "times-plain")
	}
}

// loopAlong sums rows along K, and loopAcross columns of rows across it, as one would without a library.
func loopAlong(y, matrix, x []float32) {
	for i := range y {
		var sum float32
		for j, v := range matrix[i*len(x):][:len(x)] {
			sum += v * x[j]
		}
		y[i] = sum
	}
}

func loopAcross(y, matrix, x []float32) {
	for i := range y {
		var sum float32
		for j, v := range x {
			sum += matrix[j*len(y)+i] * v
		}
		y[i] = sum
	}
}
