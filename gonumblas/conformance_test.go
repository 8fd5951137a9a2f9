package gonumblas_test

import (
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/testblas"

	"example.com/leafhopper/gonumblas"
)

// TestConformance runs those tests of gonum's suite, all for float64, whose results float32 holds: small integers and
// halves. The ones of solving and of vectors have tenths.
func TestConformance(t *testing.T) {
	w := wide{own(t)}
	testblas.TestDgemm(t, w)
	testblas.DsymmTest(t, w)
	testblas.DsyrkTest(t, w)
	testblas.Dsyr2kTest(t, w)
	testblas.DtrmmTest(t, w)
}

// wide computes in float32 what it is asked in float64, with every element of a matrix made a multiple of the identity
// of times rows: such matrices are multiplied as their elements are, and are large enough for this package.
type wide struct{ gonumblas.Implementation }

const times = 70

// widen returns the matrix that is in s with every element that many times.
func widen(s []float64, ld int) []float32 {
	w := make([]float32, len(s)*times*times)
	for i, v := range s {
		row, col := i/ld, i%ld
		for j := range times {
			if at := (row*times+j)*ld*times + col*times + j; at < len(w) {
				w[at] = float32(v)
			}
		}
	}
	return w
}

// narrow is the reverse.
func narrow(s []float64, ld int, w []float32) {
	for i := range s {
		s[i] = float64(w[i/ld*times*ld*times+i%ld*times])
	}
}

func (w wide) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int,
	beta float64, c []float64, ldc int) {
	to := widen(c, ldc)
	w.Sgemm(tA, tB, m*times, n*times, k*times, float32(alpha), widen(a, lda), lda*times, widen(b, ldb), ldb*times,
		float32(beta), to, ldc*times)
	narrow(c, ldc, to)
}

func (w wide) Dsymm(s blas.Side, ul blas.Uplo, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int,
	beta float64, c []float64, ldc int) {
	to := widen(c, ldc)
	w.Ssymm(s, ul, m*times, n*times, float32(alpha), widen(a, lda), lda*times, widen(b, ldb), ldb*times,
		float32(beta), to, ldc*times)
	narrow(c, ldc, to)
}

func (w wide) Dsyrk(ul blas.Uplo, tA blas.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64,
	c []float64, ldc int) {
	to := widen(c, ldc)
	w.Ssyrk(ul, tA, n*times, k*times, float32(alpha), widen(a, lda), lda*times, float32(beta), to, ldc*times)
	narrow(c, ldc, to)
}

func (w wide) Dsyr2k(ul blas.Uplo, tA blas.Transpose, n, k int, alpha float64, a []float64, lda int, b []float64,
	ldb int, beta float64, c []float64, ldc int) {
	to := widen(c, ldc)
	w.Ssyr2k(ul, tA, n*times, k*times, float32(alpha), widen(a, lda), lda*times, widen(b, ldb), ldb*times,
		float32(beta), to, ldc*times)
	narrow(c, ldc, to)
}

func (w wide) Dtrmm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64,
	lda int, b []float64, ldb int) {
	to := widen(b, ldb)
	w.Strmm(s, ul, tA, d, m*times, n*times, float32(alpha), widen(a, lda), lda*times, to, ldb*times)
	narrow(b, ldb, to)
}
