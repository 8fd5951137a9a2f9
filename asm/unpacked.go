package asm

import "unsafe"

// An UnpackedFunc computes C = A·B, or with add C + A·B, where what C holds is added to the sums when they are
// complete, for an m × k matrix A, a k × n matrix B and an m × n matrix C of the kernel's words, all where they lie:
// nothing is packed, which small products and few rows would notice. Rows of B and C lie ldb and ldd bytes apart, and
// lda bytes either the rows of A or, if K lies across them, its columns. m, n and k are at least 1. The bits are those
// of the kernel's [KernelFunc].
//
// It brings B closer before it multiplies it, and reads all of it for every [Unpacked.Rows] rows of A.
type UnpackedFunc func(
	m, n, k int, a unsafe.Pointer, lda int, b unsafe.Pointer, ldb int, dst unsafe.Pointer, ldd int, add bool,
)

// A VectorFunc multiplies a row of A, whose k words lie stepA bytes apart, by n columns of B, where they lie. It stores
// the n sums side by side or, with add, adds them to what is there, block after block of K, see [Type.Block].
//
// A call may be as large as one likes, as that of a [StreamFunc].
type VectorFunc func(k, n int, a unsafe.Pointer, stepA int, b unsafe.Pointer, stride int, dst unsafe.Pointer, add bool)

// Unpacked is how a kernel multiplies what is not packed, and a row by panels.
type Unpacked struct {
	Along, Across UnpackedFunc  // for an A with K along its rows, or across them
	Rows, Columns int           // of the highest tile
	Vector        [3]VectorFunc // for an A of one row, by how B lies
	Deep          [3]int        // elements of K of a call at most, by how B lies
}

// How B lies if not in rows of K, for which there is no VectorFunc.
const (
	VectorAlong  = 1 // its columns along K, stride bytes apart; may be nil
	VectorPanels = 2 // in panels of one block of K, one behind the other, whose rows have stride bytes
)

// Unpacked returns how the kernel multiplies unpacked A and B of type t, or nil if it cannot.
func (k *Kernel) Unpacked(t Type) *Unpacked {
	if t != k.Sum {
		return nil
	}
	return k.unpacked
}

// vectorGeneric is the twin of the kernels for a vector: it multiplies the columns as rows of an A.
func vectorGeneric[F float](
	k, n int, a unsafe.Pointer, stepA int, b unsafe.Pointer, stride int, dst unsafe.Pointer, add bool,
) {
	size := int(unsafe.Sizeof(F(0)))
	for k0 := 0; k0 < k; k0 += F32.Block() {
		unpackedGeneric[F](n, 1, min(F32.Block(), k-k0),
			unsafe.Add(b, k0*size), size, stride, unsafe.Add(a, k0*stepA), stepA, dst, size, add || k0 > 0)
	}
}

// vectorPanelsGeneric is the twin of the kernels for a vector by panels of stride bytes a row.
func vectorPanelsGeneric[F float](
	k, n int, a unsafe.Pointer, stepA int, b unsafe.Pointer, stride int, dst unsafe.Pointer, add bool,
) {
	size := int(unsafe.Sizeof(F(0)))
	for nr, j := stride/size, 0; j < n; j += nr {
		unpackedGeneric[F](1, min(nr, n-j), k, a, stepA, 0, unsafe.Add(b, j*k*size), stride,
			unsafe.Add(dst, j*size), 0, add)
	}
}

// unpackedFlops is the most flops of float32, and twice those of float64, of a call of assembly, which cannot be
// preempted, unless a tile has more.
const unpackedFlops = 8 << 20

// unpackedGeneric is the twin of the kernels that multiply what is not packed; wordA is the bytes to the next element
// of K in A, and rowA to the next row.
func unpackedGeneric[F float](
	m, n, k int, a unsafe.Pointer, wordA, rowA int, b unsafe.Pointer, ldb int, dst unsafe.Pointer, ldd int, add bool,
) {
	sums := make([]F, n)
	for i := range m {
		to := unsafe.Slice((*F)(unsafe.Add(dst, i*ldd)), n)
		clear(sums)
		for kd := range k {
			x := *(*F)(unsafe.Add(a, i*rowA+kd*wordA))
			axpy(sums, x, unsafe.Slice((*F)(unsafe.Add(b, kd*ldb)), n))
		}
		for j, x := range sums {
			if add {
				x += to[j]
			}
			to[j] = x
		}
	}
}
