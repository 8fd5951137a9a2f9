// Package gonumblas is gonum's BLAS with the float32 products of package gemm: a drop-in for programs that use gonum.
//
//	blas32.Use(gonumblas.Implementation{})
//
// once, at the start, and what a program does by way of blas32 takes less time. [Implementation] has every routine of
// gonum's, which it embeds, for float32, float64 and complex numbers, and these of its own:
//
//	Sgemm                   a product of package gemm
//	Ssymm, Ssyrk, Ssyr2k    halved again and again, until Sgemm has computed all but small blocks
//	Strmm, Strsm            likewise
//	Sgemv                   if A is transposed; otherwise gonum is as fast
//
// Package gemm has no float64. blas64.Use(gonumblas.Implementation{}) makes nothing faster.
//
// # How fast
//
// Times as fast as gonum v0.17, with square matrices, in the slowest of four combinations of sides, triangles and
// transpositions (Sgemv: of A's transposes), on one core of a busy Zen 5, the lower median of two runs:
//
//	go test -run xxx -bench BesideGonum -benchtime 20x -cpu 1 ./gonumblas
//
//	          8    16    32    64   128
//	Sgemm   1.5   4.8    10    12    13
//	Ssymm   1.8   4.4   6.3   7.4   9.2
//	Ssyrk   0.9   2.1   4.5   5.1   6.0
//	Ssyr2k  1.0   3.7   9.8    17    25
//	Strmm   1.0   1.2   2.1   2.9   3.6
//	Strsm   1.0   1.2   1.8   3.1   4.4
//	Sgemv   1.0   1.0   1.5   2.5   3.9
//
// With both transposed Sgemm is 2 to 100 times as fast. Calls too small to gain are gonum's, and all are where package
// gemm has no assembly for float32, unless there is an Engine. Some thin ones lose: Sgemm of 300 to 500 multiply-adds
// with a K of 4 or less takes up to 1.5 times as long, Strmm and Strsm of 9 to 16 rows up to 1.25 times.
//
// # What differs
//
// Arguments mean what they mean to gonum, and wrong ones panic with its words. Results have other bits, which do not
// depend on the number of cores. Of Sgemm and Sgemv those that package gemm computes keep its bound.
//
//   - gonum skips zeros of some operands, so that a NaN or Inf they meet does not show. What package gemm multiplies
//     has no such exceptions: 0·NaN and 0·Inf are NaN. What BLAS says is not read has no influence, and B's rows have
//     none on those that a triangular A keeps apart. Strmm and Strsm from the right have gonum compute small blocks
//     from the left, where it skips zeros of A that it would not skip otherwise.
//   - alpha multiplies finished sums, which may overflow or underflow. Where gonum multiplies elements by it first, a
//     small alpha keeps its sums finite, and a large one keeps them from 0.
//   - With alpha = 0 Sgemm reads neither A nor B, and with beta = 0 Ssyrk does not read C, as BLAS has it. gonum makes
//     NaN of NaN there in some cases.
//   - Where C shares memory with an input, which BLAS does not allow, Sgemm and Sgemv do as gonum. So they do with
//     whatever else package gemm refuses: if the Engine is closed, or LEAFHOPPER_KERNEL names no kernel for float32.
//
// Sgemm and Sgemv allocate nothing where they are package gemm's; the others keep blocks of 16 KiB in a pool that the
// garbage collector empties.
package gonumblas
