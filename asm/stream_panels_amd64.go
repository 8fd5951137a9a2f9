//go:build amd64 && !purego

package asm

import "unsafe"

// A streamSet is the kernels for 1, 2, 4 and 8 rows of A.
type streamSet [4]func(c *streamBlock)

// of returns the index of the kernel that multiplies m rows.
func (streamSet) of(m int) int {
	switch {
	case m > 4:
		return 3
	case m > 2:
		return 2
	}
	return m - 1
}

// A streamKernel is the stream kernels of a type.
type streamKernel struct {
	size, kpack                  int
	straight, transposed, panels streamSet
	pack                         packT512 // a panel of 32
}

var (
	streamPairs = streamKernel{2, 2, streamSet{streamS1Pairs, streamS2Pairs, streamS4Pairs, streamS8Pairs},
		streamSet{streamT1Pairs, streamT2Pairs, streamT4Pairs, streamT8Pairs},
		streamSet{streamP1Pairs, streamP2Pairs, streamP4Pairs, streamP8Pairs}, packT32Pairs}
	streamWords = streamKernel{4, 1, streamSet{streamS1Words, streamS2Words, streamS4Words, streamS8Words},
		streamSet{streamT1Words, streamT2Words, streamT4Words, streamT8Words},
		streamSet{streamP1Words, streamP2Words, streamP4Words, streamP8Words}, packT32Words}
	streamBF16 = streamKernel{2, 1, streamSet{streamS1BF16, streamS2BF16, streamS4BF16, streamS8BF16},
		streamSet{streamT1BF16, streamT2BF16, streamT4BF16, streamT8BF16}, streamWords.panels, packT32BF16}
	streamF16 = streamKernel{2, 1, streamSet{streamS1F16, streamS2F16, streamS4F16, streamS8F16},
		streamSet{streamT1F16, streamT2F16, streamT4F16, streamT8F16}, streamWords.panels, packT32F16}
)

// assembleStreams gives k the stream kernels that fit its panels.
func assembleStreams(k *Kernel) {
	slots := func(s *streamKernel) [2]StreamFunc { return [2]StreamFunc{s.across, s.along} }
	switch k.Name {
	case "avx512bf16":
		k.stream[BF16], k.panels[BF16] = slots(&streamPairs), streamPairs.packed
	case "avx512":
		k.stream[BF16], k.stream[F16], k.stream[F32] = slots(&streamBF16), slots(&streamF16), slots(&streamWords)
		for t := range k.panels {
			if k.accepts[t] {
				k.panels[t] = streamWords.packed
			}
		}
	}
}

// streamA is the bytes of a word of K in the panel of A.
const streamA = 8 * 4

// accumulate says that the slot's m rows of accumulators go from src to dst.
func (s *streamSlot) accumulate(m int, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	for i := range s.src {
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

// across is the StreamFunc for rows of K: a few rows at a time through all columns.
func (s *streamKernel) across(k, m, n int, a, b unsafe.Pointer, stride int, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	c := streamBlocks.Get().(*streamBlock)
	f := s.straight[s.straight.of(m)]
	c.stride = stride
	for j := 0; j < n; j += streamWidth {
		c.n = min(n-j, streamWidth)
		c.next = streamDepth*stride - c.n*s.size
		c.slots[0].accumulate(m, forward(src, j*4), lds, unsafe.Add(dst, j*4), ldd)
		for k0 := 0; k0 < k; k0 += streamDepth {
			c.k = min(k-k0, streamDepth)
			c.slots[0].a = unsafe.Add(a, k0/s.kpack*streamA)
			c.b = unsafe.Add(b, k0*stride+j*s.size)
			f(c)
			c.slots[0].src = c.slots[0].dst
		}
	}
	c.release()
}

// release gives the block back to the pool, without the addresses of operands.
func (c *streamBlock) release() {
	c.b, c.slots = nil, [2]streamSlot{}
	streamBlocks.Put(c)
}

// along is the StreamFunc for rows along K: whole blocks of 16 words of K, and then what is left of K.
func (s *streamKernel) along(k, m, n int, a, b unsafe.Pointer, stride int, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	c := streamBlocks.Get().(*streamBlock)
	block, length := 16*s.kpack, streamLength/s.size
	whole := k / block * block
	for k0 := 0; k0 < whole; k0 += length {
		s.blocks(c, min(whole-k0, length)/block, m, n, unsafe.Add(a, k0/s.kpack*streamA), unsafe.Add(b, k0*s.size), stride, src, lds, dst, ldd)
		src, lds = dst, ldd
	}
	if whole < k {
		s.rest(c, k-whole, m, n, unsafe.Add(a, whole/s.kpack*streamA), unsafe.Add(b, whole*s.size), stride, src, lds, dst, ldd)
	}
	c.release()
}

// blocks multiplies blocks of 16 words of K. Two slots go through K at a time, to have twice as many independent sums,
// each by 16 columns, one some way behind the other: rows that lie a multiple of 4 KB apart share sets of the first-level
// cache, and those of 32 columns at one place in K would evict what is prefetched for each other.
//
//	slot 0   ├── columns 0 ──┤├── columns 32 ─┤
//	slot 1   ·    ├── columns 16 ─┤├── columns 48 ─┤
func (s *streamKernel) blocks(c *streamBlock, blocks, m, n int, a, b unsafe.Pointer, stride int, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	v := s.transposed.of(m)
	f := s.transposed[v]
	bytes, width := 16*s.kpack*s.size, 32 // of a block of a row; columns that are under way
	if v == 3 {
		width = 16
	}
	// turn has slot i do count blocks from block at of the 16 columns from j.
	turn := func(i, j, at, count int) {
		slot := &c.slots[i]
		slot.a = unsafe.Add(a, at*16*streamA)
		slot.n = min(n-j, 16)
		for r := range slot.rows {
			slot.rows[r] = unsafe.Add(b, (j+min(r, slot.n-1))*stride+at*bytes)
		}
		// After the end of these rows come those that the slot takes next.
		slot.fetch, slot.end, slot.next = streamAhead, (blocks-at)*bytes, width*stride-at*bytes
		if over := slot.fetch - slot.end; over >= 0 {
			slot.fetch = slot.next + over
		}
		if at == 0 {
			slot.accumulate(m, forward(src, j*4), lds, unsafe.Add(dst, j*4), ldd)
		} else {
			slot.src = slot.dst
		}
		c.k = count
	}
	if v == 3 {
		for j := 0; j < n; j += 16 {
			turn(0, j, 0, blocks)
			f(c)
		}
		return
	}
	lag := min(streamLag/bytes, blocks/2)
	for j := 0; j < n+16; j += 32 {
		// A slot that has nothing to do does what the other one does.
		behind, first, second := j >= 32, j < n, j+16 < n
		if lag > 0 {
			if behind {
				turn(1, j-16, blocks-lag, lag)
			}
			if first {
				turn(0, j, 0, lag)
			} else {
				c.slots[0] = c.slots[1]
			}
			if !behind {
				c.slots[1] = c.slots[0]
			}
			f(c)
		}
		if !first {
			break
		}
		turn(0, j, lag, blocks-lag)
		if second {
			turn(1, j+16, 0, blocks-lag)
		} else {
			c.slots[1] = c.slots[0]
		}
		f(c)
	}
}

// rest multiplies fewer elements of K than a block: it packs columns and multiplies the panels.
func (s *streamKernel) rest(c *streamBlock, k, m, n int, a, b unsafe.Pointer, stride int, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	v := s.panels.of(m)
	width := min(128, 256>>v) // columns of the kernel
	c.slots[0].a = a
	c.stride, c.b = streamPanel, unsafe.Pointer(&c.room[0])
	c.k = (k + s.kpack - 1) / s.kpack
	for j := 0; j < n; j += width {
		here := min(n-j, width)
		for i := 0; i < here; i += 32 {
			s.pack(unsafe.Add(c.b, i/32*streamPanel), unsafe.Add(b, (j+i)*stride), stride, min(here-i, 32), k)
		}
		s.columns(c, v, here, m, forward(src, j*4), lds, unsafe.Add(dst, j*4), ldd)
	}
}

// columns multiplies the panels of c by kernel v, whose first n columns exist.
func (s *streamKernel) columns(c *streamBlock, v, n, m int, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	width := min(128, 256>>v)
	slot := &c.slots[0]
	if n == width {
		slot.accumulate(m, src, lds, dst, ldd)
		s.panels[v](c)
		return
	}
	tile := unsafe.Pointer(&c.tile[0])
	slot.accumulate(m, nil, 0, tile, width*4)
	if src != nil {
		slot.src = slot.dst
		for i := range m {
			copy(c.tile[i*width:][:n], unsafe.Slice((*float32)(unsafe.Add(src, i*lds)), n))
		}
	}
	s.panels[v](c)
	for i := range m {
		copy(unsafe.Slice((*float32)(unsafe.Add(dst, i*ldd)), n), c.tile[i*width:][:n])
	}
}

// packed is the PanelsFunc. Where there are fewer panels than the kernel has columns for, it reads one of them over and over.
func (s *streamKernel) packed(k, m, n int, a, b unsafe.Pointer, pitch int, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	c := streamBlocks.Get().(*streamBlock)
	v := s.panels.of(m)
	if m > 2 {
		v = s.panels.of(8) // one panel at a time is read faster than two
	}
	c.slots[0].a, c.k, c.stride = a, k, pitch
	for j, width := 0, min(128, 256>>v); j < n; j += width {
		if n-j < width {
			c.stride, width = 0, 32
		}
		c.b = unsafe.Add(b, j/32*pitch)
		s.columns(c, v, min(n-j, width), m, forward(src, j*4), lds, unsafe.Add(dst, j*4), ldd)
	}
	c.release()
}
