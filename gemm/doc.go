// Package gemm multiplies matrices of bfloat16, half precision, float32 and float64 at the speed of the machine, and
// all but float64, and fp8, with the bits of a Hopper GPU.
//
//	C = f(alpha·A·B + beta·C + bias)
//
// A is M x K, B is K x N and C is M x N. Without options that is C = A·B. [Multiply] is all that most programs need;
// an [Engine] has its own workers, memory and default options.
//
// # Conventions
//
// A [Matrix] is a row-major view of a slice: element (i, j) is Data[i*Stride+j], and Stride may exceed Cols, so a block
// of a matrix is a matrix. [Matrix.T] is the transposed view, of A, B or C, at the price of a header; a column-major
// matrix is the transpose of a row-major one. No view copies elements and nothing but the Rows x Cols elements is read
// or written. [Of] makes a matrix of a slice, [bf16.FromBits] or [fp8.E4M3FromBits] a slice of what others have.
//
// A and B hold [bf16.BF16], [float16.Float16] or float32, both the same; C holds any of the three. They may also hold
// [fp8.E4M3] or [fp8.E5M2], and with [Engine.Multiply] one of each. In native arithmetic fp8 is widened, exactly, and
// multiplied as bfloat16 is: the bits are those of operands that were widened before. There one operand may be fp8 and
// the other, with [Engine.Multiply], any of the three, in whose arithmetic they are multiplied then; so weights in fp8
// take half the memory of bfloat16, and of the time to read them. Products are accumulated in float32: K is cut into
// blocks of 256 elements, or of 512 of bfloat16, each is summed from zero in the order of K, as the kernel's
// instruction does, and the sums of blocks are added in their order, to nearest even. Then alpha·acc + beta·C is
// computed in float32, each operation rounded, and rounded once more, to nearest even, if C has 16 bits. Before that
// last rounding an element, if there is nothing but alpha and beta, differs from the exact value by at most
//
//	(block + K/block + 8)·2^-24 · (|alpha|·|A|·|B| + |beta|·|C|)
//
// with K in place of block if that is less, as long as no product and no sum overflows, or is so small that float32
// holds it as a subnormal number or as zero. The kernels avx512bf16 and amx and their models gobf16 and goamx besides
// take subnormal operands, and results of a step, as zeros; the others keep them.
//
// float64 goes with no other type. If A, B and C hold it, sums, alpha and beta are float64, blocks have 256 elements,
// and 2^-53 takes the place of 2^-24.
//
// With beta = 0 the old C is never read. Otherwise NaN and Inf propagate as in IEEE 754: zeros in A, in B and as
// alpha are multiplied like any number. A NaN ends up with any payload; in [Hopper]'s arithmetic it is the GPU's,
// 0x7fffffff or 0x7fff. With K = 0 the sums are zeros, and alpha multiplies them too: C becomes beta·C, or NaN
// everywhere if alpha is NaN or infinite (BLAS leaves alpha out then).
//
// # Epilogues
//
// What else becomes of the sums of an element of row i and column j, before it is rounded to C's type, is computed in
// this order, in float32, to nearest even after every step:
//
//	acc·(sa[i]·sb), or acc·sb[j]·sa[i] if sb has several values  WithScales
//	· alpha + beta·C                                             WithAlpha, WithBeta
//	+ bias[j]                                                    WithBias
//	+ rowBias[i]                                                 WithRowBias
//	f                                                            WithActivation
//
// An option that is not given is no step. Sums in float64 know alpha and beta alone, [WithAlpha64] and [WithBeta64].
// [Hopper]'s arithmetic does as cuBLASLt on that GPU, recorded of each step alone and of a bias with ReLU and GELU: a
// beta of 1 adds C to alpha·acc rounded to C's type, any other but 0 is alpha·acc + beta·C with one rounding after that
// of beta·C; and [GELUTanh] takes the instruction tanh.approx.f32, so that it is 0 below -4.9, and a NaN of -Inf.
// Hidden layers so take little longer than their products:
//
//	err := gemm.Multiply(y, x, weights, gemm.WithBias(bias), gemm.WithActivation(gemm.GELU))
//
// # Same bits
//
// For one kernel, K being summed in blocks, an element of C depends on its row of A, its column of B, its old value
// and what the epilogue has for it, and on nothing else: not on the number of workers, the depth of the ring, the
// tile, the layout of the operands or the size of the matrices around it. Kernels differ in how they round. The
// kernel is chosen by machine and type; [WithKernel] pins it, or the environment variable LEAFHOPPER_KERNEL for the
// arithmetic of the kernel that it names; several names, with commas between them, pin one for each type. Features of
// the processor that the environment turns off in the way of Go, as with GODEBUG=cpu.avx512f=off, are not used, nor are
// the kernels that need them.
//
// # Hopper's arithmetic
//
// With [WithArithmetic]([Hopper]) all kernels have the same bits: those that the tensor cores of an H100 or H200
// leave after a chain of wgmma instructions along K, and, as recorded, those of cuBLAS. A step sums 16 products and
// the accumulator at once, cut off below 2^-25 of the largest and truncated; with float32 operands, in tf32, 8
// products; with fp8 32 products, cut off below 2^-13. The bound above does not hold.
//
// float32 operands are rounded to tf32 first, to nearest even, as cuBLAS does and as TMA does with maps of that type.
// The instruction by itself, in package wgmma, ignores the low 13 bits instead; who wants that clears them.
//
// Where cuBLAS splits K among the blocks of a GPU, [WithSplitK] does the same: it sums parts of K each for themselves
// and then adds up the results, in order. So does [WithPromotion], every so many elements: with 128 fp8 has the bits
// of cuBLAS without fast accumulation, and without it those with.
//
// # Packed operands
//
// A product needs B in panels, the order in which the kernel reads it, and makes them anew in every call. [Pack]
// makes them once:
//
//	weights, err := gemm.Pack(b)
//	...
//	err = gemm.Multiply(c, a, weights) // the bits of gemm.Multiply(c, a, b)
//
// A [Packed] belongs to one kernel and arithmetic, is shared freely between goroutines, and marshals to bytes that
// only a build with the same kernel and layout takes back.
//
// # Batches
//
// Many products at once, such as those of the heads of attention or of experts, are one call of [MultiplyBatch]: what
// is too small for several workers is one worker's, and different ones compute different products. The bits are those
// of a call for each.
//
// # Errors
//
// What is wrong with the operands or options is reported before anything is written, with the operand's name and the
// sizes that do not fit. That C shares elements with A or B is an error. Views that interleave, like the left and the
// right half of a matrix, are told apart if they have the same row pitch in bytes; with different ones, C may not lie
// within the range of memory that an input spans. A and B may overlap. Once work has started only the context can end
// it; C is then a mixture of old and new elements and of incomplete sums.
//
// # How a product is cut
//
// Small products run on the caller's goroutine. For the others C is cut into cluster tiles, which follow each other,
// and each is built like a thread block cluster on a Hopper GPU:
//
//	C                     cluster tile                slab              strip
//	+------+------+---    +----------+---------+      +--+--+--+--+     +--+
//	|      |      |       | slab     | slab    |      |  |  |  |  |     |  | MR  register
//	| tile | tile |       +----------+---------+ CTA  |  |  |  |  |     +--+     tile
//	|      |      |       | slab     | slab    |  0   |  |  |  |  |     |  |
//	+------+------+-      +==========+=========+      |  |  |  |  |     +--+
//	|      |      |       | slab     | slab    | CTA  |  |  |  |  |     |  |
//	| tile | tile |       +----------+---------+  1   |  |  |  |  |     +--+
//	|      |      |       | slab     | slab    |      +--+--+--+--+     |  |
//	+------+------+-      +----------+---------+       NR              +--+
//	|      |      |                                                     NR
//
// The CTAs of a cluster have their own rows of A and share the columns of B. A worker computes a slab at a time,
// strip by strip, with one call of the microkernel for each. Along K a tile is cut into stages, and those pass
// through a ring of slots:
//
//	A, B in memory --copy jobs--> slot 0: panels of A for each CTA, panels of B
//	     ^                        slot 1:   "
//	     |                        ...  full barrier: all bytes have arrived
//	     |                             empty barrier: all slabs are computed
//	strides, transposes,                |
//	edges and 16-bit types              v
//	end here                      kernel: accumulators += panel of A · panel of B
//	                                    |
//	                                    v after the last stage
//	                              epilogue: scales, alpha, beta, bias, activation, rounding, clipped to C
//
// Copying is packing: a slot holds its part of A and B in the order in which the kernel reads it, padded with zeros
// to whole register tiles. Every worker does what is due: it fills slots or computes slabs. So the caller alone gets
// the product done, and helpers join when they can.
//
// A caller who names neither a depth nor a tile gets the shortest way that a product allows, with the same bits: a
// [Plan], which [Stats] carries and [Explain] explains. It says who shares the product:
//
//	caller    it computes alone what takes less time than to hand it over
//	columns   A has few rows, so that reading B is the work: each worker takes other
//	          columns of B, past an A that slots hold whole
//	slabs     what a slab of C needs comes from caches soon enough for each worker to
//	          fetch and to pack it for itself; out of a deep K it is a range of blocks
//	ring      A is packed once for all, and B, unless workers pack it themselves as they
//	          multiply
//
// where A comes from, and B, where sums wait for more of K, and how C, B or K is cut. Float32 and float64 that
// is small, thin or does not divide into panels is not packed at all.
//
// # Memory
//
// A ring takes depth slots and the accumulators of one cluster tile. With ctas x m x n elements in a cluster tile and
// words of 4 bytes, k words deep, each of which holds one float32 or, in the kernels for pairs, two bf16,
//
//	depth · (ctas·m + n) · k · 4  +  ctas · m · n · 4    bytes, twice as many of float64,
//
// each dimension rounded up to the register tile, and the accumulators twice if K has several blocks, or parts, of
// several stages. The engine's own choice stays below 32 MiB, or 48 MiB for more workers if they are, and 4 MiB above
// that in Hopper arithmetic, whose panels hold exponents too; [WithTile] (if it names m, ctas is 1) and [WithDepth]
// change it, and [Stats] reports the dimensions. An engine has at most as many rings in use at once, and keeps as
// many, those of up to 64 MiB, as GOMAXPROCS was when it was made, or WithWorkers of [New] if that is more, and as many
// again for brief calls, of up to 2^30 multiply-adds. Further calls wait for a turn, brief ones only for each other.
// [Engine.Close] gives the memory back; the shared engine, made when the program begins, keeps its own. GOMEMLIMIT does
// not count it on Linux. A small product, or each worker of one with few rows, borrows a buffer of less than 1 MiB,
// with AMX of little more, from a pool that the garbage collector empties. Workers that share out K have the sums of
// its blocks from the engine, at most 2 MiB, or of dot products a 64th of A and B. Scales of rows are copied to such
// a buffer if B has one.
//
// In steady state, with rings of the size already there, Multiply allocates nothing but for [WithTrace].
//
// # Concurrency
//
// All functions may be called by several goroutines at once, with the same inputs too, provided that nobody writes an
// input or touches a C during the call: in a build with the race detector, which does not see into assembly, every call
// tells it what it reads and writes. A call computes on its own goroutine and on helpers that it shares with the
// other calls of its engine. Helpers wait for the next call for a fraction of a millisecond, spinning, and then end: an
// idle engine has no goroutines. A call returns when every helper has left its operands, also when it was cancelled.
package gemm

// The files, each before those that it uses:
//
//	explain, batch                                     how products would be computed; many in one call
//	multiply, packed_binary, packed, engine            what callers call, and who has helpers, memory and plans
//	prepare                                            checks, the choice of the kernel, what decisions need
//	run                                                a program for workers, which is one of:
//	ring, columns_compute, columns_turned, columns_swept, columns, slabs
//	slab, slab_dots, slab_unpacked, stream             what one goroutine computes, without slots
//	strip, scratch, behind                             calls of kernels, their memory, and the panel after this
//	races                                              what the race detector is told
//	share, option, stats, matrix                       how many compute; what callers pass and get
//	epilogue, sums, product, finish, panels, view      what becomes of sums; a product, and where it lies
