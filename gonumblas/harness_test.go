package gonumblas_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"example.com/leafhopper/asm"
)

type float interface{ float32 | float64 }

// both runs a test for either type.
func both(t *testing.T, single, double func(t *testing.T)) {
	t.Run("float32", single)
	t.Run("float64", double)
}

// typeOf returns what package asm calls F, the letter of its routines and the unit of its rounding.
func typeOf[F float]() (t asm.Type, letter byte, unit float64) {
	if _, single := any(F(0)).(float32); single {
		return asm.F32, 'S', 0x1p-24
	}
	return asm.F64, 'D', 0x1p-53
}

// routines are those that the package overrides, for either type.
var routines = []string{"gemm", "gemv", "symm", "syrk", "syr2k", "trmm", "trsm"}

// call is one of any routine: its arguments, of which it takes those that it has.
type call[F float] struct {
	routine       string
	s             blas.Side
	ul            blas.Uplo
	tA, tB        blas.Transpose
	d             blas.Diag
	m, n, k       int
	alpha, beta   F
	a, b, c       []F
	lda, ldb, ldc int // for gemv ldb and ldc are the increments of x, which is b, and y, which is c
}

// library is gonum's implementation, or one by this package.
type library interface {
	blas.Float32
	blas.Float64
}

func (p *call[F]) of(impl library) {
	switch p := any(p).(type) {
	case *call[float32]:
		ofSingle(p, impl)
	case *call[float64]:
		ofDouble(p, impl)
	}
}

func ofSingle(p *call[float32], impl blas.Float32) {
	switch p.routine {
	case "gemm":
		impl.Sgemm(p.tA, p.tB, p.m, p.n, p.k, p.alpha, p.a, p.lda, p.b, p.ldb, p.beta, p.c, p.ldc)
	case "gemv":
		impl.Sgemv(p.tA, p.m, p.n, p.alpha, p.a, p.lda, p.b, p.ldb, p.beta, p.c, p.ldc)
	case "symm":
		impl.Ssymm(p.s, p.ul, p.m, p.n, p.alpha, p.a, p.lda, p.b, p.ldb, p.beta, p.c, p.ldc)
	case "syrk":
		impl.Ssyrk(p.ul, p.tA, p.n, p.k, p.alpha, p.a, p.lda, p.beta, p.c, p.ldc)
	case "syr2k":
		impl.Ssyr2k(p.ul, p.tA, p.n, p.k, p.alpha, p.a, p.lda, p.b, p.ldb, p.beta, p.c, p.ldc)
	case "trmm":
		impl.Strmm(p.s, p.ul, p.tA, p.d, p.m, p.n, p.alpha, p.a, p.lda, p.c, p.ldc)
	case "trsm":
		impl.Strsm(p.s, p.ul, p.tA, p.d, p.m, p.n, p.alpha, p.a, p.lda, p.c, p.ldc)
	default:
		panic(p.routine)
	}
}

func ofDouble(p *call[float64], impl blas.Float64) {
	switch p.routine {
	case "gemm":
		impl.Dgemm(p.tA, p.tB, p.m, p.n, p.k, p.alpha, p.a, p.lda, p.b, p.ldb, p.beta, p.c, p.ldc)
	case "gemv":
		impl.Dgemv(p.tA, p.m, p.n, p.alpha, p.a, p.lda, p.b, p.ldb, p.beta, p.c, p.ldc)
	case "symm":
		impl.Dsymm(p.s, p.ul, p.m, p.n, p.alpha, p.a, p.lda, p.b, p.ldb, p.beta, p.c, p.ldc)
	case "syrk":
		impl.Dsyrk(p.ul, p.tA, p.n, p.k, p.alpha, p.a, p.lda, p.beta, p.c, p.ldc)
	case "syr2k":
		impl.Dsyr2k(p.ul, p.tA, p.n, p.k, p.alpha, p.a, p.lda, p.b, p.ldb, p.beta, p.c, p.ldc)
	case "trmm":
		impl.Dtrmm(p.s, p.ul, p.tA, p.d, p.m, p.n, p.alpha, p.a, p.lda, p.c, p.ldc)
	case "trsm":
		impl.Dtrsm(p.s, p.ul, p.tA, p.d, p.m, p.n, p.alpha, p.a, p.lda, p.c, p.ldc)
	default:
		panic(p.routine)
	}
}

// shapes returns the rows and columns of a, b and c as they are stored; b is empty where there is none.
func (p *call[F]) shapes() [3][2]int {
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
	case "gemm":
		return [3][2]int{tall(p.tA, p.m, p.k), tall(p.tB, p.k, p.n), {p.m, p.n}}
	case "gemv":
		y := tall(p.tA, p.m, p.n)
		return [3][2]int{{p.m, p.n}, {y[1], 1}, {y[0], 1}}
	case "symm":
		return [3][2]int{{side, side}, {p.m, p.n}, {p.m, p.n}}
	case "syrk":
		return [3][2]int{tall(p.tA, p.n, p.k), {}, {p.n, p.n}}
	case "syr2k":
		return [3][2]int{tall(p.tA, p.n, p.k), tall(p.tA, p.n, p.k), {p.n, p.n}}
	default:
		return [3][2]int{{side, side}, {}, {p.m, p.n}}
	}
}

// fill gives the operands elements, between rows too, with the given space there. Triangular matrices get a diagonal
// that keeps solutions small.
func (p *call[F]) fill(r *rand.Rand, space int) {
	shapes := p.shapes()
	for i, to := range []struct {
		data *[]F
		ld   *int
	}{{&p.a, &p.lda}, {&p.b, &p.ldb}, {&p.c, &p.ldc}} {
		rows, cols := shapes[i][0], shapes[i][1]
		*to.ld = max(cols, 1) + space
		*to.data = make([]F, max(0, (rows-1)**to.ld+cols))
		for j := range *to.data {
			(*to.data)[j] = F(r.NormFloat64())
		}
	}
	if p.routine == "trsm" || p.routine == "trmm" {
		n := shapes[0][0]
		for i := range p.a {
			p.a[i] /= F(n)
			if i/p.lda == i%p.lda {
				p.a[i]++
			}
		}
	}
}

// clone returns p with operands of its own.
func (p *call[F]) clone() *call[F] {
	q := *p
	q.a, q.b, q.c = slices.Clone(p.a), slices.Clone(p.b), slices.Clone(p.c)
	return &q
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// random returns a call with sizes up to most.
func random[F float](r *rand.Rand, routine string, most int) *call[F] {
	size := func() int { return 1 + r.IntN(most) }
	p := &call[F]{
		routine: routine,
		s:       pick(r, blas.Left, blas.Right),
		ul:      pick(r, blas.Lower, blas.Upper),
		tA:      pick(r, blas.NoTrans, blas.Trans, blas.ConjTrans),
		tB:      pick(r, blas.NoTrans, blas.Trans, blas.ConjTrans),
		d:       pick(r, blas.Unit, blas.NonUnit),
		m:       size(), n: size(), k: size(),
		alpha: pick[F](r, 1, -1, 0.5, 0), beta: pick[F](r, 0, 1, -0.25),
	}
	p.fill(r, r.IntN(3))
	return p
}

// wrong returns changes to a call, most of which make it wrong.
func wrong[F float]() []func(p *call[F]) {
	return []func(p *call[F]){
		func(p *call[F]) { p.s = 'X' },
		func(p *call[F]) { p.ul = 'X' },
		func(p *call[F]) { p.tA = 'X' },
		func(p *call[F]) { p.tB = 'X' },
		func(p *call[F]) { p.d = 'X' },
		func(p *call[F]) { p.m = -1 },
		func(p *call[F]) { p.n = -1 },
		func(p *call[F]) { p.k = -1 },
		func(p *call[F]) { p.m = 0 },
		func(p *call[F]) { p.n = 0 },
		func(p *call[F]) { p.k = 0 },
		func(p *call[F]) { p.lda-- },
		func(p *call[F]) { p.ldb-- },
		func(p *call[F]) { p.ldc-- },
		func(p *call[F]) { p.lda = 0 },
		func(p *call[F]) { p.ldb = 0 },
		func(p *call[F]) { p.ldc = 0 },
		func(p *call[F]) { p.lda = -5 },
		func(p *call[F]) { p.a = p.a[:max(0, len(p.a)-1)] },
		func(p *call[F]) { p.b = p.b[:max(0, len(p.b)-1)] },
		func(p *call[F]) { p.c = p.c[:max(0, len(p.c)-1)] },
		func(p *call[F]) { p.a = nil },
		func(p *call[F]) { p.b = nil },
		func(p *call[F]) { p.c = nil },
		func(p *call[F]) { p.alpha = 0 },
		func(p *call[F]) { p.beta = 1 },
	}
}

// exactly returns what c must be, and how large the terms are that its elements are sums of, both by gonum in float64.
// For trsm, whose result must be in p.c, it is what op(A)·X is, or X·op(A).
func (p *call[F]) exactly() (c, terms []float64) {
	run := func(f func(float64) float64) []float64 {
		wide := func(s []F) []float64 {
			w := make([]float64, len(s))
			for i, v := range s {
				w[i] = f(float64(v))
			}
			return w
		}
		q := &call[float64]{p.routine, p.s, p.ul, p.tA, p.tB, p.d, p.m, p.n, p.k, f(float64(p.alpha)),
			f(float64(p.beta)), wide(p.a), wide(p.b), wide(p.c), p.lda, p.ldb, p.ldc}
		if p.routine == "trsm" {
			q.routine, q.alpha = "trmm", 1
		}
		q.of(gonum.Implementation{})
		return q.c
	}
	return run(func(v float64) float64 { return v }), run(math.Abs)
}

// writes reports whether element at of c is one that the routine computes.
func (p *call[F]) writes(at int) bool {
	shape := p.shapes()[2]
	i, j := at/p.ldc, at%p.ldc
	if i >= shape[0] || j >= shape[1] {
		return false
	}
	if p.routine == "syrk" || p.routine == "syr2k" {
		return i == j || (i > j) == (p.ul == blas.Lower)
	}
	return true
}

// check compares what was computed of p, in got, with what must be.
func (p *call[F]) check(t *testing.T, got []F) {
	t.Helper()
	_, _, unit := typeOf[F]()
	q, sums := p, max(p.k, 1)
	switch p.routine {
	case "syr2k":
		sums *= 2
	case "symm", "trmm", "trsm", "gemv":
		sums = max(p.m, p.n)
	}
	if p.routine == "trsm" {
		q = p.clone()
		copy(q.c, got)
	}
	want, terms := q.exactly()
	for at, v := range got {
		if !p.writes(at) {
			if math.Float64bits(float64(v)) != math.Float64bits(float64(p.c[at])) {
				t.Fatalf("%v: element %d of c is %v, was %v", p, at, v, p.c[at])
			}
			continue
		}
		is, must, bound := float64(v), want[at], terms[at]
		if p.routine == "trsm" { // the residual
			is, must = must, float64(p.alpha)*float64(p.c[at])
			bound += math.Abs(must)
		}
		// In float64 what must be is off by as much itself.
		if diff := math.Abs(is - must); !(diff <= bound*float64(sums+8)*(unit+0x1p-53)) {
			t.Fatalf("%v: element %d of c is %v, want %v, terms %v", p, at, is, must, bound)
		}
	}
}

func (p *call[F]) String() string {
	_, letter, _ := typeOf[F]()
	return fmt.Sprintf("%c%s %c%c%c%c%c %dx%dx%d alpha %v beta %v ld %d %d %d", letter, p.routine, p.s, p.ul, p.tA,
		p.tB, p.d, p.m, p.n, p.k, p.alpha, p.beta, p.lda, p.ldb, p.ldc)
}
