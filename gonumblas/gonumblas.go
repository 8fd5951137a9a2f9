package gonumblas

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/gemm"
)

// Implementation is gonum's with faster float32 products. The zero value is ready for use, by several goroutines at
// once.
type Implementation struct {
	gonum.Implementation

	// Engine computes the products; nil is the one that package gemm shares. It is for a number of workers or a kernel
	// of one's own, with plain Go too. One with scales, a bias or an activation would apply them to every product, and
	// once it is closed products are gonum's.
	Engine *gemm.Engine
}

var _ interface {
	blas.Float32
	blas.Float64
	blas.Complex64
	blas.Complex128
} = Implementation{}

const (
	// Up to so many multiply-adds gonum is as fast, and up to so many dot products of rows with rows.
	small   = 256
	fewDots = 32
	// Up to so many elements, or with fewer rows, its sums of a matrix's rows are.
	smallSum = 1000
	fewRows  = 8
)

// assembly says that there is a kernel for float32 here; plain Go is not faster than gonum.
var assembly = func() bool {
	k, err := asm.Select(asm.F32, "")
	return err == nil && k.ISA != "Go"
}()

// own reports whether products are package gemm's, by the shared engine or the caller's.
func (i Implementation) own() bool { return assembly || i.Engine != nil }

// Sgemm computes C = alpha·op(A)·op(B) + beta·C for an m x k op(A), a k x n op(B) and an m x n C.
func (i Implementation) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int,
	b []float32, ldb int, beta float32, c []float32, ldc int) {
	if alpha == 0 {
		// With beta 1 gonum's only checks the arguments; with another it would multiply A and B unless k is 0.
		i.Implementation.Sgemm(tA, tB, m, n, k, 0, a, lda, b, ldb, 1, c, ldc)
		k = 0
	}
	dots := tA == blas.NoTrans && tB != blas.NoTrans && m*n <= fewDots
	if m*n*k > small && !dots && i.own() && isTranspose(tA) && isTranspose(tB) {
		to := gemm.Matrix[float32]{Rows: m, Cols: n, Stride: ldc, Data: c}
		if i.multiply(to, op(tA, m, k, a, lda), op(tB, k, n, b, ldb), alpha, beta) {
			return
		}
	}
	i.Implementation.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// Sgemv computes y = alpha·op(A)·x + beta·y for an m x n A. Dot products of x with rows of A are gonum's, which are as
// fast; its sums of rows are not.
func (i Implementation) Sgemv(tA blas.Transpose, m, n int, alpha float32, a []float32, lda int, x []float32, incX int,
	beta float32, y []float32, incY int) {
	if alpha != 0 && tA != blas.NoTrans && isTranspose(tA) && m >= fewRows && m*n > smallSum && i.own() {
		to := gemm.Matrix[float32]{Rows: n, Cols: 1, Stride: incY, Data: y}
		by := gemm.Matrix[float32]{Rows: m, Cols: 1, Stride: incX, Data: x}
		if i.multiply(to, op(tA, n, m, a, lda), by, alpha, beta) {
			return
		}
	}
	i.Implementation.Sgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
}

func isTranspose(t blas.Transpose) bool {
	return t == blas.NoTrans || t == blas.Trans || t == blas.ConjTrans
}

// op returns the rows x cols matrix that is a, or its transpose.
func op(t blas.Transpose, rows, cols int, a []float32, lda int) gemm.Matrix[float32] {
	if t == blas.NoTrans {
		return gemm.Matrix[float32]{Rows: rows, Cols: cols, Stride: lda, Data: a}
	}
	return gemm.Matrix[float32]{Rows: cols, Cols: rows, Stride: lda, Data: a}.T()
}

// multiply reports whether C = alpha·A·B + beta·C is computed. If not, C is as it was: an operand is wrong, in which
// case gonum knows with what words to panic, or shares memory with C, or the engine is closed.
func (i Implementation) multiply(c, a, b gemm.Matrix[float32], alpha, beta float32) bool {
	if i.Engine == nil {
		return gemm.Multiply(c, a, b, gemm.WithAlpha(alpha), gemm.WithBeta(beta)) == nil
	}
	return i.Engine.Multiply(c, a, b, gemm.WithAlpha(alpha), gemm.WithBeta(beta)) == nil
}
