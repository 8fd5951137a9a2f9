// Package gonumblas is gonum's BLAS with the products of package gemm: a drop-in for programs that use gonum.
//
//	blas64.Use(gonumblas.Implementation{}) // float64: what package mat uses, too
//	blas32.Use(gonumblas.Implementation{}) // float32
//
// once, at the start, and what a program does by way of them takes less time. [Implementation] has every routine of
// gonum's, which it embeds, for float32, float64 and complex numbers, and these of its own:
//
//	Sgemm, Dgemm                              a product of package gemm
//	Ssymm, Ssyrk, Ssyr2k, Dsymm and so on     halved again and again, until gemm has computed all but small blocks
//	Strmm, Strsm, Dtrmm, Dtrsm                likewise
//	Sgemv, Dgemv                              if A is transposed; otherwise gonum is as fast
//
// # How fast
//
// Times as fast as gonum v0.17, with square matrices, in the slowest of four combinations of sides, triangles and
// transpositions (Sgemv, Dgemv: of A's transposes), on one core of a busy machine, the lower median of two runs:
//
//	go test -run xxx -bench BesideGonum -benchtime 20x -cpu 1 ./gonumblas
//
//	Zen 5     8    16    32    64   128      Zen 4     8    16    32    64   128
//	Sgemm   1.5   4.8    10    12    13      Dgemm   1.4   4.2   5.7   5.7   6.6
//	Ssymm   1.8   4.4   6.3   7.4   9.2      Dsymm   1.6   3.7   4.9   5.2   4.8
//	Ssyrk   0.9   2.1   4.5   5.1   6.0      Dsyrk   0.8   1.5   2.6   2.8   3.7
//	Ssyr2k  1.0   3.7   9.8    17    25      Dsyr2k  1.0   2.8   5.7   7.5   8.0
//	Strmm   1.0   1.2   2.1   2.9   3.6      Dtrmm   0.9   1.1   1.6   2.5   3.1
//	Strsm   1.0   1.2   1.8   3.1   4.4      Dtrsm   1.0   1.1   1.7   2.6   3.4
//	Sgemv   1.0   1.0   1.5   2.5   3.9      Dgemv   0.8   0.9   1.0   1.1   1.5
//
// With both transposed Sgemm and Dgemm are 2 to 100 times as fast. What package mat gains on that Zen 4, by -bench Mat
// and -benchtime 5x:
//
//	rows   Mul   Inverse   Cholesky    LU    QR   SVD
//	 100   5.5       1.6        1.2   1.3   1.0   1.0
//	1000   7.6       4.3        3.1   3.3   3.7   1.1
//
// Calls too small to gain are gonum's, a few nanoseconds later, and all of a type are where package gemm has no
// assembly for it, unless there is an Engine. Some thin ones lose: products of 300 to 500 multiply-adds with a K of 4
// or less take up to 1.5 times as long.
//
// # What differs
//
// Arguments mean what they mean to gonum, and wrong ones panic with its words. Results have other bits, which do not
// depend on the number of cores. Of gemm and gemv, to name routines of both types without their letter, those that
// package gemm computes keep its bound, in float64 with 2^-53 in it.
//
//   - gonum skips zeros of some operands, so that a NaN or Inf they meet does not show. What package gemm multiplies
//     has no such exceptions: 0·NaN and 0·Inf are NaN. What BLAS says is not read has no influence, and B's rows have
//     none on those that a triangular A keeps apart. trmm and trsm from the right have gonum compute small blocks
//     from the left, where it skips zeros of A that it would not skip otherwise.
//   - alpha multiplies finished sums, which may overflow or underflow. Where gonum multiplies elements by it first, a
//     small alpha keeps its sums finite, and a large one keeps them from 0.
//   - With alpha = 0 gemm reads neither A nor B, and with beta = 0 syrk does not read C, as BLAS has it. gonum makes
//     NaN of NaN there in some cases.
//   - Where C shares memory with an input, which BLAS does not allow, gemm and gemv do as gonum. So they do with
//     whatever else package gemm refuses: if the Engine is closed, or LEAFHOPPER_KERNEL names no kernel for the type.
//
// gemm and gemv allocate nothing where they are package gemm's; the others keep blocks of 64 by 64 elements in a pool
// that the garbage collector empties.
package gonumblas
