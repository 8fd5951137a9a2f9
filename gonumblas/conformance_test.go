package gonumblas_test

import (
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/testblas"
)

// TestConformance runs gonum's suite for float64. Of float32 it has those tests whose results float32 holds: small
// integers and halves. The ones of solving and of vectors have tenths.
func TestConformance(t *testing.T) {
	both(t, func(t *testing.T) { products(t, wide[float32]{own[float32](t)}) }, func(t *testing.T) {
		impl := own[float64](t)
		for _, impl := range []interface {
			multiplier
			testblas.Dtrsmer
		}{impl, wide[float64]{impl}} {
			products(t, impl)
			testblas.DtrsmTest(t, impl)
		}
		testblas.DgemvTest(t, impl)
	})
}

type multiplier interface {
	testblas.Dgemmer
	testblas.Dsymmer
	testblas.Dsyker
	testblas.Dsyr2ker
	testblas.Dtrmmer
}

func products(t *testing.T, impl multiplier) {
	testblas.TestDgemm(t, impl)
	testblas.DsymmTest(t, impl)
	testblas.DsyrkTest(t, impl)
	testblas.Dsyr2kTest(t, impl)
	testblas.DtrmmTest(t, impl)
}

// wide computes in F what it is asked in float64, with every element of a matrix made a multiple of the identity of
// times rows: such matrices are multiplied as their elements are, and are large enough for this package.
type wide[F float] struct{ library }

const times = 70

// widen returns the matrix that is in s with every element that many times.
func widen[F float](s []float64, ld int) []F {
	w := make([]F, len(s)*times*times)
	for i, v := range s {
		row, col := i/ld, i%ld
		for j := range times {
			if at := (row*times+j)*ld*times + col*times + j; at < len(w) {
				w[at] = F(v)
			}
		}
	}
	return w
}

// do computes p with a, b and c wider, and makes c what became of its own.
func (w wide[F]) do(p call[F], alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64,
	ldc int) {
	p.m, p.n, p.k = p.m*times, p.n*times, p.k*times
	p.alpha, p.a, p.lda = F(alpha), widen[F](a, lda), lda*times
	p.beta, p.c, p.ldc = F(beta), widen[F](c, ldc), ldc*times
	if b != nil {
		p.b, p.ldb = widen[F](b, ldb), ldb*times
	}
	p.of(w.library)
	for i := range c {
		c[i] = float64(p.c[i/ldc*times*ldc*times+i%ldc*times])
	}
}

func (w wide[F]) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int,
	beta float64, c []float64, ldc int) {
	w.do(call[F]{routine: "gemm", tA: tA, tB: tB, m: m, n: n, k: k}, alpha, a, lda, b, ldb, beta, c, ldc)
}

func (w wide[F]) Dsymm(s blas.Side, ul blas.Uplo, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int,
	beta float64, c []float64, ldc int) {
	w.do(call[F]{routine: "symm", s: s, ul: ul, m: m, n: n}, alpha, a, lda, b, ldb, beta, c, ldc)
}

func (w wide[F]) Dsyrk(ul blas.Uplo, tA blas.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64,
	c []float64, ldc int) {
	w.do(call[F]{routine: "syrk", ul: ul, tA: tA, n: n, k: k}, alpha, a, lda, nil, 0, beta, c, ldc)
}

func (w wide[F]) Dsyr2k(ul blas.Uplo, tA blas.Transpose, n, k int, alpha float64, a []float64, lda int, b []float64,
	ldb int, beta float64, c []float64, ldc int) {
	w.do(call[F]{routine: "syr2k", ul: ul, tA: tA, n: n, k: k}, alpha, a, lda, b, ldb, beta, c, ldc)
}

func (w wide[F]) Dtrmm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64,
	lda int, b []float64, ldb int) {
	w.do(call[F]{routine: "trmm", s: s, ul: ul, tA: tA, d: d, m: m, n: n}, alpha, a, lda, nil, 0, 0, b, ldb)
}

func (w wide[F]) Dtrsm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64,
	lda int, b []float64, ldb int) {
	w.do(call[F]{routine: "trsm", s: s, ul: ul, tA: tA, d: d, m: m, n: n}, alpha, a, lda, nil, 0, 0, b, ldb)
}
