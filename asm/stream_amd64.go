//go:build amd64 && !purego

package asm

import (
	"sync"
	"unsafe"
)

// The stream kernels in assembly read rows of K (Across), rows along K (Along) or packed panels (Panels); Far
// prefetches to the second-level cache. The size is how many rows of A they multiply.

// A streamBlock is what an assembly stream kernel works on.
type streamBlock struct {
	k      int            // across: elements of K; along: blocks of K, counted down; panels: words of K; at least one
	n      int            // across: columns
	stride int            // across: bytes between the rows of B; panels: between its panels
	ahead  int            // across and panels: bytes from what is read to what is prefetched
	near   int            // across: with so few columns left another row is prefetched; along: it is at this offset
	lone   int            // along, AVX-512: not 0 if the first slot is to be multiplied, and the others to do nothing
	next   int            // across: what leads from the end of a row to that one; along: its offset
	each   int            // along: blocks of K that are a block of sums
	left   int            // along: how many are left of one
	adds   int            // panels and along: not 0 if src is what sums are added to, and not where they start
	b      unsafe.Pointer // across and panels: B
	table  *table8        // of fp8
	slots  [4]streamSlot  // across and panels use the first; along as many as there are accumulators for

	// The last columns that were packed, for panels, or copied, for across without masks; for tiles A as float32,
	// sums, and of along the last lines of columns, copied.
	room [4 * streamPanel / 4]uint32
	tile [8 * 32]float32 // accumulators of columns that are cut off by the edge of B
	sums []float32       // see chain
}

// A streamSlot is what some columns of B are multiplied by and added to. The addresses of rows beyond those that
// exist are that of the last one that does.
type streamSlot struct {
	a    unsafe.Pointer     // the panel of A
	src  [8]unsafe.Pointer  // the rows of the accumulators before, or nil
	dst  [8]unsafe.Pointer  // and after
	rows [16]unsafe.Pointer // along: the columns of B

	// along: how far in bytes A has been read, and the columns have been read and prefetched. They go forward with
	// each call.
	used, offset, fetch int
}

// The blocks of the stream kernels, measured on Zen 5.
const (
	streamWidth  = 16 << 10 // columns at a time, which bounds a call
	streamLength = 32 << 10 // bytes at a time along each of 32 rows, which bounds a call
	streamPage   = 4 << 10  // bytes between rows, or a multiple, that have them share sets of the first-level cache
	streamAhead  = 256      // bytes to prefetch ahead in a row
	streamFar    = 1024     // the same along K if a single slot prefetches to the second-level cache
	streamPiece  = 256      // bytes of a row that are prefetched one after the other
	streamLag    = 1024     // bytes that one group of columns is behind another
	streamPanel  = 16 * 128 // bytes of a panel of what is left of K, or of a part of it
)

var streamBlocks = sync.Pool{New: func() any { return new(streamBlock) }}
