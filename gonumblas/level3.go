package gonumblas

import (
	"sync"

	"gonum.org/v1/gonum/blas"
)

// Symmetric and triangular matrices are halved until they are small. What lies beside the two diagonal blocks, half of
// all and in the end nearly all, is multiplied as any matrix is.
//
//	A11  .       A11 is halved again, so is A22;
//	A21 A22      A21 and, if A is symmetric, its transpose in A12's place are products of Sgemm

const (
	// Up to this many rows a symmetric block is multiplied, or computed, as a whole, and a triangular one on the right
	// multiplies the transpose.
	block = 64
	// Up to this many a triangular block is gonum's: a product with zeros in place of the other triangle would make NaN
	// of an Inf that must not be touched.
	triangular = 8
)

// blocks keeps what blocks are put together in.
var blocks = sync.Pool{New: func() any { return new([block * block]float32) }}

// halve returns how many of n rows, more than leaf, are those of the first block.
func halve(n, leaf int) int { return (n/leaf + 1) / 2 * leaf }

// Ssymm computes C = alpha·A·B + beta·C, or alpha·B·A + beta·C, for a symmetric A of which one triangle is read, and
// m x n matrices B and C.
func (i Implementation) Ssymm(s blas.Side, ul blas.Uplo, m, n int, alpha float32, a []float32, lda int,
	b []float32, ldb int, beta float32, c []float32, ldc int) {
	k, left := n, s == blas.Left
	if left {
		k = m
	}
	switch {
	case alpha == 0, !i.own(), m*n*k <= small, !left && s != blas.Right, !isUplo(ul), !fits(k, k, a, lda),
		!fits(m, n, b, ldb), !fits(m, n, c, ldc):
		i.Implementation.Ssymm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	case k <= block:
		full := blocks.Get().(*[block * block]float32)
		defer blocks.Put(full)
		for r := range k {
			for q := range r + 1 {
				v := a[r*lda+q]
				if ul == blas.Upper {
					v = a[q*lda+r]
				}
				full[r*block+q], full[q*block+r] = v, v
			}
		}
		if left {
			i.Sgemm(blas.NoTrans, blas.NoTrans, m, n, m, alpha, full[:], block, b, ldb, beta, c, ldc)
		} else {
			i.Sgemm(blas.NoTrans, blas.NoTrans, m, n, n, alpha, b, ldb, full[:], block, beta, c, ldc)
		}
		return
	}
	h := halve(k, block)
	t12, t21, beside := blas.Trans, blas.NoTrans, a[h*lda:]
	if ul == blas.Upper {
		t12, t21, beside = blas.NoTrans, blas.Trans, a[h:]
	}
	a22 := a[h*lda+h:]
	if left {
		b2, c2 := b[h*ldb:], c[h*ldc:]
		i.Ssymm(s, ul, h, n, alpha, a, lda, b, ldb, beta, c, ldc)
		i.Sgemm(t12, blas.NoTrans, h, n, m-h, alpha, beside, lda, b2, ldb, 1, c, ldc)
		i.Ssymm(s, ul, m-h, n, alpha, a22, lda, b2, ldb, beta, c2, ldc)
		i.Sgemm(t21, blas.NoTrans, m-h, n, h, alpha, beside, lda, b, ldb, 1, c2, ldc)
	} else {
		b2, c2 := b[h:], c[h:]
		i.Ssymm(s, ul, m, h, alpha, a, lda, b, ldb, beta, c, ldc)
		i.Sgemm(blas.NoTrans, t21, m, h, n-h, alpha, b2, ldb, beside, lda, 1, c, ldc)
		i.Ssymm(s, ul, m, n-h, alpha, a22, lda, b2, ldb, beta, c2, ldc)
		i.Sgemm(blas.NoTrans, t12, m, n-h, h, alpha, b, ldb, beside, lda, 1, c2, ldc)
	}
}

// Ssyrk computes a triangle of C = alpha·op(A)·op(A)ᵀ + beta·C for an n x k op(A).
func (i Implementation) Ssyrk(ul blas.Uplo, tA blas.Transpose, n, k int, alpha float32, a []float32, lda int,
	beta float32, c []float32, ldc int) {
	rows, cols := n, k
	if tA != blas.NoTrans {
		rows, cols = k, n
	}
	gonums := n*n*k <= 2*small || tA != blas.NoTrans && k < 4 || tA == blas.NoTrans && n*n <= fewDots
	switch {
	case alpha == 0, !i.own(), gonums, !isUplo(ul), !isTranspose(tA), !fits(rows, cols, a, lda), !fits(n, n, c, ldc):
		if beta == 0 && ul == blas.Lower && tA != blas.NoTrans {
			// There gonum's would multiply the old C by beta.
			i.Implementation.Ssyrk(ul, tA, n, k, 0, a, lda, 0, c, ldc)
		}
		i.Implementation.Ssyrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
		return
	case n <= block:
		full := blocks.Get().(*[block * block]float32)
		defer blocks.Put(full)
		i.Sgemm(tA, other(tA), n, n, k, alpha, a, lda, a, lda, 0, full[:], block)
		for r := range n {
			lo, hi := triangle(ul, r, n)
			accumulate(c[r*ldc+lo:r*ldc+hi], beta, full[r*block+lo:])
		}
		return
	}
	h := halve(n, block)
	a2 := second(tA, h, a, lda)
	i.Ssyrk(ul, tA, h, k, alpha, a, lda, beta, c, ldc)
	i.Ssyrk(ul, tA, n-h, k, alpha, a2, lda, beta, c[h*ldc+h:], ldc)
	if ul == blas.Lower {
		i.Sgemm(tA, other(tA), n-h, h, k, alpha, a2, lda, a, lda, beta, c[h*ldc:], ldc)
	} else {
		i.Sgemm(tA, other(tA), h, n-h, k, alpha, a, lda, a2, lda, beta, c[h:], ldc)
	}
}

// Ssyr2k computes a triangle of C = alpha·op(A)·op(B)ᵀ + alpha·op(B)·op(A)ᵀ + beta·C for n x k op(A) and op(B).
func (i Implementation) Ssyr2k(ul blas.Uplo, tA blas.Transpose, n, k int, alpha float32, a []float32, lda int,
	b []float32, ldb int, beta float32, c []float32, ldc int) {
	rows, cols := n, k
	if tA != blas.NoTrans {
		rows, cols = k, n
	}
	switch {
	case alpha == 0, !i.own(), n*n*k <= 2*small, !isUplo(ul), !isTranspose(tA), !fits(rows, cols, a, lda),
		!fits(rows, cols, b, ldb), !fits(n, n, c, ldc):
		i.Implementation.Ssyr2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	case n <= block:
		full := blocks.Get().(*[block * block]float32)
		defer blocks.Put(full)
		i.Sgemm(tA, other(tA), n, n, k, alpha, a, lda, b, ldb, 0, full[:], block)
		for r := range n {
			for q := range r + 1 {
				sum := full[r*block+q] + full[q*block+r]
				full[r*block+q], full[q*block+r] = sum, sum
			}
		}
		for r := range n {
			lo, hi := triangle(ul, r, n)
			accumulate(c[r*ldc+lo:r*ldc+hi], beta, full[r*block+lo:])
		}
		return
	}
	h := halve(n, block)
	a2, b2 := second(tA, h, a, lda), second(tA, h, b, ldb)
	i.Ssyr2k(ul, tA, h, k, alpha, a, lda, b, ldb, beta, c, ldc)
	i.Ssyr2k(ul, tA, n-h, k, alpha, a2, lda, b2, ldb, beta, c[h*ldc+h:], ldc)
	if ul == blas.Lower {
		i.Sgemm(tA, other(tA), n-h, h, k, alpha, a2, lda, b, ldb, beta, c[h*ldc:], ldc)
		i.Sgemm(tA, other(tA), n-h, h, k, alpha, b2, ldb, a, lda, 1, c[h*ldc:], ldc)
	} else {
		i.Sgemm(tA, other(tA), h, n-h, k, alpha, a, lda, b2, ldb, beta, c[h:], ldc)
		i.Sgemm(tA, other(tA), h, n-h, k, alpha, b, ldb, a2, lda, 1, c[h:], ldc)
	}
}

// Strmm computes B = alpha·op(A)·B, or alpha·B·op(A), for a triangular A and an m x n B.
func (i Implementation) Strmm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float32,
	a []float32, lda int, b []float32, ldb int) {
	switch {
	case alpha == 0, !i.own(), !halves(s, ul, tA, d, m, n, a, lda, b, ldb):
		i.Implementation.Strmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	case s == blas.Right && n <= block:
		turned(m, n, b, ldb, func(rows int, x []float32) {
			i.Strmm(blas.Left, ul, other(tA), d, n, rows, alpha, a, lda, x, block)
		})
	default:
		first, last, beside := halveTriangle(s, ul, tA, m, n, a, lda, b, ldb)
		i.Strmm(s, ul, tA, d, last.m, last.n, alpha, last.a, lda, last.b, ldb)
		i.addBeside(s, tA, &last, alpha, beside, lda, &first, ldb, 1)
		i.Strmm(s, ul, tA, d, first.m, first.n, alpha, first.a, lda, first.b, ldb)
	}
}

// Strsm solves op(A)·X = alpha·B, or X·op(A) = alpha·B, for a triangular A, and leaves X in the m x n matrix B.
func (i Implementation) Strsm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float32,
	a []float32, lda int, b []float32, ldb int) {
	switch {
	case alpha == 0, !i.own(), !halves(s, ul, tA, d, m, n, a, lda, b, ldb):
		i.Implementation.Strsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	case s == blas.Right && n <= block:
		turned(m, n, b, ldb, func(rows int, x []float32) {
			i.Strsm(blas.Left, ul, other(tA), d, n, rows, alpha, a, lda, x, block)
		})
	default:
		first, last, beside := halveTriangle(s, ul, tA, m, n, a, lda, b, ldb)
		i.Strsm(s, ul, tA, d, first.m, first.n, alpha, first.a, lda, first.b, ldb)
		i.addBeside(s, tA, &last, -1, beside, lda, &first, ldb, alpha)
		i.Strsm(s, ul, tA, d, last.m, last.n, 1, last.a, lda, last.b, ldb)
	}
}

// halves reports whether the arguments of Strmm or Strsm are right and worth halving.
func halves(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, a []float32, lda int,
	b []float32, ldb int) bool {
	k := n
	if s == blas.Left {
		k = m
	}
	return k > triangular && (s == blas.Left || s == blas.Right && m >= triangular) && isUplo(ul) && isTranspose(tA) &&
		(d == blas.Unit || d == blas.NonUnit) && fits(k, k, a, lda) && fits(m, n, b, ldb)
}

// turned has f change the transpose of B, up to a block of rows at a time.
func turned(m, n int, b []float32, ldb int, f func(rows int, x []float32)) {
	x := blocks.Get().(*[block * block]float32)
	defer blocks.Put(x)
	for ; m > 0; m -= block {
		rows := min(m, block)
		for r := range rows {
			for j, v := range b[r*ldb : r*ldb+n] {
				x[j*block+r] = v
			}
		}
		f(rows, x[:])
		for r := range rows {
			for j := range n {
				b[r*ldb+j] = x[j*block+r]
			}
		}
		if m > block {
			b = b[block*ldb:]
		}
	}
}

// other returns how the transpose is stored of what t says of A.
func other(t blas.Transpose) blas.Transpose {
	if t == blas.NoTrans {
		return blas.Trans
	}
	return blas.NoTrans
}

// part is a diagonal block of a triangular matrix and the m x n part of B with its rows, or columns.
type part struct {
	m, n int
	a, b []float32
}

// halveTriangle returns the parts, the first being the one whose unknowns do not depend on the others', and what lies
// beside the diagonal blocks.
func halveTriangle(s blas.Side, ul blas.Uplo, tA blas.Transpose, m, n int, a []float32, lda int,
	b []float32, ldb int) (first, last part, beside []float32) {
	var h int
	if s == blas.Left {
		h = halve(m, triangular)
		first, last = part{h, n, a, b}, part{m - h, n, a[h*lda+h:], b[h*ldb:]}
	} else {
		h = halve(n, triangular)
		first, last = part{m, h, a, b}, part{m, n - h, a[h*lda+h:], b[h:]}
	}
	lower := (ul == blas.Lower) == (tA == blas.NoTrans)
	if lower != (s == blas.Left) {
		first, last = last, first
	}
	if ul == blas.Lower {
		return first, last, a[h*lda:]
	}
	return first, last, a[h:]
}

// addBeside makes the last part of B beta times itself and alpha times the first by what lies beside.
func (i Implementation) addBeside(s blas.Side, tA blas.Transpose, last *part, alpha float32, beside []float32, lda int,
	first *part, ldb int, beta float32) {
	if s == blas.Left {
		i.Sgemm(tA, blas.NoTrans, last.m, last.n, first.m, alpha, beside, lda, first.b, ldb, beta, last.b, ldb)
	} else {
		i.Sgemm(blas.NoTrans, tA, last.m, last.n, first.n, alpha, first.b, ldb, beside, lda, beta, last.b, ldb)
	}
}

func isUplo(ul blas.Uplo) bool { return ul == blas.Lower || ul == blas.Upper }

// fits reports whether s, with rows ld apart, holds a matrix that is not empty.
func fits(rows, cols int, s []float32, ld int) bool {
	return rows > 0 && cols > 0 && ld >= cols && len(s) >= cols && (len(s)-cols)/ld >= rows-1
}

// second returns what op(A) is of from row h on.
func second(tA blas.Transpose, h int, a []float32, lda int) []float32 {
	if tA == blas.NoTrans {
		return a[h*lda:]
	}
	return a[h:]
}

// triangle returns the columns of row r that belong to a triangle of n rows.
func triangle(ul blas.Uplo, r, n int) (lo, hi int) {
	if ul == blas.Upper {
		return r, n
	}
	return 0, r + 1
}

// accumulate makes c beta·c + sums.
func accumulate(c []float32, beta float32, sums []float32) {
	if beta == 0 {
		copy(c, sums)
		return
	}
	for j, v := range sums[:len(c)] {
		c[j] = beta*c[j] + v
	}
}
