package gonumblas

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/race"
)

const (
	// Up to so many multiply-adds gonum is as fast, and up to so many dot products of rows with rows.
	small   = 256
	fewDots = 32
	// With fewer rows its sums of a matrix's rows are.
	fewRows = 8
)

type float interface{ float32 | float64 }

// routines are those of an Implementation for one type.
type routines[F float] struct {
	*kind[F]
	engine *gemm.Engine
}

// kind is what there is of a type.
type kind[F float] struct {
	gonum    table[F]
	assembly bool                        // there is a kernel here; plain Go is not faster than gonum
	smallSum int                         // elements of a matrix up to which gonum's sums of its rows are as fast
	blocks   race.Pool[[block * block]F] // which blocks are put together in
}

// table has gonum's routines.
type table[F float] struct {
	gemm func(_ library, tA, tB blas.Transpose, m, n, k int, alpha F, a []F, lda int, b []F, ldb int,
		beta F, c []F, ldc int)
	gemv func(_ library, tA blas.Transpose, m, n int, alpha F, a []F, lda int, x []F, incX int,
		beta F, y []F, incY int)
	symm func(_ library, s blas.Side, ul blas.Uplo, m, n int, alpha F, a []F, lda int, b []F, ldb int,
		beta F, c []F, ldc int)
	syrk func(_ library, ul blas.Uplo, tA blas.Transpose, n, k int, alpha F, a []F, lda int,
		beta F, c []F, ldc int)
	syr2k func(_ library, ul blas.Uplo, tA blas.Transpose, n, k int, alpha F, a []F, lda int,
		b []F, ldb int, beta F, c []F, ldc int)
	trmm, trsm func(_ library, s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int,
		alpha F, a []F, lda int, b []F, ldb int)
}

type library = gonum.Implementation

var (
	singles = kind[float32]{
		gonum: table[float32]{
			library.Sgemm, library.Sgemv, library.Ssymm, library.Ssyrk, library.Ssyr2k, library.Strmm, library.Strsm,
		},
		assembly: assembly(asm.F32),
		smallSum: 1000,
	}
	doubles = kind[float64]{
		gonum: table[float64]{
			library.Dgemm, library.Dgemv, library.Dsymm, library.Dsyrk, library.Dsyr2k, library.Dtrmm, library.Dtrsm,
		},
		assembly: assembly(asm.F64),
		smallSum: 2000,
	}
	theirs library
)

func assembly(t asm.Type) bool {
	k, err := asm.Select(t, "")
	return err == nil && k.ISA != "Go"
}

// own reports whether products are package gemm's, by the shared engine or the caller's.
func (r routines[F]) own() bool { return r.assembly || r.engine != nil }

// gemm computes C = alpha·op(A)·op(B) + beta·C for an m x k op(A), a k x n op(B) and an m x n C.
func (r routines[F]) gemm(tA, tB blas.Transpose, m, n, k int, alpha F, a []F, lda int, b []F, ldb int,
	beta F, c []F, ldc int) {
	if alpha == 0 {
		// With beta 1 gonum's only checks the arguments; with another it would multiply A and B unless k is 0.
		r.gonum.gemm(theirs, tA, tB, m, n, k, 0, a, lda, b, ldb, 1, c, ldc)
		k = 0
	}
	dots := tA == blas.NoTrans && tB != blas.NoTrans && m*n <= fewDots
	if m*n*k > small && !dots && r.own() && isTranspose(tA) && isTranspose(tB) {
		var to, x, y gemm.Matrix[F]
		set(&to, blas.NoTrans, m, n, c, ldc)
		set(&x, tA, m, k, a, lda)
		set(&y, tB, k, n, b, ldb)
		if r.multiply(&to, &x, &y, alpha, beta) {
			return
		}
	}
	r.gonum.gemm(theirs, tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// gemv computes y = alpha·op(A)·x + beta·y for an m x n A. Dot products of x with rows of A are gonum's, which are as
// fast; its sums of rows are not.
func (r routines[F]) gemv(tA blas.Transpose, m, n int, alpha F, a []F, lda int, x []F, incX int,
	beta F, y []F, incY int) {
	if alpha != 0 && tA != blas.NoTrans && isTranspose(tA) && m >= fewRows && m*n > r.smallSum && r.own() {
		var to, of, by gemm.Matrix[F]
		set(&to, blas.NoTrans, n, 1, y, incY)
		set(&of, tA, n, m, a, lda)
		set(&by, blas.NoTrans, m, 1, x, incX)
		if r.multiply(&to, &of, &by, alpha, beta) {
			return
		}
	}
	r.gonum.gemv(theirs, tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
}

func isTranspose(t blas.Transpose) bool {
	return t == blas.NoTrans || t == blas.Trans || t == blas.ConjTrans
}

// set makes m the rows x cols matrix that is a, or its transpose. Field by field: a small product notices what it
// costs to copy a Matrix that has just been written.
func set[F float](m *gemm.Matrix[F], t blas.Transpose, rows, cols int, a []F, lda int) {
	if t != blas.NoTrans {
		rows, cols = cols, rows
	}
	m.Rows, m.Cols, m.Stride, m.Data = rows, cols, lda, a
	if t != blas.NoTrans {
		*m = m.T()
	}
}

// multiply reports whether C = alpha·A·B + beta·C is computed. If not, C is as it was: an operand is wrong, in which
// case gonum knows with what words to panic, or shares memory with C, or the engine is closed.
func (r routines[F]) multiply(c, a, b *gemm.Matrix[F], alpha, beta F) bool {
	x, y := gemm.WithAlpha64(float64(alpha)), gemm.WithBeta64(float64(beta))
	if r.engine == nil {
		return gemm.Multiply(*c, *a, b, x, y) == nil
	}
	return r.engine.Multiply(c, a, b, x, y) == nil
}
