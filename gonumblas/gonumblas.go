package gonumblas

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"example.com/leafhopper/gemm"
)

// Implementation is gonum's with faster products of float32 and float64. The zero value is ready for use, by several
// goroutines at once.
type Implementation struct {
	gonum.Implementation

	// Engine computes the products; nil is the one that package gemm shares. It is for a number of workers or a kernel
	// of one's own, with plain Go too; what its kernel does not multiply is gonum's, so that WithKernel best names one
	// for each type. An Engine with scales, a bias or an activation would apply them to every product of float32, and
	// none of float64 is its; once it is closed all are gonum's.
	Engine *gemm.Engine
}

var _ interface {
	blas.Float32
	blas.Float64
	blas.Complex64
	blas.Complex128
} = Implementation{}

func (i Implementation) single() routines[float32] { return routines[float32]{&singles, i.Engine} }
func (i Implementation) double() routines[float64] { return routines[float64]{&doubles, i.Engine} }

// Sgemm computes C = alpha·op(A)·op(B) + beta·C for an m x k op(A), a k x n op(B) and an m x n C.
func (i Implementation) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32,
	ldb int, beta float32, c []float32, ldc int) {
	i.single().gemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// Sgemv computes y = alpha·op(A)·x + beta·y for an m x n A.
func (i Implementation) Sgemv(tA blas.Transpose, m, n int, alpha float32, a []float32, lda int, x []float32,
	incX int, beta float32, y []float32, incY int) {
	i.single().gemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
}

// Ssymm computes C = alpha·A·B + beta·C, or alpha·B·A + beta·C, for a symmetric A of which one triangle is read, and
// m x n matrices B and C.
func (i Implementation) Ssymm(s blas.Side, ul blas.Uplo, m, n int, alpha float32, a []float32, lda int, b []float32,
	ldb int, beta float32, c []float32, ldc int) {
	i.single().symm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
}

// Ssyrk computes a triangle of C = alpha·op(A)·op(A)ᵀ + beta·C for an n x k op(A).
func (i Implementation) Ssyrk(ul blas.Uplo, tA blas.Transpose, n, k int, alpha float32, a []float32, lda int,
	beta float32, c []float32, ldc int) {
	i.single().syrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
}

// Ssyr2k computes a triangle of C = alpha·op(A)·op(B)ᵀ + alpha·op(B)·op(A)ᵀ + beta·C for n x k op(A) and op(B).
func (i Implementation) Ssyr2k(ul blas.Uplo, tA blas.Transpose, n, k int, alpha float32, a []float32, lda int,
	b []float32, ldb int, beta float32, c []float32, ldc int) {
	i.single().syr2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// Strmm computes B = alpha·op(A)·B, or alpha·B·op(A), for a triangular A and an m x n B.
func (i Implementation) Strmm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float32,
	a []float32, lda int, b []float32, ldb int) {
	i.single().trmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
}

// Strsm solves op(A)·X = alpha·B, or X·op(A) = alpha·B, for a triangular A, and leaves X in the m x n matrix B.
func (i Implementation) Strsm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float32,
	a []float32, lda int, b []float32, ldb int) {
	i.single().trsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
}

// Dgemm is [Implementation.Sgemm] in float64.
func (i Implementation) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64,
	ldb int, beta float64, c []float64, ldc int) {
	i.double().gemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// Dgemv is [Implementation.Sgemv] in float64.
func (i Implementation) Dgemv(tA blas.Transpose, m, n int, alpha float64, a []float64, lda int, x []float64,
	incX int, beta float64, y []float64, incY int) {
	i.double().gemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
}

// Dsymm is [Implementation.Ssymm] in float64.
func (i Implementation) Dsymm(s blas.Side, ul blas.Uplo, m, n int, alpha float64, a []float64, lda int, b []float64,
	ldb int, beta float64, c []float64, ldc int) {
	i.double().symm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
}

// Dsyrk is [Implementation.Ssyrk] in float64.
func (i Implementation) Dsyrk(ul blas.Uplo, tA blas.Transpose, n, k int, alpha float64, a []float64, lda int,
	beta float64, c []float64, ldc int) {
	i.double().syrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
}

// Dsyr2k is [Implementation.Ssyr2k] in float64.
func (i Implementation) Dsyr2k(ul blas.Uplo, tA blas.Transpose, n, k int, alpha float64, a []float64, lda int,
	b []float64, ldb int, beta float64, c []float64, ldc int) {
	i.double().syr2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// Dtrmm is [Implementation.Strmm] in float64.
func (i Implementation) Dtrmm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64,
	a []float64, lda int, b []float64, ldb int) {
	i.double().trmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
}

// Dtrsm is [Implementation.Strsm] in float64.
func (i Implementation) Dtrsm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64,
	a []float64, lda int, b []float64, ldb int) {
	i.double().trsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
}
