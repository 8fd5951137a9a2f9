//go:build amd64 && !purego

package asm

import (
	"math/bits"
	"slices"
	"unsafe"
)

// A streamSet is the kernels for 1, 2, 4 and, but for AVX2, 6 and 8 rows of A, and where it pays for 16.
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
	straight, transposed, panels streamSet
	reach                        *[3]streamReach // of S
	far                          *farStream      // for farB, or nil
	block                        int             // T: bytes of a block of a row
	pack                         PackFunc        // of panels, from rows along K
	narrow                       streamSet       // P for stored panels, if they are not what panels takes
}

// farStream is what streamKernel has for processors on which B is prefetched to the second-level cache: S, T or nil, and P.
type farStream struct {
	straight, transposed, panels streamSet
	reach                        *[5]streamReach
}

var (
	stream512 = streamShape{mr: 8, nr: 32, vec: 16, masks: true, slots: []int{2, 2, 2, 1, 1, 1}, widths: []int{128, 128, 64, 32, 32}, deep: []int{64, 64, 64, 32, 32}}
	stream256 = streamShape{mr: avx2MR, nr: avx2NR, vec: avx2Vector, slots: []int{4, 4, 2}, widths: []int{avx2NR, avx2NR, avx2NR}}

	streamPairs = streamKernel{&stream512, 2, 2, streamSet{streamS1Pairs, streamS2Pairs, streamS4Pairs, streamS6Pairs, streamS8Pairs},
		streamSet{streamT1Pairs, streamT2Pairs, streamT4Pairs, streamT6Pairs, streamT8Pairs},
		streamSet{streamP1Pairs, streamP2Pairs, streamP4Pairs, streamP6Pairs, streamP8Pairs}, &reachPairs,
		&farStream{streamSet{streamSFar1Pairs, streamSFar2Pairs, streamSFar4Pairs, streamSFar6Pairs, streamSFar8Pairs},
			streamSet{streamTFar1Pairs, streamTFar2Pairs, streamTFar4Pairs, streamTFar6Pairs, streamTFar8Pairs, streamTFar16Pairs},
			streamSet{streamPFar1Pairs, streamPFar2Pairs, streamPFar4Pairs, streamPFar6Pairs, streamPFar8Pairs}, &reachFarPairs}, 64, packT32Pairs, nil}
	streamWords = streamKernel{&stream512, 4, 1, streamSet{streamS1Words, streamS2Words, streamS4Words, streamS6Words, streamS8Words},
		streamSet{streamT1Words, streamT2Words, streamT4Words, streamT6Words, streamT8Words},
		streamSet{streamP1Words, streamP2Words, streamP4Words, streamP6Words, streamP8Words}, &reach512,
		&farStream{streamSet{streamSFar1Words, streamSFar2Words, streamSFar4Words, streamSFar6Words, streamSFar8Words},
			streamSet{streamTFar1Words, streamTFar2Words, streamTFar4Words, streamTFar6Words, streamTFar8Words, streamTFar16Words},
			streamSet{streamPFar1Words, streamPFar2Words, streamPFar4Words, streamPFar6Words, streamPFar8Words}, &reachFar}, 64, packT32Words, nil}
	streamBF16 = streamKernel{&stream512, 2, 1, streamSet{streamS1BF16, streamS2BF16, streamS4BF16, streamS6BF16, streamS8BF16},
		streamSet{streamT1BF16, streamT2BF16, streamT4BF16, streamT6BF16, streamT8BF16}, streamWords.panels, &reach512,
		&farStream{streamSet{streamSFar1BF16, streamSFar2BF16, streamSFar4BF16, streamSFar6BF16, streamSFar8BF16}, nil,
			streamSet{streamPFar1BF16, streamPFar2BF16, streamPFar4BF16, streamPFar6BF16, streamPFar8BF16}, &reachFar}, 32, packT32BF16,
		streamSet{streamP1BF16, streamP2BF16, streamP4BF16, streamP6BF16, streamP8BF16}}
	streamF16 = streamKernel{&stream512, 2, 1, streamSet{streamS1F16, streamS2F16, streamS4F16, streamS6F16, streamS8F16},
		streamSet{streamT1F16, streamT2F16, streamT4F16, streamT6F16, streamT8F16}, streamWords.panels, &reach512,
		&farStream{streamSet{streamSFar1F16, streamSFar2F16, streamSFar4F16, streamSFar6F16, streamSFar8F16}, nil,
			streamSet{streamPFar1F16, streamPFar2F16, streamPFar4F16, streamPFar6F16, streamPFar8F16}, &reachFar}, 32, packT32F16,
		streamSet{streamP1F16, streamP2F16, streamP4F16, streamP6F16, streamP8F16}}

	stream256Words = streamKernel{&stream256, 4, 1, streamSet{stream256S1Words, stream256S2Words, stream256S4Words},
		streamSet{stream256T1Words, stream256T2Words, stream256T4Words},
		streamSet{stream256P1Words, stream256P2Words, stream256P4Words}, &reach256, nil, 64, transposing256(F32, avx2NR, groupsT24Words), nil}
	stream256BF16 = streamKernel{&stream256, 2, 1, streamSet{stream256S1BF16, stream256S2BF16, stream256S4BF16},
		streamSet{stream256T1BF16, stream256T2BF16, stream256T4BF16}, stream256Words.panels, &reach256, nil, 64, transposing256(BF16, avx2NR, groupsT24BF16),
		streamSet{stream256P1BF16, stream256P2BF16, stream256P4BF16}}
	stream256F16 = streamKernel{&stream256, 2, 1, streamSet{stream256S1F16, stream256S2F16, stream256S4F16},
		streamSet{stream256T1F16, stream256T2F16, stream256T4F16}, stream256Words.panels, &reach256, nil, 64, transposing256(F16, avx2NR, groupsT24F16),
		streamSet{stream256P1F16, stream256P2F16, stream256P4F16}}
)

// assembleStreams gives k the stream kernels that fit its panels.
func assembleStreams(k *Kernel) {
	slots := func(s *streamKernel) [2]StreamFunc { return [2]StreamFunc{s.across, s.along} }
	switch k.Name {
	case "avx512bf16":
		k.stream[BF16], k.paired[BF16] = slots(&streamPairs), true
		k.panels[BF16], k.width[BF16] = streamPairs.packed, streamPairs.wide
	case "avx512":
		k.paired[F32] = true
		k.stream[BF16], k.stream[F16], k.stream[F32] = slots(&streamBF16), slots(&streamF16), slots(&streamWords)
		k.panels[BF16], k.panels[F16], k.panels[F32] = streamBF16.packed, streamF16.packed, streamWords.packed
		k.width[BF16], k.width[F16], k.width[F32] = streamBF16.wide, streamF16.wide, streamWords.wide
	case "avx2":
		k.stream[BF16], k.stream[F16], k.stream[F32] = slots(&stream256BF16), slots(&stream256F16), slots(&stream256Words)
		k.panels[BF16], k.panels[F16], k.panels[F32] = stream256BF16.packed, stream256F16.packed, stream256Words.packed
	}
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

// forward returns p + n, or nil if p is nil.
func forward(p unsafe.Pointer, n int) unsafe.Pointer {
	if p == nil {
		return nil
	}
	return unsafe.Add(p, n)
}

// accumulatePart is accumulate for n columns of width, which go through the block's tile, where store finds them.
func (c *streamBlock) accumulatePart(s *streamSlot, n, width, m int, src unsafe.Pointer, lds int) {
	s.accumulate(m, nil, 0, unsafe.Pointer(&c.tile[0]), width*4)
	if src != nil {
		s.src = s.dst
		for i := range m {
			copy(c.tile[i*width:][:n], unsafe.Slice((*float32)(unsafe.Add(src, i*lds)), n))
		}
	}
}

// storePart stores n columns of width from the tile.
func (c *streamBlock) storePart(n, width, m int, dst unsafe.Pointer, ldd int) {
	for i := range m {
		copy(unsafe.Slice((*float32)(unsafe.Add(dst, i*ldd)), n), c.tile[i*width:][:n])
	}
}

// across is the StreamFunc for rows of K: a few rows at a time through all columns. Those that are not a whole vector, where
// there are no masks, are copied to where they are one.
func (s *streamKernel) across(k, m, n int, a, b unsafe.Pointer, stride int, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	c := streamBlocks.Get().(*streamBlock)
	kernel := s.straight.of(m)
	f, reach := s.straight[kernel], s.reachOf(m, stride)
	if farB && s.far != nil {
		f, reach = s.far.straight[kernel], s.far.reach[kernel]
	}
	c.stride = stride
	for j := 0; j < n; j += streamWidth {
		c.n = min(n-j, streamWidth)
		var part *streamBlock
		columns := c.n % s.vec
		if columns > 0 && !s.masks {
			c.n -= columns
			part = streamBlocks.Get().(*streamBlock)
			part.n, part.stride, part.b = s.vec, s.vec*s.size, unsafe.Pointer(&part.room[0])
			part.accumulatePart(&part.slots[0], columns, s.vec, m, forward(src, (j+c.n)*4), lds)
		}
		var rows, rowsAhead int
		rows, c.ahead, rowsAhead = s.paceOf(kernel, c.n, reach)
		c.near, c.next = c.ahead/s.size, rowsAhead*stride-c.n*s.size
		c.slots[0].accumulate(m, forward(src, j*4), lds, unsafe.Add(dst, j*4), ldd)
		for k0 := 0; k0 < k; k0 += rows {
			c.k = min(k-k0, rows)
			c.slots[0].a = s.panelA(a, k0)
			c.b = unsafe.Add(b, k0*stride+j*s.size)
			f(c)
			c.slots[0].src = c.slots[0].dst
			if part != nil {
				part.k, part.slots[0].a = c.k, c.slots[0].a
				for i := range c.k {
					row := unsafe.Add(c.b, i*stride+c.n*s.size)
					copy(unsafe.Slice((*byte)(unsafe.Add(part.b, i*part.stride)), columns*s.size), unsafe.Slice((*byte)(row), columns*s.size))
				}
				f(part)
				part.slots[0].src = part.slots[0].dst
			}
		}
		if part != nil {
			part.storePart(columns, s.vec, m, unsafe.Add(dst, (j+c.n)*4), ldd)
			part.release()
		}
	}
	c.release()
}

// release gives the block back to the pool, without the addresses of operands.
func (c *streamBlock) release() {
	c.b, c.slots = nil, [len(c.slots)]streamSlot{}
	streamBlocks.Put(c)
}

// along is the StreamFunc for rows along K: whole blocks of K, and then what is left of it.
func (s *streamKernel) along(k, m, n int, a, b unsafe.Pointer, stride int, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	c := streamBlocks.Get().(*streamBlock)
	block, length := s.block/s.size, streamLength/s.size
	whole := k / block * block
	c.apart = (k + s.kpack - 1) / s.kpack * s.mr * 4
	for k0 := 0; k0 < whole; k0 += length {
		for i, rows := 0, 0; i < m; i += rows {
			rows = s.together(m - i)
			a := unsafe.Add(s.panelA(a, k0), i/s.mr*c.apart)
			s.blocks(c, min(whole-k0, length)/block, rows, n, a, unsafe.Add(b, k0*s.size), stride, forward(src, i*lds), lds, unsafe.Add(dst, i*ldd), ldd)
		}
		src, lds = dst, ldd
	}
	switch {
	case whole == k:
	case s.pack == nil: // a tile is more than that
		s.restTile(c, k-whole, m, n, s.panelA(a, whole), unsafe.Add(b, whole*s.size), stride, src, lds, dst, ldd)
	default:
		for i := 0; i < m; i += s.mr {
			a := unsafe.Add(a, i/s.mr*c.apart)
			s.rest(c, k-whole, min(m-i, s.mr), n, s.panelA(a, whole), unsafe.Add(b, whole*s.size), stride, forward(src, i*lds), lds, unsafe.Add(dst, i*ldd), ldd)
		}
	}
	c.release()
}

// together returns how many rows of A, of which there are m, blocks had better multiply by what it reads of B. Up to half a panel
// takes less than the rest of a large kernel's rows.
func (s *streamKernel) together(m int) int {
	if farB && s.far != nil && m > s.mr+s.mr/2 && len(s.far.transposed) > s.far.transposed.of(2*s.mr) {
		return min(m, 2*s.mr)
	}
	return min(m, s.mr)
}

// farB asks for kernels that prefetch B to the second-level cache: the first-level cache of Zen 4 has 8 ways. Intel's
// processors, whose have 12, take 3 to 23 % longer so along K if B comes from further than the second-level cache; Zen 5 was not measured.
var farB = machine().halves()

// blocks multiplies whole blocks of K. Some slots go through K at a time, to have as many independent sums, each by a vector of
// columns, and, unless rows are prefetched to the second-level cache, one some way behind the other: rows that lie a multiple of 4 KB apart share sets
// of the first-level cache, and those of all columns at one place in K would evict what is prefetched for each other.
//
//	slot 0   ├── columns 0 ──┤├── columns 32 ─┤
//	slot 1   ·    ├── columns 16 ─┤├── columns 48 ─┤
func (s *streamKernel) blocks(c *streamBlock, blocks, m, n int, a, b unsafe.Pointer, stride int, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	v := s.transposed.of(m)
	kernels, slots := s.transposed, c.slots[:s.slots[v]]
	ahead, lag := streamAhead, streamLag/s.block
	if farB && s.far != nil && s.far.transposed != nil {
		kernels, lag = s.far.transposed, 0
		if len(slots) == 1 {
			ahead = streamFar
		}
	}
	vec := s.vec
	width := len(slots) * vec // columns that are under way
	c.near, c.next = roundUp(blocks*s.block, streamPiece), width*stride
	if ahead >= c.near {
		ahead = c.next // the columns after these
	}
	start := func(slot *streamSlot, j int) {
		columns := min(n-j, vec)
		slot.a, slot.used, slot.offset, slot.fetch, slot.turn = a, 0, 0, ahead, 0
		for r := range vec {
			slot.rows[r] = unsafe.Add(b, (j+min(r, columns-1))*stride)
		}
		if columns < vec {
			c.accumulatePart(slot, columns, vec, m, forward(src, j*4), lds)
		} else {
			slot.accumulate(m, forward(src, j*4), lds, unsafe.Add(dst, j*4), ldd)
		}
	}
	lag = min(lag, blocks/len(slots))
	var busy [len(c.slots)]bool
	for j := 0; ; j += width {
		for i := range slots {
			if busy[i] = j+i*vec < n; busy[i] {
				start(&slots[i], j+i*vec)
			}
			c.k = lag
			if i == len(slots)-1 {
				c.k = blocks - i*lag
			}
			if c.k == 0 {
				continue
			}
			one := slices.Index(busy[:], true)
			if one < 0 {
				if whole := n / vec * vec; whole < n {
					c.storePart(n-whole, vec, m, unsafe.Add(dst, whole*4), ldd)
				}
				return
			}
			c.lone = 0
			for q := range slots {
				if !busy[q] {
					slots[q], c.lone = slots[one], 1 // does what that one does, or nothing
				}
			}
			kernels[v](c)
			for q := range slots {
				slots[q].src = slots[q].dst
			}
		}
	}
}

// rest multiplies less of K than a block: it packs columns and multiplies the panels.
func (s *streamKernel) rest(c *streamBlock, k, m, n int, a, b unsafe.Pointer, stride int, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	v := s.panels.of(m)
	width := s.widths[v]
	c.slots[0].a = a
	c.stride, c.b, c.ahead = streamPanel, unsafe.Pointer(&c.room[0]), 0
	c.k = (k + s.kpack - 1) / s.kpack
	for j := 0; j < n; j += width {
		here := min(n-j, width)
		for i := 0; i < here; i += s.nr {
			s.pack(unsafe.Add(c.b, i/s.nr*c.stride), unsafe.Add(b, (j+i)*stride), stride, min(here-i, s.nr), k)
		}
		s.columns(c, s.panels[v], s.widths[v], here, m, forward(src, j*4), lds, unsafe.Add(dst, j*4), ldd)
	}
}

// columns multiplies the panels of c by a kernel for so many columns, of which n exist.
func (s *streamKernel) columns(c *streamBlock, kern func(c *streamBlock), width, n, m int, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	slot := &c.slots[0]
	if n == width {
		slot.accumulate(m, src, lds, dst, ldd)
		kern(c)
		return
	}
	c.accumulatePart(slot, n, width, m, src, lds)
	kern(c)
	c.storePart(n, width, m, dst, ldd)
}

// panelsPace is how many bytes ahead stored panels are prefetched, in all that are read at once, and whether 3 and 4 rows are
// multiplied by a kernel for 4, which reads two panels at a time, or for 8, which reads one. On Zen 5 8 rows reach .55 of the peak with
// 4 KB, .65 with 8, .80 with 16, .77 with 32 and .73 with 64, and one panel is read from memory faster than two. On an Emerald Rapids
// 1 to 8 rows by 4096 x 4096 are 1.0 to 1.14 times as fast with 4 KB as with 16, on a Zen 4 0.98 to 1.09 with 8; and 4 rows with two
// panels 1.1 to 2.0 times, but for float32 from the memory of the Zen 4: 0.91.
var panelsPace = panelsPaceHere()

type panelPace struct {
	ahead int
	four  bool
}

func panelsPaceHere() panelPace {
	switch {
	case onIntel:
		return panelPace{4 << 10, true}
	case machine().halves():
		return panelPace{8 << 10, true}
	}
	return panelPace{16 << 10, false}
}

// storedBy returns the index of the kernel that multiplies m rows by stored panels.
func (s *streamKernel) storedBy(m int) int {
	if m > 2 && !panelsPace.four {
		return len(s.panels) - 1
	}
	return s.panels.of(m)
}

// wide returns how many columns that kernel has.
func (s *streamKernel) wide(m int) int { return s.widths[s.storedBy(m)] }

// packed is the PanelsFunc. Where there are fewer panels than the kernel has columns for, it reads one of them over and over.
func (s *streamKernel) packed(k, m, n int, a, b unsafe.Pointer, pitch int, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	c := streamBlocks.Get().(*streamBlock)
	stored, v := s.panels, s.storedBy(m)
	switch {
	case farB && s.far != nil:
		stored = s.far.panels
	case s.narrow != nil:
		stored = s.narrow
	}
	c.slots[0].a, c.k, c.stride = a, k, pitch
	c.ahead = panelsPace.ahead * s.nr / max(s.nr, s.widths[v])
	for j, width := 0, s.widths[v]; j < n; j += width {
		if roundUp(n-j, s.nr) < width {
			c.stride, width = 0, s.nr
		}
		c.b = unsafe.Add(b, j/s.nr*pitch)
		s.columns(c, stored[v], s.widths[v], min(n-j, width), m, forward(src, j*4), lds, unsafe.Add(dst, j*4), ldd)
	}
	c.release()
}
