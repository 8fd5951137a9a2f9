package gonumblas_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// routines are those that the package overrides.
var routines = []string{"Sgemm", "Sgemv", "Ssymm", "Ssyrk", "Ssyr2k", "Strmm", "Strsm"}

// call is one of any routine: its arguments, of which it takes those that it has.
type call struct {
	routine       string
	s             blas.Side
	ul            blas.Uplo
	tA, tB        blas.Transpose
	d             blas.Diag
	m, n, k       int
	alpha, beta   float32
	a, b, c       []float32
	lda, ldb, ldc int // for Sgemv ldb and ldc are the increments of x, which is b, and y, which is c
}

func (p *call) of(impl blas.Float32) {
	switch p.routine {
	case "Sgemm":
		impl.Sgemm(p.tA, p.tB, p.m, p.n, p.k, p.alpha, p.a, p.lda, p.b, p.ldb, p.beta, p.c, p.ldc)
	case "Sgemv":
		impl.Sgemv(p.tA, p.m, p.n, p.alpha, p.a, p.lda, p.b, p.ldb, p.beta, p.c, p.ldc)
	case "Ssymm":
		impl.Ssymm(p.s, p.ul, p.m, p.n, p.alpha, p.a, p.lda, p.b, p.ldb, p.beta, p.c, p.ldc)
	case "Ssyrk":
		impl.Ssyrk(p.ul, p.tA, p.n, p.k, p.alpha, p.a, p.lda, p.beta, p.c, p.ldc)
	case "Ssyr2k":
		impl.Ssyr2k(p.ul, p.tA, p.n, p.k, p.alpha, p.a, p.lda, p.b, p.ldb, p.beta, p.c, p.ldc)
	case "Strmm":
		impl.Strmm(p.s, p.ul, p.tA, p.d, p.m, p.n, p.alpha, p.a, p.lda, p.c, p.ldc)
	case "Strsm":
		impl.Strsm(p.s, p.ul, p.tA, p.d, p.m, p.n, p.alpha, p.a, p.lda, p.c, p.ldc)
	default:
		panic(p.routine)
	}
}

// shapes returns the rows and columns of a, b and c as they are stored; b is empty where there is none.
func (p *call) shapes() [3][2]int {
	tall := func(t blas.Transpose, rows, cols int) [2]int {
		if t == blas.NoTrans {
			return [2]int{rows, cols}
		}
		return [2]int{cols, rows}
	}
	side := p.n
	if p.s == blas.Left {
		side = p.m
	}
	switch p.routine {
	case "Sgemm":
		return [3][2]int{tall(p.tA, p.m, p.k), tall(p.tB, p.k, p.n), {p.m, p.n}}
	case "Sgemv":
		y := tall(p.tA, p.m, p.n)
		return [3][2]int{{p.m, p.n}, {y[1], 1}, {y[0], 1}}
	case "Ssymm":
		return [3][2]int{{side, side}, {p.m, p.n}, {p.m, p.n}}
	case "Ssyrk":
		return [3][2]int{tall(p.tA, p.n, p.k), {}, {p.n, p.n}}
	case "Ssyr2k":
		return [3][2]int{tall(p.tA, p.n, p.k), tall(p.tA, p.n, p.k), {p.n, p.n}}
	default:
		return [3][2]int{{side, side}, {}, {p.m, p.n}}
	}
}

// fill gives the operands elements, between rows too, with the given space there. Triangular matrices get a diagonal
// that keeps solutions small.
func (p *call) fill(r *rand.Rand, space int) {
	shapes := p.shapes()
	for i, to := range []struct {
		data *[]float32
		ld   *int
	}{{&p.a, &p.lda}, {&p.b, &p.ldb}, {&p.c, &p.ldc}} {
		rows, cols := shapes[i][0], shapes[i][1]
		*to.ld = max(cols, 1) + space
		*to.data = make([]float32, max(0, (rows-1)**to.ld+cols))
		for j := range *to.data {
			(*to.data)[j] = float32(r.NormFloat64())
		}
	}
	if p.routine == "Strsm" || p.routine == "Strmm" {
		n := shapes[0][0]
		for i := range p.a {
			p.a[i] /= float32(n)
			if i/p.lda == i%p.lda {
				p.a[i]++
			}
		}
	}
}

// clone returns p with operands of its own.
func (p *call) clone() *call {
	q := *p
	q.a, q.b, q.c = slices.Clone(p.a), slices.Clone(p.b), slices.Clone(p.c)
	return &q
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// random returns a call with sizes up to most.
func random(r *rand.Rand, routine string, most int) *call {
	size := func() int { return 1 + r.IntN(most) }
	p := &call{
		routine: routine,
		s:       pick(r, blas.Left, blas.Right),
		ul:      pick(r, blas.Lower, blas.Upper),
		tA:      pick(r, blas.NoTrans, blas.Trans, blas.ConjTrans),
		tB:      pick(r, blas.NoTrans, blas.Trans, blas.ConjTrans),
		d:       pick(r, blas.Unit, blas.NonUnit),
		m:       size(), n: size(), k: size(),
		alpha: pick[float32](r, 1, -1, 0.5, 0), beta: pick[float32](r, 0, 1, -0.25),
	}
	p.fill(r, r.IntN(3))
	return p
}

// exactly returns what c must be, and how large the terms are that its elements are sums of, both in float64. For
// Strsm, whose result must be in p.c, it is what op(A)·X is, or X·op(A).
func (p *call) exactly() (c, terms []float64) {
	run := func(f func(float64) float64) []float64 {
		wide := func(s []float32) []float64 {
			w := make([]float64, len(s))
			for i, v := range s {
				w[i] = f(float64(v))
			}
			return w
		}
		impl, alpha, beta := gonum.Implementation{}, f(float64(p.alpha)), f(float64(p.beta))
		a, b, c := wide(p.a), wide(p.b), wide(p.c)
		switch p.routine {
		case "Sgemm":
			impl.Dgemm(p.tA, p.tB, p.m, p.n, p.k, alpha, a, p.lda, b, p.ldb, beta, c, p.ldc)
		case "Sgemv":
			impl.Dgemv(p.tA, p.m, p.n, alpha, a, p.lda, b, p.ldb, beta, c, p.ldc)
		case "Ssymm":
			impl.Dsymm(p.s, p.ul, p.m, p.n, alpha, a, p.lda, b, p.ldb, beta, c, p.ldc)
		case "Ssyrk":
			impl.Dsyrk(p.ul, p.tA, p.n, p.k, alpha, a, p.lda, beta, c, p.ldc)
		case "Ssyr2k":
			impl.Dsyr2k(p.ul, p.tA, p.n, p.k, alpha, a, p.lda, b, p.ldb, beta, c, p.ldc)
		case "Strmm":
			impl.Dtrmm(p.s, p.ul, p.tA, p.d, p.m, p.n, alpha, a, p.lda, c, p.ldc)
		case "Strsm":
			impl.Dtrmm(p.s, p.ul, p.tA, p.d, p.m, p.n, 1, a, p.lda, c, p.ldc)
		}
		return c
	}
	return run(func(v float64) float64 { return v }), run(math.Abs)
}

// writes reports whether element at of c is one that the routine computes.
func (p *call) writes(at int) bool {
	shape := p.shapes()[2]
	i, j := at/p.ldc, at%p.ldc
	if i >= shape[0] || j >= shape[1] {
		return false
	}
	if p.routine == "Ssyrk" || p.routine == "Ssyr2k" {
		return i == j || (i > j) == (p.ul == blas.Lower)
	}
	return true
}

// check compares what was computed of p, in got, with what must be.
func (p *call) check(t *testing.T, got []float32) {
	t.Helper()
	q, sums := p, max(p.k, 1)
	switch p.routine {
	case "Ssyr2k":
		sums *= 2
	case "Ssymm", "Strmm", "Strsm", "Sgemv":
		sums = max(p.m, p.n)
	}
	if p.routine == "Strsm" {
		q = p.clone()
		copy(q.c, got)
	}
	want, terms := q.exactly()
	for at, v := range got {
		if !p.writes(at) {
			if math.Float32bits(v) != math.Float32bits(p.c[at]) {
				t.Fatalf("%v: element %d of c is %v, was %v", p, at, v, p.c[at])
			}
			continue
		}
		is, must, bound := float64(v), want[at], terms[at]
		if p.routine == "Strsm" { // the residual
			is, must = must, float64(p.alpha)*float64(p.c[at])
			bound += math.Abs(must)
		}
		if diff := math.Abs(is - must); !(diff <= bound*float64(sums+8)/(1<<24)) {
			t.Fatalf("%v: element %d of c is %v, want %v, terms %v", p, at, is, must, bound)
		}
	}
}

func (p *call) String() string {
	return fmt.Sprintf("%s %c%c%c%c%c %dx%dx%d alpha %v beta %v ld %d %d %d", p.routine, p.s, p.ul, p.tA, p.tB, p.d,
		p.m, p.n, p.k, p.alpha, p.beta, p.lda, p.ldb, p.ldc)
}
