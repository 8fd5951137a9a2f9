// Package wgmma is the asynchronous warpgroup-level matrix instruction of
// NVIDIA's Hopper GPUs, wgmma.mma_async (PTX ISA 9.1, section 9.7.15), for
// goroutines: its descriptors, its register fragments, its protocol, and its
// arithmetic to the last bit. The recordings of an H200 are replayed by the
// tests.
//
// One instruction computes D = A·B + D for a tile of 64 rows and N columns, N
// being 8 to 256, over 32 bytes of K (64 if A is sparse). B lies in shared memory, A there or in
// registers, D in registers:
//
//	               B, in shared memory
//	               ┌───────────────────────┐
//	               │  K × N                │  K = 8  (tf32), 16 (bf16, f16),
//	               └───────────────────────┘      32 (fp8, int8), 256 (bits)
//	 A, in shared  ┌───────────────────────┐
//	 memory or     │  D, in registers      │ warp 0, rows  0..15
//	 registers     ├───────────────────────┤
//	┌──────────┐   │                       │ warp 1, rows 16..31
//	│          │   ├───────────────────────┤
//	│  64 × K  │   │                       │ warp 2, rows 32..47
//	│          │   ├───────────────────────┤
//	│          │   │                       │ warp 3, rows 48..63
//	└──────────┘   └───────────────────────┘
//
// # Issue and wait
//
// A [Warpgroup] issues instructions as the GPU does:
//
//	w.Fence()                                  registers are as the program left them
//	w.MMA(op, d, a, b)                         issued, in order; nothing has happened yet
//	w.MMA(op, d, a.Advance(32), b.Advance(32)) no fence between steps on one accumulator
//	w.CommitGroup()                            what was issued is a group
//	w.WaitGroup(0)                             at most 0 groups are pending: d holds the sum
//
// Between MMA and the WaitGroup that covers it, the registers of D and A belong
// to the instruction, and so does the shared memory of its operands. Here an
// instruction runs in WaitGroup, which is as late as the hardware may be: who
// reads D too early finds the old values, and who refills a stage too early
// multiplies the new bytes. With [Checked] either is reported, as is a missing
// Fence. (A goroutine that overwrites an operand without having been told to
// by a barrier is also a data race, and the race detector says so.)
//
// What a wait covers runs in chains: instructions on one accumulator that follow
// each other with the same [Op] (the first may have Overwrite) are one product over
// a longer K, of which operands are gathered and D is loaded only once. A group of
// four, as a swizzled row of 128 bytes has, makes good use of that.
//
// # Descriptors
//
// An operand in shared memory is named by a [Descriptor]: start address, two
// byte offsets and a swizzle mode. It must describe the layout in which the
// bytes were written, usually by a tensor copy of package tile with the same
// swizzle; [KMajor] and [MNMajor] return the descriptors of such tiles. K-major
// means that neighbours in K lie side by side, MN-major ("transposed") that
// neighbours in M or N do. [Descriptor.Offset] has the formulas.
//
// # Sparse A
//
// [Warpgroup.MMASparse] multiplies an A of which two of each four neighbours in a row
// are stored, of tf32 one of two, over twice the K: 32 bytes of a row of A by 64 of a
// column of B. A [Metadata], 32 bits a thread, says which are stored; [Compress] makes
// it, and what is stored, of a matrix. A step further in K is a.Advance(32) and
// b.Advance(64), K-major. A K-major B with a swizzle of 32 bytes lies in two boxes, LBO
// bytes apart.
//
// # Registers
//
// Thread t of the 128 is lane t%32 of warp t/32, and warp w owns the rows 16w
// to 16w+15. Columns come in groups of eight, of which a thread owns two
// neighbours in two rows, eight rows apart. The first 16 rows and 8 columns of
// D, each place with lane:register of warp 0:
//
//	         col 0     1     2     3     4     5     6     7
//	row  0     0:0   0:1   1:0   1:1   2:0   2:1   3:0   3:1
//	row  1     4:0   4:1   5:0   5:1   6:0   6:1   7:0   7:1
//	 ...
//	row  7    28:0  28:1  29:0  29:1  30:0  30:1  31:0  31:1
//	row  8     0:2   0:3   1:2   1:3   2:2   2:3   3:2   3:3
//	 ...
//	row 15    28:2  28:3  29:2  29:3  30:2  30:3  31:2  31:3
//
// The next eight columns are registers 4 to 7, and so on: element i of thread t
// is row 16(t/32) + (t%32)/4 + 8((i/2)%2), column 8(i/4) + 2(t%4) + i%2. See
// [AccumulatorCoord], and [FragmentCoord] for A.
//
// # Arithmetic
//
// Each element of D is one fused sum of the products of the instruction, as many as
// [Kind.K], and the old element:
//
//  1. Operands are decoded without normalizing subnormals. A product is exact,
//     has the sum of its factors' exponents, and is not renormalized.
//  2. E is the largest exponent among the nonzero products and a nonzero D.
//     Every term is truncated toward zero to a multiple of 2^(E-F); F is 25,
//     and 13 for fp8. The sum of the truncated terms is exact.
//  3. The sum is truncated toward zero to f32, to 13 fraction bits for fp8, or
//     rounded to nearest even to f16. A result that rounds to nothing is +0,
//     one too large is an infinity. A NaN, 0·∞, or infinities of both signs
//     give 0x7fffffff (f16: 0x7fff); otherwise an infinity wins.
//
// tf32 operands are f32 words whose low 13 bits are ignored (cuBLAS and package
// gemm round them first; a tensor copy with a map of that type does, too). Negated
// operands change the sign of products, exactly; Overwrite makes the old D a zero.
// With 8-bit integers the sum is exact, and then wraps, or is clamped if Saturate is
// set; of bits those are counted that are 1 in both. What a sparse A does not select of B
// does not count, whatever it is. A product with a longer K is a chain of instructions, and has other bits
// than a sum in f32 has.
//
// Sources: PTX ISA 9.1, sections 9.7.15 (wgmma) and 8.9.1.1 (asynchronous
// operations); and the recordings in testdata.
package wgmma

// The files:
//
//	kind, descriptor, fragment, accumulator  the instruction, and its operands in memory and in registers
//	warpgroup, sparse, misuse                issuing and waiting; what MMASparse adds; the checks of order
//	run                                      what a wait covers, in chains, and in plain Go
//	kernel, dense, integer                   the same by assembly: its operands, and those of integers
//	layout                                   how operands are read out of shared memory
