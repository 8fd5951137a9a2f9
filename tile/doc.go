// Package tile is the tensor memory accelerator of a Hopper GPU, the TMA, for
// goroutines: it copies boxes of a tensor of up to five dimensions, or plain
// bytes in bulk, between global memory and emulated shared memory. Its rules
// are those that an H200 showed; the recordings are replayed by the tests.
//
// # Tensor and box
//
// A [TensorMap] describes once what every copy needs to know: element type,
// extent and strides of the tensor, and the box to move. A copy then names only
// a coordinate, innermost dimension first, that may lie outside:
//
//	-8        0        8        16    22   dim 0
//	          ┌───────────────────────┐ 0
//	          │                       │         Dims: 22, 5
//	          │        tensor         │         Box:  16, 4
//	          │                       │         coordinate -8, 3
//	╔═════════╪════════╗              │ 3
//	║  fill   │ loaded ║              │
//	║         └────────╫──────────────┘ 5
//	║  fill      fill  ║
//	╚══════════════════╝ 7
//	                                    dim 1
//
// [Load] writes the fill, zeros or the NaN pattern, for elements outside, and
// always completes the bytes of the whole box on its barrier. [Store] drops
// elements outside, but along dimension 0 only in granules of 16 bytes: one that
// begins inside is written whole, into the padding behind the row. The inner
// coordinate must be a multiple of 16 bytes, and a store must not begin at a
// negative coordinate; the hardware faults, and here it is an error. [Reduce] is
// a store that combines each element with the one in the tensor.
//
// Element strides thin the box out. With box extent 7 and element stride 3 in
// dimension 1, ceil(7/3) = 3 rows are moved, and they lie close together in
// shared memory:
//
//	box row       0  1  2  3  4  5  6
//	taken         ■  .  .  ■  .  .  ■
//	tile row      0        1        2
//
// An im2col map ([Im2col]) has no box: its copies take pixels of images in a row, those that one tap of a
// convolution's filter meets, which makes the operand of an implicit GEMM.
//
// Maps do not change. A [Descriptor] has the fields of one, which kernels replace one by one to make another.
//
// # Swizzle
//
// A tile is stored row after row, dimension 0 fastest. With a swizzle a row
// takes the whole span of 32, 64 or 128 bytes, even if the box is narrower (the
// rest of the span is left alone), and the 16-byte chunks of each 128-byte line
// change places: chunk c of line l goes to c^(l mod 2, 4 or 8). The tile of
// Swizzle128B, a row of 8 chunks to the line:
//
//	line 0   0 1 2 3 4 5 6 7
//	line 1   1 0 3 2 5 4 7 6
//	line 2   2 3 0 1 6 7 4 5      any column, read down eight lines,
//	line 3   3 2 1 0 7 6 5 4      visits all eight positions, so the
//	line 4   4 5 6 7 0 1 2 3      banks of shared memory, once
//	line 5   5 4 7 6 1 0 3 2
//	line 6   6 7 4 5 2 3 0 1
//	line 7   7 6 5 4 3 2 1 0
//
// The line is the one of the absolute address, not of the tile: a tile that
// starts at line 2 continues the pattern there. See [Swizzle.Apply].
//
// # All copies
//
// A bulk copy moves a multiple of 16 bytes between multiples of 16. What comes
// into shared memory completes a barrier of the CTA that it comes to; what goes
// to global memory belongs to a bulk group of the thread that issued it.
//
//	               box of a tensor             bytes                      completes
//	global→shared  Load                        LoadBulk                   barrier
//	global→many    Cluster.LoadMulticast       Cluster.LoadBulkMulticast  barrier of each
//	shared→shared                              CopyBulk, ReduceShared     barrier over there
//	shared→global  Store, Reduce               StoreBulk, ReduceBulk      bulk group
//	global→L2      Prefetch                    PrefetchBulk               nothing
//
// The functions do their work before they return. A [Thread] has all of them
// but the prefetches as methods that start the work only, as the GPU does, with
// CommitGroup, WaitGroup and WaitGroupRead for its groups; a wait that a program
// lacks then changes its results. [Thread.Shuffle] makes chance of everything
// that the rules leave open. Only a Thread has CopyAsync, StoreAsync and ReduceAsync
// (cp.async, st.async and red.async), which complete barriers.
//
// # Errors and order
//
// What the GPU refuses or leaves undefined is an error here, found before any
// byte is written or signalled: a [Misuse], which has the rule, or that of a barrier.
// Copies use plain memory accesses, so a missing wait shows up as a data race; what
// assembly reads and writes in those of a [PanelMap] the race detector is told.
//
// Go orders memory for everybody at once, so there are no proxies and no fences
// between them (fence.proxy.async and its kin).
//
// Sources: PTX ISA 9.1, sections 5.5 (tensors), 9.7.9.25 (bulk copies) and
// 9.7.9.27 (tensor copies, bulk groups); CUDA C++ Programming Guide, asynchronous
// copies with the TMA; CUDA driver API, cuTensorMapEncodeTiled and
// cuTensorMapEncodeIm2col; and the recordings in testdata.
package tile

// The files:
//
//	datatype, tensormap, im2col, descriptor    the map, and its fields that kernels replace
//	copy, bulk, reduce, reduce_bulk, cluster   the copies of boxes and of bytes, and their checks
//	window, rows, combine                      what of a box lies in the tensor, and how its rows move
//	thread, thread_*, transfer                 the same issued by a thread, to land piece by piece
//	shared, prefetch, misuse                   shared memory; hints; errors and their rules
//	panel, slot*                               not the GPU's: boxes in the order of a microkernel, memory of rings
