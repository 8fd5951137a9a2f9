//go:build amd64 && !purego

package asm

import (
	"slices"
	"unsafe"
)

// readAlong is the StreamFunc for rows along K, but for a vector: whole blocks of sums, and then what is left of K,
// lines and less than a line, which is apart from what it is added to until it is complete.
func (s *streamKernel) readAlong(k, m, n int, a, b unsafe.Pointer, stride int, dst unsafe.Pointer, ldd int, add bool) {
	line, whole := s.block/s.size, k/s.sums*s.sums
	if s.isVector(m, k < line) {
		s.vector(k, n, a, s.mr*s.word(), b, stride, dst, add)
		return
	}
	c := s.newCall()
	c.apart = roundUp(k, s.kpack) / s.kpack * s.mr * s.word()
	rest := k % line
	if slots := s.slots[s.along.of(m)]; rest == 0 && (s.lag() == 0 || (slots-1)*k < slots*s.sums) {
		whole = k // all columns under way are at the same place in K, as no slot is a block of sums behind
	}
	s.lines(c, whole, m, n, a, b, stride, dst, ldd, add)
	add, a, b = add || whole > 0, s.panelA(a, whole), unsafe.Add(b, whole*s.size)
	lines := k - whole - rest
	if rest == 0 {
		s.lines(c, lines, m, n, a, b, stride, dst, ldd, add)
		c.release()
		return
	}
	to, ldt := s.chain(c, m, n, dst, ldd, add)
	s.lines(c, lines, m, n, a, b, stride, to, ldt, false)
	a, b = s.panelA(a, lines), unsafe.Add(b, lines*s.size)
	if s.pack == nil { // a tile is more than that
		s.restTile(c, rest, m, n, a, b, stride, to, ldt, lines > 0)
	} else {
		src := to
		if lines == 0 {
			src = nil
		}
		most := streamPanel / s.word() / s.nr * s.kpack
		for done := 0; done < rest; done += most {
			if done > 0 {
				src = to
			}
			for i := 0; i < m; i += s.mr {
				s.rest(c, min(rest-done, most), min(m-i, s.mr), n, unsafe.Add(s.panelA(a, done), i/s.mr*c.apart),
					unsafe.Add(b, done*s.size), stride, forward(src, i*ldt), unsafe.Add(to, i*ldt), ldt)
			}
		}
	}
	s.total(m, n, to, ldt, dst, ldd)
	c.release()
}

// isVector reports whether m rows of A are one that is multiplied as a vector: by rows of less than a line, or where
// lines are fetched to the second-level cache.
func (s *streamKernel) isVector(m int, short bool) bool {
	return m == 1 && s.vector != nil && (short || s.farther() != nil)
}

// lines multiplies k elements of K, whole blocks of sums or lines of one.
func (s *streamKernel) lines(
	c *streamCall, k, m, n int, a, b unsafe.Pointer, stride int, dst unsafe.Pointer, ldd int, add bool,
) {
	length := streamLength / s.size
	c.adds = 1
	for k0 := 0; k0 < k; k0 += length {
		s.blocks(c, min(k-k0, length)*s.size/s.block, m, n,
			s.panelA(a, k0), unsafe.Add(b, k0*s.size), stride, dst, ldd, add || k0 > 0)
	}
}

// blocks multiplies whole blocks of K. Some slots go through K at a time, to have as many independent sums, each by a
// vector of columns, and, see lag, one some way behind the other, as far as there are blocks of sums between them: rows
// that lie 2 or 4 KB apart share sets of the first-level cache, and those of all columns at one place in K would evict
// what is prefetched for each other.
//
//	slot 0   ├── columns 0 ──┤├── columns 32 ─┤
//	slot 1   ·    ├── columns 16 ─┤├── columns 48 ─┤
func (s *streamKernel) blocks(
	c *streamCall, blocks, m, n int, a, b unsafe.Pointer, stride int, dst unsafe.Pointer, ldd int, add bool,
) {
	v := s.along.of(m)
	kernels, slots := s.along, c.slots[:s.slots[v]]
	ahead, lag := streamAhead, s.lag()/s.block
	if far := s.farAlong(); far != nil {
		kernels = far
		if len(slots) == 1 || s.sum == F64 {
			ahead = streamFar
		}
	}
	vec := s.vec
	if m > s.mr {
		c.slots[1].a = unsafe.Add(a, c.apart)
	}
	width := len(slots) * vec // columns that are under way
	c.near, c.next = roundUp(blocks*s.block, streamPiece), width*stride
	if ahead >= c.near {
		ahead = c.next // the columns after these
	}
	start := func(q, j int) {
		slot, columns := &slots[q], min(n-j, vec)
		slot.a, slot.used, slot.offset, slot.fetch = a, 0, 0, ahead
		for r := range vec {
			slot.rows[r] = unsafe.Add(b, (j+min(r, columns-1))*stride)
		}
		at := unsafe.Add(dst, j*s.word())
		src := at
		if !add {
			src = nil
		}
		if columns < vec {
			s.loadPart(c, q, columns, vec, m, src, ldd)
		} else {
			c.accumulate(q, m, src, ldd, at, ldd)
		}
	}
	c.each, c.left = s.sums*s.size/s.block, 0
	place := func(i int) int { return min(i*lag, i*blocks/len(slots)) / c.each * c.each }
	var busy [len(c.slots)]bool
	for j := 0; ; j += width {
		for i := range slots {
			if busy[i] = j+i*vec < n; busy[i] {
				start(i, j+i*vec)
			}
			c.k = place(i+1) - place(i)
			if i == len(slots)-1 {
				c.k = blocks - place(i)
			}
			if c.k == 0 {
				continue
			}
			one := slices.Index(busy[:], true)
			if one < 0 {
				if whole := n / vec * vec; whole < n {
					s.storePart(c, n-whole, vec, m, unsafe.Add(dst, whole*s.word()), ldd)
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
		}
	}
}

// rest multiplies less of K than a line: it packs columns and multiplies the panels.
func (s *streamKernel) rest(
	c *streamCall, k, m, n int, a, b unsafe.Pointer, stride int, src, dst unsafe.Pointer, ldd int,
) {
	v := s.panels.of(m)
	width := s.widths[v]
	c.slots[0].a = a
	c.stride, c.b, c.ahead = streamPanel, unsafe.Pointer(&c.room[0]), 0
	c.adds, c.k = 0, (k+s.kpack-1)/s.kpack
	for j := 0; j < n; j += width {
		here := min(n-j, width)
		for i := 0; i < here; i += s.nr {
			s.pack(unsafe.Add(c.b, i/s.nr*c.stride), unsafe.Add(b, (j+i)*stride), stride, min(here-i, s.nr), k)
		}
		s.columns(c, s.panels[v], width, here, m, forward(src, j*s.word()), unsafe.Add(dst, j*s.word()), ldd)
	}
}
