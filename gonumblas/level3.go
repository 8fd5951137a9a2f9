package gonumblas

import "gonum.org/v1/gonum/blas"

// Symmetric and triangular matrices are halved until they are small. What lies beside the two diagonal blocks, half of
// all and in the end nearly all, is multiplied as any matrix is.
//
//	A11  .       A11 is halved again, so is A22;
//	A21 A22      A21 and, if A is symmetric, its transpose in A12's place are products of gemm

const (
	// Up to this many rows a symmetric block is multiplied, or computed, as a whole, and a triangular one on the right
	// multiplies the transpose.
	block = 64
	// Up to this many a triangular block is gonum's: a product with zeros in place of the other triangle would make NaN
	// of an Inf that must not be touched.
	triangular = 8
)

// halve returns how many of n rows, more than leaf, are those of the first block.
func halve(n, leaf int) int { return (n/leaf + 1) / 2 * leaf }

// symm computes C = alpha·A·B + beta·C, or alpha·B·A + beta·C, for a symmetric A of which one triangle is read, and
// m x n matrices B and C.
func (r routines[F]) symm(s blas.Side, ul blas.Uplo, m, n int, alpha F, a []F, lda int,
	b []F, ldb int, beta F, c []F, ldc int) {
	k, left := n, s == blas.Left
	if left {
		k = m
	}
	switch {
	case alpha == 0, !r.own(), m*n*k <= small, !left && s != blas.Right, !isUplo(ul), !fits(k, k, a, lda),
		!fits(m, n, b, ldb), !fits(m, n, c, ldc):
		r.gonum.symm(theirs, s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	case k <= block:
		full := r.blocks.Get()
		defer r.blocks.Put(full)
		for i := range k {
			for j := range i + 1 {
				v := a[i*lda+j]
				if ul == blas.Upper {
					v = a[j*lda+i]
				}
				full[i*block+j], full[j*block+i] = v, v
			}
		}
		if left {
			r.gemm(blas.NoTrans, blas.NoTrans, m, n, m, alpha, full[:], block, b, ldb, beta, c, ldc)
		} else {
			r.gemm(blas.NoTrans, blas.NoTrans, m, n, n, alpha, b, ldb, full[:], block, beta, c, ldc)
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
		r.symm(s, ul, h, n, alpha, a, lda, b, ldb, beta, c, ldc)
		r.gemm(t12, blas.NoTrans, h, n, m-h, alpha, beside, lda, b2, ldb, 1, c, ldc)
		r.symm(s, ul, m-h, n, alpha, a22, lda, b2, ldb, beta, c2, ldc)
		r.gemm(t21, blas.NoTrans, m-h, n, h, alpha, beside, lda, b, ldb, 1, c2, ldc)
	} else {
		b2, c2 := b[h:], c[h:]
		r.symm(s, ul, m, h, alpha, a, lda, b, ldb, beta, c, ldc)
		r.gemm(blas.NoTrans, t21, m, h, n-h, alpha, b2, ldb, beside, lda, 1, c, ldc)
		r.symm(s, ul, m, n-h, alpha, a22, lda, b2, ldb, beta, c2, ldc)
		r.gemm(blas.NoTrans, t12, m, n-h, h, alpha, b, ldb, beside, lda, 1, c2, ldc)
	}
}

// syrk computes a triangle of C = alpha·op(A)·op(A)ᵀ + beta·C for an n x k op(A).
func (r routines[F]) syrk(ul blas.Uplo, tA blas.Transpose, n, k int, alpha F, a []F, lda int,
	beta F, c []F, ldc int) {
	rows, cols := n, k
	if tA != blas.NoTrans {
		rows, cols = k, n
	}
	gonums := n*n*k <= 4*small || tA != blas.NoTrans && k < 4 || tA == blas.NoTrans && n*n <= fewDots
	switch {
	case alpha == 0, !r.own(), gonums, !isUplo(ul), !isTranspose(tA), !fits(rows, cols, a, lda), !fits(n, n, c, ldc):
		if beta == 0 && ul == blas.Lower && tA != blas.NoTrans {
			// There gonum's would multiply the old C by beta.
			r.gonum.syrk(theirs, ul, tA, n, k, 0, a, lda, 0, c, ldc)
		}
		r.gonum.syrk(theirs, ul, tA, n, k, alpha, a, lda, beta, c, ldc)
		return
	case n <= block:
		full := r.blocks.Get()
		defer r.blocks.Put(full)
		r.gemm(tA, other(tA), n, n, k, alpha, a, lda, a, lda, 0, full[:], block)
		for i := range n {
			lo, hi := triangle(ul, i, n)
			accumulate(c[i*ldc+lo:i*ldc+hi], beta, full[i*block+lo:])
		}
		return
	}
	h := halve(n, block)
	a2 := second(tA, h, a, lda)
	r.syrk(ul, tA, h, k, alpha, a, lda, beta, c, ldc)
	r.syrk(ul, tA, n-h, k, alpha, a2, lda, beta, c[h*ldc+h:], ldc)
	if ul == blas.Lower {
		r.gemm(tA, other(tA), n-h, h, k, alpha, a2, lda, a, lda, beta, c[h*ldc:], ldc)
	} else {
		r.gemm(tA, other(tA), h, n-h, k, alpha, a, lda, a2, lda, beta, c[h:], ldc)
	}
}

// syr2k computes a triangle of C = alpha·op(A)·op(B)ᵀ + alpha·op(B)·op(A)ᵀ + beta·C for n x k op(A) and op(B).
func (r routines[F]) syr2k(ul blas.Uplo, tA blas.Transpose, n, k int, alpha F, a []F, lda int,
	b []F, ldb int, beta F, c []F, ldc int) {
	rows, cols := n, k
	if tA != blas.NoTrans {
		rows, cols = k, n
	}
	switch {
	case alpha == 0, !r.own(), n*n*k <= 2*small, !isUplo(ul), !isTranspose(tA), !fits(rows, cols, a, lda),
		!fits(rows, cols, b, ldb), !fits(n, n, c, ldc):
		r.gonum.syr2k(theirs, ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	case n <= block:
		full := r.blocks.Get()
		defer r.blocks.Put(full)
		r.gemm(tA, other(tA), n, n, k, alpha, a, lda, b, ldb, 0, full[:], block)
		for i := range n {
			lo, hi := triangle(ul, i, n)
			sums := full[i*block+lo : i*block+hi]
			for j := range sums {
				sums[j] += full[(lo+j)*block+i]
			}
			accumulate(c[i*ldc+lo:i*ldc+hi], beta, sums)
		}
		return
	}
	h := halve(n, block)
	a2, b2 := second(tA, h, a, lda), second(tA, h, b, ldb)
	r.syr2k(ul, tA, h, k, alpha, a, lda, b, ldb, beta, c, ldc)
	r.syr2k(ul, tA, n-h, k, alpha, a2, lda, b2, ldb, beta, c[h*ldc+h:], ldc)
	if ul == blas.Lower {
		r.gemm(tA, other(tA), n-h, h, k, alpha, a2, lda, b, ldb, beta, c[h*ldc:], ldc)
		r.gemm(tA, other(tA), n-h, h, k, alpha, b2, ldb, a, lda, 1, c[h*ldc:], ldc)
	} else {
		r.gemm(tA, other(tA), h, n-h, k, alpha, a, lda, b2, ldb, beta, c[h:], ldc)
		r.gemm(tA, other(tA), h, n-h, k, alpha, b, ldb, a2, lda, 1, c[h:], ldc)
	}
}

// trmm computes B = alpha·op(A)·B, or alpha·B·op(A), for a triangular A and an m x n B.
func (r routines[F]) trmm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha F,
	a []F, lda int, b []F, ldb int) {
	switch {
	case alpha == 0, !r.own(), !halves(s, ul, tA, d, m, n, a, lda, b, ldb):
		r.gonum.trmm(theirs, s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	case s == blas.Right && n <= block:
		r.turned(m, n, b, ldb, func(rows int, x []F) {
			r.trmm(blas.Left, ul, other(tA), d, n, rows, alpha, a, lda, x, block)
		})
	default:
		first, last, beside := halveTriangle(s, ul, tA, m, n, a, lda, b, ldb)
		r.trmm(s, ul, tA, d, last.m, last.n, alpha, last.a, lda, last.b, ldb)
		r.addBeside(s, tA, &last, alpha, beside, lda, &first, ldb, 1)
		r.trmm(s, ul, tA, d, first.m, first.n, alpha, first.a, lda, first.b, ldb)
	}
}

// trsm solves op(A)·X = alpha·B, or X·op(A) = alpha·B, for a triangular A, and leaves X in the m x n matrix B.
func (r routines[F]) trsm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha F,
	a []F, lda int, b []F, ldb int) {
	switch {
	case alpha == 0, !r.own(), !halves(s, ul, tA, d, m, n, a, lda, b, ldb):
		r.gonum.trsm(theirs, s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	case s == blas.Right && n <= block:
		r.turned(m, n, b, ldb, func(rows int, x []F) {
			r.trsm(blas.Left, ul, other(tA), d, n, rows, alpha, a, lda, x, block)
		})
	default:
		first, last, beside := halveTriangle(s, ul, tA, m, n, a, lda, b, ldb)
		r.trsm(s, ul, tA, d, first.m, first.n, alpha, first.a, lda, first.b, ldb)
		r.addBeside(s, tA, &last, -1, beside, lda, &first, ldb, alpha)
		r.trsm(s, ul, tA, d, last.m, last.n, 1, last.a, lda, last.b, ldb)
	}
}

// halves reports whether the arguments of trmm or trsm are right and worth halving.
func halves[F float](s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, a []F, lda int,
	b []F, ldb int) bool {
	k, enough := n, s == blas.Right && m >= triangular
	if s == blas.Left {
		k, enough = m, m*m*n > 10*small
	}
	return k > triangular && enough && isUplo(ul) && isTranspose(tA) &&
		(d == blas.Unit || d == blas.NonUnit) && fits(k, k, a, lda) && fits(m, n, b, ldb)
}

// turned has f change the transpose of B, up to a block of rows at a time.
func (r routines[F]) turned(m, n int, b []F, ldb int, f func(rows int, x []F)) {
	x := r.blocks.Get()
	defer r.blocks.Put(x)
	for ; m > 0; m -= block {
		rows := min(m, block)
		for i := range rows {
			for j, v := range b[i*ldb : i*ldb+n] {
				x[j*block+i] = v
			}
		}
		f(rows, x[:])
		for i := range rows {
			for j := range n {
				b[i*ldb+j] = x[j*block+i]
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
type part[F float] struct {
	m, n int
	a, b []F
}

// halveTriangle returns the parts, the first being the one whose unknowns do not depend on the others', and what lies
// beside the diagonal blocks.
func halveTriangle[F float](s blas.Side, ul blas.Uplo, tA blas.Transpose, m, n int, a []F, lda int,
	b []F, ldb int) (first, last part[F], beside []F) {
	var h int
	if s == blas.Left {
		h = halve(m, triangular)
		first, last = part[F]{h, n, a, b}, part[F]{m - h, n, a[h*lda+h:], b[h*ldb:]}
	} else {
		h = halve(n, triangular)
		first, last = part[F]{m, h, a, b}, part[F]{m, n - h, a[h*lda+h:], b[h:]}
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
func (r routines[F]) addBeside(s blas.Side, tA blas.Transpose, last *part[F], alpha F, beside []F, lda int,
	first *part[F], ldb int, beta F) {
	if s == blas.Left {
		r.gemm(tA, blas.NoTrans, last.m, last.n, first.m, alpha, beside, lda, first.b, ldb, beta, last.b, ldb)
	} else {
		r.gemm(blas.NoTrans, tA, last.m, last.n, first.n, alpha, first.b, ldb, beside, lda, beta, last.b, ldb)
	}
}

func isUplo(ul blas.Uplo) bool { return ul == blas.Lower || ul == blas.Upper }

// fits reports whether s, with rows ld apart, holds a matrix that is not empty.
func fits[F float](rows, cols int, s []F, ld int) bool {
	return rows > 0 && cols > 0 && ld >= cols && len(s) >= cols && (len(s)-cols)/ld >= rows-1
}

// second returns what op(A) is of from row h on.
func second[F float](tA blas.Transpose, h int, a []F, lda int) []F {
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
func accumulate[F float](c []F, beta F, sums []F) {
	if beta == 0 {
		copy(c, sums)
		return
	}
	for j, v := range sums[:len(c)] {
		c[j] = beta*c[j] + v
	}
}
