//go:build amd64 && !purego

package asm

import (
	"slices"
	"unsafe"
)

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
	if far := s.farther(); far != nil && m > s.mr+s.mr/2 && len(far.transposed) > far.transposed.of(2*s.mr) {
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
	if far := s.farther(); far != nil && far.transposed != nil {
		kernels, lag = far.transposed, 0
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
