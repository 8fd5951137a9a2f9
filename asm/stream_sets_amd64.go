//go:build amd64 && !purego

package asm

import (
	"math/bits"
	"unsafe"
)

// A streamSet is the kernels for 1, 2, 4 and, but for AVX2, 6 and 8 rows of A.
type streamSet []func(c *streamBlock)

// of returns the index of the kernel that multiplies m rows.
func (streamSet) of(m int) int {
	switch n := bits.Len(uint(m - 1)); {
	case m > 6:
		return n + 1
	default:
		return n
	}
}

// A streamShape is what the stream kernels of an instruction set have in common.
type streamShape struct {
	mr, nr int
	vec    int   // columns of a vector: of a slot, along
	masks  bool  // across takes any number of columns, otherwise whole vectors
	slots  []int // along, by kernel
	widths []int // columns of panels, by kernel
	deep   []int // columns that across, by kernel, takes down K without another call; none without masks
}

// A streamReach is how many rows of K across takes at a time, and how many bytes ahead it prefetches in each.
type streamReach struct{ rows, ahead int }

// The reach for rows of K, for those that lie whole pages apart, and for these with one or two rows of A. A cache of
// 12 ways keeps few lines of rows that are whole pages apart, and the processor follows 16 streams. GB/s of 32 MB of
// bf16 in pairs, one row of A: rows of 8 KB 34 with 16 rows and 512 bytes, 37 with 8 and 2048, 43 with 4 and 2048;
// rows of 10 KB 40, 37, 33, and with 16 and 1024 43.
//
// That was Zen 5. On an Emerald Rapids 32 rows and 256 bytes are better for more than two rows of A: eight of float32
// by 4096 x 4096 make 45 GFLOP/s on one core, and 450 on 16, rather than 43 and 380.
var (
	reachPairs = [3]streamReach{{16, 1024}, {16, 512}, {4, 2048}}
	// Rows of fp8 are half as long, and sums are added to once for the rows of a call. Zen 4, 4096 x 4096 in pages of
	// 4 KB: with 1 row of A 14.9 GB/s with 4 rows and 2048 bytes, 18.5 with 8 and 2048, 20.3 with 16 and 1024; with 8
	// rows of A 8.1 with 16 and 512, 8.7 with 32 and 1024.
	reachPairs8 = [3]streamReach{{16, 1024}, {32, 1024}, {16, 1024}}
	reach512    = reachHere()
	reach256    = [3]streamReach{{8, 2048}, {8, 2048}, {8, 2048}}
)

// The reach of the kernels that prefetch to the second-level cache, for 1, 2, up to 4, up to 6 and up to 8 rows of A,
// wherever rows of K lie, measured on Zen 4.
var (
	reachFar      = [5]streamReach{{8, 2048}, {8, 2048}, {16, 1024}, {32, 1024}, {32, 1024}}
	reachFarPairs = [5]streamReach{{8, 2048}, {8, 2048}, {32, 1024}, {48, 1024}, {32, 1024}}
)

// A processor of Intel's reads columns of few bytes best a few rows ahead, and down K in one call if the accumulators
// stay in registers: on 16 workers of the Emerald Rapids 1, 4 and 8 rows of float32 by 4096 x 4096 read B at 147, 116
// and 102 GB/s without this and at 156, 139 and 103 with it.
const (
	narrowBytes = 512
	narrowAhead = 8    // rows
	narrowRows  = 4096 // in a call
)

var onIntel = machine().intel

// paceOf returns how many rows of K a call takes of so many columns, and how far ahead to prefetch: bytes in a row,
// or where that is all of the columns, rows.
func (s *streamKernel) paceOf(kernel, columns int, reach streamReach) (rows, ahead, rowsAhead int) {
	size := columns * s.size
	if !s.masks || !onIntel || size > narrowBytes {
		return reach.rows, min(reach.ahead, size), reach.rows
	}
	rows = reach.rows
	if columns <= s.deep[kernel] {
		rows = narrowRows
	}
	return rows, size, narrowAhead
}

func reachHere() [3]streamReach {
	if onIntel {
		return [3]streamReach{{32, 256}, {32, 256}, {8, 2048}}
	}
	return [3]streamReach{{16, 1024}, {8, 2048}, {8, 2048}}
}

// reachOf returns the reach for m rows of A and rows of B that lie stride bytes apart.
func (s *streamKernel) reachOf(m, stride int) streamReach {
	switch {
	case stride%streamPage != 0:
		return s.reach[0]
	case m > 2:
		return s.reach[1]
	}
	return s.reach[2]
}

// A streamKernel is the stream kernels of a type.
type streamKernel struct {
	*streamShape
	size, kpack                  int
	sums                         int // elements of K in a block of sums
	straight, transposed, panels streamSet
	reach                        *[3]streamReach // of straight
	far                          *farStream      // see farther, or nil
	block                        int             // along: bytes of a block of a row
	pack                         PackFunc        // of panels, from rows along K
	table                        *table8         // of fp8
	narrow                       streamSet       // for stored panels, if they are not what panels takes
	vector                       VectorFunc      // along: see isVector
}

// farStream is what streamKernel has for processors on which B is prefetched to the second-level cache: transposed
// and panels may be nil.
type farStream struct {
	straight, transposed, panels streamSet
	reach                        *[5]streamReach
	lag                          int // of transposed
}

// farther returns the kernels that prefetch B to the second-level cache if farB asks for them and s has some, and nil
// otherwise.
func (s *streamKernel) farther() *farStream {
	if !farB {
		return nil
	}
	return s.far
}

// farAlong returns those for rows along K, or nil.
func (s *streamKernel) farAlong() streamSet {
	if far := s.farther(); far != nil {
		return far.transposed
	}
	return nil
}

// lag returns the bytes that one slot is behind another along K.
func (s *streamKernel) lag() int {
	if s.farAlong() != nil {
		return s.far.lag
	}
	return streamLag
}

var (
	stream512 = streamShape{mr: 8, nr: 32, vec: 16, masks: true,
		slots: []int{2, 2, 2, 1, 1}, widths: []int{128, 128, 64, 32, 32}, deep: []int{64, 64, 64, 32, 32}}
	stream256 = streamShape{mr: avx2MR, nr: avx2NR, vec: avx2Vector,
		slots: []int{4, 4, 2}, widths: []int{avx2NR, avx2NR, avx2NR}}

	streamPairs = streamKernel{streamShape: &stream512, sums: BF16.Block(), size: 2, kpack: 2, block: 64,
		pack: packAlong512Pairsx32, reach: &reachPairs,
		straight: streamSet{streamAcross512Pairsx1, streamAcross512Pairsx2, streamAcross512Pairsx4,
			streamAcross512Pairsx6, streamAcross512Pairsx8},
		transposed: streamSet{streamAlong512Pairsx1, streamAlong512Pairsx2, streamAlong512Pairsx4,
			streamAlong512Pairsx6, streamAlong512Pairsx8},
		panels: streamSet{streamPanels512Pairsx1, streamPanels512Pairsx2, streamPanels512Pairsx4,
			streamPanels512Pairsx6, streamPanels512Pairsx8},
		far: &farStream{reach: &reachFarPairs,
			straight: streamSet{streamAcrossFar512Pairsx1, streamAcrossFar512Pairsx2, streamAcrossFar512Pairsx4,
				streamAcrossFar512Pairsx6, streamAcrossFar512Pairsx8},
			transposed: streamSet{streamAlongFar512Pairsx1, streamAlongFar512Pairsx2, streamAlongFar512Pairsx4,
				streamAlongFar512Pairsx6, streamAlongFar512Pairsx8},
			panels: streamSet{streamPanelsFar512Pairsx1, streamPanelsFar512Pairsx2, streamPanelsFar512Pairsx4,
				streamPanelsFar512Pairsx6, streamPanelsFar512Pairsx8}}}
	streamWords = streamKernel{streamShape: &stream512, sums: F32.Block(), size: 4, kpack: 1, block: 64,
		pack: packAlong512Wordsx32, reach: &reach512,
		straight: streamSet{streamAcross512Wordsx1, streamAcross512Wordsx2, streamAcross512Wordsx4,
			streamAcross512Wordsx6, streamAcross512Wordsx8},
		transposed: streamSet{streamAlong512Wordsx1, streamAlong512Wordsx2, streamAlong512Wordsx4,
			streamAlong512Wordsx6, streamAlong512Wordsx8},
		panels: streamSet{streamPanels512Wordsx1, streamPanels512Wordsx2, streamPanels512Wordsx4,
			streamPanels512Wordsx6, streamPanels512Wordsx8},
		vector: vector512,
		far: &farStream{reach: &reachFar,
			straight: streamSet{streamAcrossFar512Wordsx1, streamAcrossFar512Wordsx2, streamAcrossFar512Wordsx4,
				streamAcrossFar512Wordsx6, streamAcrossFar512Wordsx8},
			transposed: streamSet{nil, streamAlongFar512Wordsx2, streamAlongFar512Wordsx4,
				streamAlongFar512Wordsx6, streamAlongFar512Wordsx8},
			panels: streamSet{streamPanelsFar512Wordsx1, streamPanelsFar512Wordsx2, streamPanelsFar512Wordsx4,
				streamPanelsFar512Wordsx6, streamPanelsFar512Wordsx8}}}
	streamBF16 = streamKernel{streamShape: &stream512, sums: BF16.Block(), size: 2, kpack: 1, block: 32,
		pack: packAlong512BF16x32, reach: &reach512,
		straight: streamSet{streamAcross512BF16x1, streamAcross512BF16x2, streamAcross512BF16x4,
			streamAcross512BF16x6, streamAcross512BF16x8},
		transposed: streamSet{streamAlong512BF16x1, streamAlong512BF16x2, streamAlong512BF16x4,
			streamAlong512BF16x6, streamAlong512BF16x8},
		panels: streamWords.panels,
		narrow: streamSet{streamPanels512BF16x1, streamPanels512BF16x2, streamPanels512BF16x4,
			streamPanels512BF16x6, streamPanels512BF16x8},
		far: &farStream{reach: &reachFar,
			straight: streamSet{streamAcrossFar512BF16x1, streamAcrossFar512BF16x2, streamAcrossFar512BF16x4,
				streamAcrossFar512BF16x6, streamAcrossFar512BF16x8},
			panels: streamSet{streamPanelsFar512BF16x1, streamPanelsFar512BF16x2, streamPanelsFar512BF16x4,
				streamPanelsFar512BF16x6, streamPanelsFar512BF16x8}}}
	streamF16 = streamKernel{streamShape: &stream512, sums: F16.Block(), size: 2, kpack: 1, block: 32,
		pack: packAlong512F16x32, reach: &reach512,
		straight: streamSet{streamAcross512F16x1, streamAcross512F16x2, streamAcross512F16x4,
			streamAcross512F16x6, streamAcross512F16x8},
		transposed: streamSet{streamAlong512F16x1, streamAlong512F16x2, streamAlong512F16x4,
			streamAlong512F16x6, streamAlong512F16x8},
		panels: streamWords.panels,
		narrow: streamSet{streamPanels512F16x1, streamPanels512F16x2, streamPanels512F16x4,
			streamPanels512F16x6, streamPanels512F16x8},
		far: &farStream{reach: &reachFar,
			straight: streamSet{streamAcrossFar512F16x1, streamAcrossFar512F16x2, streamAcrossFar512F16x4,
				streamAcrossFar512F16x6, streamAcrossFar512F16x8},
			panels: streamSet{streamPanelsFar512F16x1, streamPanelsFar512F16x2, streamPanelsFar512F16x4,
				streamPanelsFar512F16x6, streamPanelsFar512F16x8}}}

	streamPairs8 = streamKernel{streamShape: &stream512, sums: BF16.Block(), size: 1, kpack: 2, block: 64,
		reach: &reachPairs8,
		straight: streamSet{streamAcross512Pairs8x1, streamAcross512Pairs8x2, streamAcross512Pairs8x4,
			streamAcross512Pairs8x6, streamAcross512Pairs8x8},
		transposed: streamSet{streamAlong512Pairs8x1, streamAlong512Pairs8x2, streamAlong512Pairs8x4,
			streamAlong512Pairs8x6, streamAlong512Pairs8x8},
		panels: streamPairs.panels,
		narrow: streamSet{streamPanels512Pairs8x1, streamPanels512Pairs8x2, streamPanels512Pairs8x4,
			streamPanels512Pairs8x6, streamPanels512Pairs8x8}}
	streamWords8 = streamKernel{streamShape: &stream512, sums: BF16.Block(), size: 1, kpack: 1, block: 64,
		reach: &reach512,
		straight: streamSet{streamAcross512Words8x1, streamAcross512Words8x2, streamAcross512Words8x4,
			streamAcross512Words8x6, streamAcross512Words8x8},
		transposed: streamSet{streamAlong512Words8x1, streamAlong512Words8x2, streamAlong512Words8x4,
			streamAlong512Words8x6, streamAlong512Words8x8},
		panels: streamWords.panels,
		narrow: streamSet{streamPanels512Words8x1, streamPanels512Words8x2, streamPanels512Words8x4,
			streamPanels512Words8x6, streamPanels512Words8x8}}

	stream256Words = streamKernel{streamShape: &stream256, sums: F32.Block(), size: 4, kpack: 1, block: 64,
		pack: transposing256(F32, avx2NR, groupsAlongWords), reach: &reach256,
		straight:   streamSet{streamAcross256Wordsx1, streamAcross256Wordsx2, streamAcross256Wordsx4},
		transposed: streamSet{streamAlong256Wordsx1, streamAlong256Wordsx2, streamAlong256Wordsx4},
		panels:     streamSet{streamPanels256Wordsx1, streamPanels256Wordsx2, streamPanels256Wordsx4},
		far: &farStream{reach: &reachFar, lag: streamLag,
			straight:   streamSet{streamAcrossFar256Wordsx1, streamAcrossFar256Wordsx2, streamAcrossFar256Wordsx4},
			transposed: streamSet{streamAlongFar256Wordsx1, streamAlongFar256Wordsx2, streamAlongFar256Wordsx4}}}
	stream256BF16 = streamKernel{streamShape: &stream256, sums: BF16.Block(), size: 2, kpack: 1, block: 64,
		pack: transposing256(BF16, avx2NR, groupsAlongBF16), reach: &reach256,
		straight:   streamSet{streamAcross256BF16x1, streamAcross256BF16x2, streamAcross256BF16x4},
		transposed: streamSet{streamAlong256BF16x1, streamAlong256BF16x2, streamAlong256BF16x4},
		panels:     stream256Words.panels,
		narrow:     streamSet{streamPanels256BF16x1, streamPanels256BF16x2, streamPanels256BF16x4},
		far: &farStream{reach: &reachFar, lag: streamLag,
			straight:   streamSet{streamAcrossFar256BF16x1, streamAcrossFar256BF16x2, streamAcrossFar256BF16x4},
			transposed: streamSet{streamAlongFar256BF16x1, streamAlongFar256BF16x2, streamAlongFar256BF16x4}}}
	stream256F16 = streamKernel{streamShape: &stream256, sums: F16.Block(), size: 2, kpack: 1, block: 64,
		pack: transposing256(F16, avx2NR, groupsAlongF16), reach: &reach256,
		straight:   streamSet{streamAcross256F16x1, streamAcross256F16x2, streamAcross256F16x4},
		transposed: streamSet{streamAlong256F16x1, streamAlong256F16x2, streamAlong256F16x4},
		panels:     stream256Words.panels,
		narrow:     streamSet{streamPanels256F16x1, streamPanels256F16x2, streamPanels256F16x4},
		far: &farStream{reach: &reachFar, lag: streamLag,
			straight:   streamSet{streamAcrossFar256F16x1, streamAcrossFar256F16x2, streamAcrossFar256F16x4},
			transposed: streamSet{streamAlongFar256F16x1, streamAlongFar256F16x2, streamAlongFar256F16x4}}}
)

// roles returns what s does for a kernel.
func (s *streamKernel) roles() streamFuncs {
	return streamFuncs{by: [2]StreamFunc{s.across, s.along}, panels: s.packed, width: s.wide}
}

// panelA returns where element k0 of K stands in the panel a of A.
func (s *streamKernel) panelA(a unsafe.Pointer, k0 int) unsafe.Pointer {
	return unsafe.Add(a, k0/s.kpack*s.mr*4)
}

// accumulate says that the slot's m rows of accumulators go from src to dst.
func (s *streamSlot) accumulate(m int, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	for i := range s.src[:roundUp(m, 8)] {
		row := min(i, m-1)
		s.dst[i], s.src[i] = unsafe.Add(dst, row*ldd), nil
		if src != nil {
			s.src[i] = unsafe.Add(src, row*lds)
		}
	}
}

// accumulatePart is accumulate for columns that are not as many as width: they go through the block's tile, where
// store finds them.
func (c *streamBlock) accumulatePart(s *streamSlot, width, m int) {
	s.accumulate(m, nil, 0, unsafe.Pointer(&c.tile[0]), width*4)
}

// loadPart is accumulatePart for n columns that start from src.
func (c *streamBlock) loadPart(s *streamSlot, n, width, m int, src unsafe.Pointer, lds int) {
	if c.accumulatePart(s, width, m); src == nil {
		return
	}
	s.src = s.dst
	for i := range m {
		copy(c.tile[i*width:][:n], unsafe.Slice((*float32)(unsafe.Add(src, i*lds)), n))
	}
}

// storePart stores n columns of width from the tile.
func (c *streamBlock) storePart(n, width, m int, dst unsafe.Pointer, ldd int) {
	for i := range m {
		copy(unsafe.Slice((*float32)(unsafe.Add(dst, i*ldd)), n), c.tile[i*width:][:n])
	}
}

// across is the StreamFunc for rows of K: a few rows at a time through all columns, and the sums of a block of them,
// unless it is the first, apart from what they are added to.
func (s *streamKernel) across(k, m, n int, a, b unsafe.Pointer, stride int, dst unsafe.Pointer, ldd int, add bool) {
	c := s.newBlock()
	c.stride = stride
	for j := 0; j < n; j += streamWidth {
		wide := min(n-j, streamWidth)
		for k0 := 0; k0 < k; k0 += s.sums {
			to, ldt := c.chain(m, wide, unsafe.Add(dst, j*4), ldd, add || k0 > 0)
			s.rowsOfK(c, min(k-k0, s.sums), m, wide, s.panelA(a, k0), unsafe.Add(b, k0*stride+j*s.size), to, ldt)
			c.total(m, wide, to, ldt, unsafe.Add(dst, j*4), ldd)
		}
	}
	c.release()
}

// rowsOfK stores the sums of one block of K. The last columns, if they are not a whole vector and there are no masks,
// are copied to where they are one.
func (s *streamKernel) rowsOfK(c *streamBlock, k, m, n int, a, b, dst unsafe.Pointer, ldd int) {
	kernel := s.straight.of(m)
	f, reach := s.straight[kernel], s.reachOf(m, c.stride)
	if far := s.farther(); far != nil {
		f, reach = far.straight[kernel], far.reach[kernel]
	}
	c.n, c.adds = n, 0
	var part *streamBlock
	columns := n % s.vec
	if columns > 0 && !s.masks {
		c.n -= columns
		part = streamBlocks.Get().(*streamBlock)
		part.n, part.adds, part.stride, part.b = s.vec, 0, s.vec*s.size, unsafe.Pointer(&part.room[0])
		part.accumulatePart(&part.slots[0], s.vec, m)
	}
	rows, ahead, rowsAhead := s.paceOf(kernel, c.n, reach)
	c.ahead, c.near, c.next = ahead, ahead/s.size, rowsAhead*c.stride-c.n*s.size
	c.slots[0].accumulate(m, nil, 0, dst, ldd)
	for k0 := 0; k0 < k; k0 += rows {
		c.k = min(k-k0, rows)
		c.slots[0].a = s.panelA(a, k0)
		c.b = unsafe.Add(b, k0*c.stride)
		f(c)
		c.slots[0].src = c.slots[0].dst
		if part != nil {
			part.k, part.slots[0].a = c.k, c.slots[0].a
			for i := range c.k {
				row := unsafe.Add(c.b, i*c.stride+c.n*s.size)
				copy(unsafe.Slice((*byte)(unsafe.Add(part.b, i*part.stride)), columns*s.size),
					unsafe.Slice((*byte)(row), columns*s.size))
			}
			f(part)
			part.slots[0].src = part.slots[0].dst
		}
	}
	if part != nil {
		part.storePart(columns, s.vec, m, unsafe.Add(dst, c.n*4), ldd)
		part.release()
	}
}

// chain returns where the sums of a block of K of m rows and n columns are until it ends: at dst, or in memory of c's
// own if they are added to what is there.
func (c *streamBlock) chain(m, n int, dst unsafe.Pointer, ldd int, add bool) (at unsafe.Pointer, pitch int) {
	if !add {
		return dst, ldd
	}
	if len(c.sums) < m*n {
		c.sums = make([]float32, m*n)
	}
	return unsafe.Pointer(unsafe.SliceData(c.sums)), n * 4
}

// total adds the sums of a block to those at dst, unless they are there.
func (c *streamBlock) total(m, n int, from unsafe.Pointer, pitch int, dst unsafe.Pointer, ldd int) {
	if from != dst {
		Combine(dst, ldd, from, pitch, m, n, 1, 1)
	}
}

// newBlock takes a block from the pool.
func (s *streamKernel) newBlock() *streamBlock {
	c := streamBlocks.Get().(*streamBlock)
	c.table = s.table
	return c
}

// release gives the block back to the pool, without the addresses of operands.
func (c *streamBlock) release() {
	c.b, c.slots = nil, [len(c.slots)]streamSlot{}
	streamBlocks.Put(c)
}
