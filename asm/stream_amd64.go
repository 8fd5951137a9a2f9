//go:build amd64 && !purego

package asm

import (
	"unsafe"

	"example.com/leafhopper/internal/race"
)

// The stream kernels in assembly read rows of K (Across), rows along K (Along) or packed panels (Panels); Far
// prefetches to the second-level cache. The size is how many rows of A they multiply.

// A streamCall is what an assembly stream kernel is called with, and works on.
type streamCall struct {
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
	apart  int            // along: bytes from one panel of A to the next

	// The last columns that were packed, for panels, or copied, for across without masks; for tiles A as float32,
	// sums, and of along the last lines of columns, copied.
	room [4 * streamPanel / 4]uint32
	tile [256]float32 // accumulators of columns that are cut off by the edge of B, or half as many of float64
	sums []float64    // see chain
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
	streamWidth  = 64 << 10 // bytes of sums at a time, which bounds a call
	streamLength = 32 << 10 // bytes at a time along each of 32 rows, which bounds a call
	streamPage   = 4 << 10  // bytes between rows, or a multiple, that have them share sets of the first-level cache
	streamAhead  = 256      // bytes to prefetch ahead in a row
	streamFar    = 1024     // the same along K to the second-level cache, of a slot alone, or of float64, half as wide
	streamPiece  = 256      // bytes of a row that are prefetched one after the other
	streamLag    = 1024     // bytes that one group of columns is behind another
	streamPanel  = 16 * 128 // bytes of a panel of what is left of K, or of a part of it
)

var streamCalls race.Pool[streamCall]

// newCall takes one from the pool.
func (s *streamKernel) newCall() *streamCall {
	c := streamCalls.Get()
	c.table = s.table
	return c
}

// release gives the call back to the pool, without the addresses of operands.
func (c *streamCall) release() {
	c.b, c.slots = nil, [len(c.slots)]streamSlot{}
	streamCalls.Put(c)
}

// accumulate says that m rows of accumulators of a slot go from src to dst: those of a second panel of A in the next.
func (c *streamCall) accumulate(slot, m int, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	for i := range roundUp(m, 8) {
		s, row := &c.slots[slot+i/8], min(i, m-1)
		s.dst[i%8], s.src[i%8] = unsafe.Add(dst, row*ldd), nil
		if src != nil {
			s.src[i%8] = unsafe.Add(src, row*lds)
		}
	}
}

// loadPart is accumulate for n columns, less than width: they go through c's tile, where storePart finds them.
func (s *streamKernel) loadPart(c *streamCall, slot, n, width, m int, src unsafe.Pointer, lds int) {
	tile, pitch := unsafe.Pointer(&c.tile[0]), width*s.word()
	if src == nil {
		c.accumulate(slot, m, nil, 0, tile, pitch)
		return
	}
	c.accumulate(slot, m, tile, pitch, tile, pitch)
	copyRowsGeneric(tile, pitch, src, lds, m, n*s.word())
}

// storePart stores n columns of width from the tile.
func (s *streamKernel) storePart(c *streamCall, n, width, m int, dst unsafe.Pointer, ldd int) {
	copyRowsGeneric(dst, ldd, unsafe.Pointer(&c.tile[0]), width*s.word(), m, n*s.word())
}

// chain returns where the sums of a block of K of m rows and n columns are until it ends: at dst, or in memory of c's
// own if they are added to what is there.
func (s *streamKernel) chain(
	c *streamCall, m, n int, dst unsafe.Pointer, ldd int, add bool,
) (at unsafe.Pointer, pitch int) {
	if !add {
		return dst, ldd
	}
	pitch = n * s.word()
	if doubles := (m*pitch + 7) / 8; len(c.sums) < doubles {
		c.sums = make([]float64, doubles)
	}
	return unsafe.Pointer(unsafe.SliceData(c.sums)), pitch
}

// total adds the sums of a block to those at dst, unless they are there.
func (s *streamKernel) total(m, n int, from unsafe.Pointer, pitch int, dst unsafe.Pointer, ldd int) {
	if from != dst {
		Combine(s.sum, dst, ldd, from, pitch, m, n, 1, 1)
	}
}

// word returns the bytes of a word of A, and of a sum.
func (s *streamShape) word() int { return s.sum.Size() }

// panelA returns where element k0 of K stands in the panel a of A.
func (s *streamKernel) panelA(a unsafe.Pointer, k0 int) unsafe.Pointer {
	return unsafe.Add(a, k0/s.kpack*s.mr*s.word())
}
