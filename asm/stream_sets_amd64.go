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
	vec    int   // columns of a vector: of a slot of T
	masks  bool  // S takes any number of columns, otherwise whole vectors
	slots  []int // of T, by kernel
	widths []int // columns of P, by kernel
	deep   []int // columns of S, by kernel, that it takes down K without another call; none without masks
}

// A streamReach is how many rows of K S takes at a time, and how many bytes ahead it prefetches in each.
type streamReach struct{ rows, ahead int }

// The reach for rows of K, for those that lie whole pages apart, and for these with one or two rows of A. A cache of 12 ways keeps few
// lines of rows that are whole pages apart, and the processor follows 16 streams. GB/s of 32 MB of bf16 in pairs, one row of A: rows of 8 KB
// 34 with 16 rows and 512 bytes, 37 with 8 and 2048, 43 with 4 and 2048; rows of 10 KB 40, 37, 33, and with 16 and 1024 43.
//
// That was Zen 5. On an Emerald Rapids 32 rows and 256 bytes are better for more than two rows of A: eight of float32 by 4096 x 4096 make
// 45 GFLOP/s on one core, and 450 on 16, rather than 43 and 380.
var (
	reachPairs = [3]streamReach{{16, 1024}, {16, 512}, {4, 2048}}
	reach512   = reachHere()
	reach256   = [3]streamReach{{8, 2048}, {8, 2048}, {8, 2048}}
)

// The reach of the kernels that prefetch to the second-level cache, for 1, 2, up to 4, up to 6 and up to 8 rows of A, wherever rows of K lie,
// measured on Zen 4.
var (
	reachFar      = [5]streamReach{{8, 2048}, {8, 2048}, {16, 1024}, {32, 1024}, {32, 1024}}
	reachFarPairs = [5]streamReach{{8, 2048}, {8, 2048}, {32, 1024}, {48, 1024}, {32, 1024}}
)

// A processor of Intel's reads columns of few bytes best a few rows ahead, and down K in one call if the accumulators stay in
// registers: on 16 workers of the Emerald Rapids 1, 4 and 8 rows of float32 by 4096 x 4096 read B at 147, 116 and 102 GB/s without this
// and at 156, 139 and 103 with it.
const (
	narrowBytes = 512
	narrowAhead = 8    // rows
	narrowRows  = 4096 // in a call
)

var onIntel = machine().intel

// paceOf returns how many rows of K a call takes of so many columns, and how far ahead to prefetch: bytes in a row, or where that is
// all of the columns, rows.
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
	reach                        *[3]streamReach // of S
	far                          *farStream      // see farther, or nil
	block                        int             // T: bytes of a block of a row
	pack                         PackFunc        // of panels, from rows along K
	narrow                       streamSet       // P for stored panels, if they are not what panels takes
}

// farStream is what streamKernel has for processors on which B is prefetched to the second-level cache: S, T or nil, and P.
type farStream struct {
	straight, transposed, panels streamSet
	reach                        *[5]streamReach
}

// farther returns the kernels that prefetch B to the second-level cache if farB asks for them and s has some, and nil otherwise.
func (s *streamKernel) farther() *farStream {
	if !farB {
		return nil
	}
	return s.far
}

var (
	stream512 = streamShape{mr: 8, nr: 32, vec: 16, masks: true, slots: []int{2, 2, 2, 1, 1}, widths: []int{128, 128, 64, 32, 32}, deep: []int{64, 64, 64, 32, 32}}
	stream256 = streamShape{mr: avx2MR, nr: avx2NR, vec: avx2Vector, slots: []int{4, 4, 2}, widths: []int{avx2NR, avx2NR, avx2NR}}

	streamPairs = streamKernel{streamShape: &stream512, sums: BF16.Block(), size: 2, kpack: 2, block: 64, pack: packT32Pairs, reach: &reachPairs,
		straight:   streamSet{streamS1Pairs, streamS2Pairs, streamS4Pairs, streamS6Pairs, streamS8Pairs},
		transposed: streamSet{streamT1Pairs, streamT2Pairs, streamT4Pairs, streamT6Pairs, streamT8Pairs},
		panels:     streamSet{streamP1Pairs, streamP2Pairs, streamP4Pairs, streamP6Pairs, streamP8Pairs},
		far: &farStream{reach: &reachFarPairs,
			straight:   streamSet{streamSFar1Pairs, streamSFar2Pairs, streamSFar4Pairs, streamSFar6Pairs, streamSFar8Pairs},
			transposed: streamSet{streamTFar1Pairs, streamTFar2Pairs, streamTFar4Pairs, streamTFar6Pairs, streamTFar8Pairs},
			panels:     streamSet{streamPFar1Pairs, streamPFar2Pairs, streamPFar4Pairs, streamPFar6Pairs, streamPFar8Pairs}}}
	streamWords = streamKernel{streamShape: &stream512, sums: F32.Block(), size: 4, kpack: 1, block: 64, pack: packT32Words, reach: &reach512,
		straight:   streamSet{streamS1Words, streamS2Words, streamS4Words, streamS6Words, streamS8Words},
		transposed: streamSet{streamT1Words, streamT2Words, streamT4Words, streamT6Words, streamT8Words},
		panels:     streamSet{streamP1Words, streamP2Words, streamP4Words, streamP6Words, streamP8Words},
		far: &farStream{reach: &reachFar,
			straight:   streamSet{streamSFar1Words, streamSFar2Words, streamSFar4Words, streamSFar6Words, streamSFar8Words},
			transposed: streamSet{streamTFar1Words, streamTFar2Words, streamTFar4Words, streamTFar6Words, streamTFar8Words},
			panels:     streamSet{streamPFar1Words, streamPFar2Words, streamPFar4Words, streamPFar6Words, streamPFar8Words}}}
	streamBF16 = streamKernel{streamShape: &stream512, sums: BF16.Block(), size: 2, kpack: 1, block: 32, pack: packT32BF16, reach: &reach512,
		straight:   streamSet{streamS1BF16, streamS2BF16, streamS4BF16, streamS6BF16, streamS8BF16},
		transposed: streamSet{streamT1BF16, streamT2BF16, streamT4BF16, streamT6BF16, streamT8BF16},
		panels:     streamWords.panels,
		narrow:     streamSet{streamP1BF16, streamP2BF16, streamP4BF16, streamP6BF16, streamP8BF16},
		far: &farStream{reach: &reachFar,
			straight: streamSet{streamSFar1BF16, streamSFar2BF16, streamSFar4BF16, streamSFar6BF16, streamSFar8BF16},
			panels:   streamSet{streamPFar1BF16, streamPFar2BF16, streamPFar4BF16, streamPFar6BF16, streamPFar8BF16}}}
	streamF16 = streamKernel{streamShape: &stream512, sums: F16.Block(), size: 2, kpack: 1, block: 32, pack: packT32F16, reach: &reach512,
		straight:   streamSet{streamS1F16, streamS2F16, streamS4F16, streamS6F16, streamS8F16},
		transposed: streamSet{streamT1F16, streamT2F16, streamT4F16, streamT6F16, streamT8F16},
		panels:     streamWords.panels,
		narrow:     streamSet{streamP1F16, streamP2F16, streamP4F16, streamP6F16, streamP8F16},
		far: &farStream{reach: &reachFar,
			straight: streamSet{streamSFar1F16, streamSFar2F16, streamSFar4F16, streamSFar6F16, streamSFar8F16},
			panels:   streamSet{streamPFar1F16, streamPFar2F16, streamPFar4F16, streamPFar6F16, streamPFar8F16}}}

	stream256Words = streamKernel{streamShape: &stream256, sums: F32.Block(), size: 4, kpack: 1, block: 64, pack: transposing256(F32, avx2NR, groupsT24Words), reach: &reach256,
		straight:   streamSet{stream256S1Words, stream256S2Words, stream256S4Words},
		transposed: streamSet{stream256T1Words, stream256T2Words, stream256T4Words},
		panels:     streamSet{stream256P1Words, stream256P2Words, stream256P4Words}}
	stream256BF16 = streamKernel{streamShape: &stream256, sums: BF16.Block(), size: 2, kpack: 1, block: 64, pack: transposing256(BF16, avx2NR, groupsT24BF16), reach: &reach256,
		straight:   streamSet{stream256S1BF16, stream256S2BF16, stream256S4BF16},
		transposed: streamSet{stream256T1BF16, stream256T2BF16, stream256T4BF16},
		panels:     stream256Words.panels,
		narrow:     streamSet{stream256P1BF16, stream256P2BF16, stream256P4BF16}}
	stream256F16 = streamKernel{streamShape: &stream256, sums: F16.Block(), size: 2, kpack: 1, block: 64, pack: transposing256(F16, avx2NR, groupsT24F16), reach: &reach256,
		straight:   streamSet{stream256S1F16, stream256S2F16, stream256S4F16},
		transposed: streamSet{stream256T1F16, stream256T2F16, stream256T4F16},
		panels:     stream256Words.panels,
		narrow:     streamSet{stream256P1F16, stream256P2F16, stream256P4F16}}
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

// accumulatePart is accumulate for columns that are not as many as width: they go through the block's tile, where store finds them.
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

// across is the StreamFunc for rows of K: a few rows at a time through all columns, and the sums of a block of them, unless it is the
// first, apart from what they are added to.
func (s *streamKernel) across(k, m, n int, a, b unsafe.Pointer, stride int, dst unsafe.Pointer, ldd int, add bool) {
	c := streamBlocks.Get().(*streamBlock)
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

// rowsOfK stores the sums of one block of K. The last columns, if they are not a whole vector and there are no masks, are copied to where
// they are one.
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
				copy(unsafe.Slice((*byte)(unsafe.Add(part.b, i*part.stride)), columns*s.size), unsafe.Slice((*byte)(row), columns*s.size))
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

// chain returns where the sums of a block of K of m rows and n columns are until it ends: at dst, or in memory of c's own if they are
// added to what is there.
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

// release gives the block back to the pool, without the addresses of operands.
func (c *streamBlock) release() {
	c.b, c.slots = nil, [len(c.slots)]streamSlot{}
	streamBlocks.Put(c)
}
