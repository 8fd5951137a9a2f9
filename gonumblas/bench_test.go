package gonumblas_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/mat"

	"example.com/leafhopper/gonumblas"
)

// BenchmarkBesideGonum has this package and gonum compute the same by turns, as often as makes 50 microseconds, and
// reports the median of how many times as fast it is.
func BenchmarkBesideGonum(b *testing.B) {
	besideGonum[float32](b)
	besideGonum[float64](b)
}

func besideGonum[F float](b *testing.B) {
	_, letter, _ := typeOf[F]()
	r := rand.New(rand.NewPCG(1, 2))
	for _, routine := range routines {
		for _, n := range []int{8, 16, 32, 64, 128, 256, 512} {
			for _, t := range []string{"NN", "NT", "TN", "TT"} {
				p := &call[F]{routine: routine, s: blas.Left, ul: blas.Lower, tA: blas.Transpose(t[0]), d: blas.NonUnit,
					tB: blas.Transpose(t[1]), m: n, n: n, k: n, alpha: 1}
				if t[1] == 'T' { // for who has no B to transpose
					p.s, p.ul = blas.Right, blas.Upper
				}
				p.fill(r, 0)
				c := slices.Clone(p.c)
				b.Run(fmt.Sprintf("%c%s/%d/%s", letter, routine, n, t), func(b *testing.B) {
					beside(b, func() { copy(p.c, c) }, p.of) // what is computed in place would grow
				})
			}
		}
	}
}

// BenchmarkMat does the same with what package mat makes of them.
func BenchmarkMat(b *testing.B) {
	defer blas64.Use(gonum.Implementation{})
	r := rand.New(rand.NewPCG(1, 3))
	for _, n := range []int{100, 1000} {
		x, spd := mat.NewDense(n, n, nil), mat.NewSymDense(n, nil)
		for i := range n * n {
			x.Set(i/n, i%n, r.NormFloat64())
		}
		spd.SymOuterK(1, x)
		var c mat.Dense
		var cholesky mat.Cholesky
		var lu mat.LU
		var qr mat.QR
		var svd mat.SVD
		for _, of := range []struct {
			name string
			do   func()
		}{
			{"Mul", func() { c.Mul(x, x) }},
			{"Inverse", func() { c.Inverse(x) }},
			{"Cholesky", func() { cholesky.Factorize(spd) }},
			{"LU", func() { lu.Factorize(x) }},
			{"QR", func() { qr.Factorize(x) }},
			{"SVD", func() { svd.Factorize(x, mat.SVDThin) }},
		} {
			b.Run(fmt.Sprintf("%s/%d", of.name, n), func(b *testing.B) {
				beside(b, func() {}, func(impl library) {
					blas64.Use(impl)
					of.do()
				})
			})
		}
	}
}

func beside(b *testing.B, reset func(), run func(impl library)) {
	const enough = 50 * time.Microsecond
	start := time.Now()
	run(gonum.Implementation{})
	times := int(enough/max(time.Since(start), 1)) + 1
	var ratios []float64
	for b.Loop() {
		var took [2]time.Duration
		for i, impl := range []library{gonum.Implementation{}, gonumblas.Implementation{}} {
			reset()
			start := time.Now()
			for range times {
				run(impl)
			}
			took[i] = time.Since(start)
		}
		ratios = append(ratios, float64(took[0])/float64(took[1]))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "times-gonum")
	b.ReportMetric(0, "ns/op")
}
