package gonumblas_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

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
				b.Run(fmt.Sprintf("%c%s/%d/%s", letter, routine, n, t), func(b *testing.B) { beside(b, p) })
			}
		}
	}
}

func beside[F float](b *testing.B, p *call[F]) {
	const enough = 50 * time.Microsecond
	start := time.Now()
	p.of(gonum.Implementation{})
	times := int(enough/max(time.Since(start), 1)) + 1
	var ratios []float64
	c := slices.Clone(p.c)
	for b.Loop() {
		var took [2]time.Duration
		for i, impl := range []library{gonum.Implementation{}, gonumblas.Implementation{}} {
			copy(p.c, c) // what is computed in place would grow
			start := time.Now()
			for range times {
				p.of(impl)
			}
			took[i] = time.Since(start)
		}
		ratios = append(ratios, float64(took[0])/float64(took[1]))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "times-gonum")
	b.ReportMetric(0, "ns/op")
}
