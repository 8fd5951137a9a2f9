//go:build amd64 && !purego

package asm

import "unsafe"

// readAcross is the StreamFunc for rows of K: a few rows at a time through all columns, and the sums of a block of
// them, unless it is the first, apart from what they are added to.
func (s *streamKernel) readAcross(k, m, n int, a, b unsafe.Pointer, stride int, dst unsafe.Pointer, ldd int, add bool) {
	c := s.newCall()
	c.stride = stride
	width := streamWidth / s.word()
	for j := 0; j < n; j += width {
		wide, at := min(n-j, width), unsafe.Add(dst, j*s.word())
		for k0 := 0; k0 < k; k0 += s.sums {
			to, ldt := s.chain(c, m, wide, at, ldd, add || k0 > 0)
			s.rowsOfK(c, min(k-k0, s.sums), m, wide, s.panelA(a, k0), unsafe.Add(b, k0*stride+j*s.size), to, ldt)
			s.total(m, wide, to, ldt, at, ldd)
		}
	}
	c.release()
}

// rowsOfK stores the sums of one block of K. The last columns, if they are not a whole vector and there are no masks,
// are copied to where they are one.
func (s *streamKernel) rowsOfK(c *streamCall, k, m, n int, a, b, dst unsafe.Pointer, ldd int) {
	kernel := s.across.of(m)
	f, reach := s.across[kernel], s.reachOf(m, c.stride)
	if far := s.farther(); far != nil {
		f, reach = far.across[kernel], far.reach[kernel]
	}
	c.n, c.adds = n, 0
	var part *streamCall
	columns := n % s.vec
	if columns > 0 && !s.masks {
		c.n -= columns
		part = streamCalls.Get()
		part.n, part.adds, part.stride, part.b = s.vec, 0, s.vec*s.size, unsafe.Pointer(&part.room[0])
		s.loadPart(part, 0, columns, s.vec, m, nil, 0)
	}
	rows, ahead, rowsAhead := s.paceOf(kernel, c.n, reach)
	c.ahead, c.near, c.next = ahead, ahead/s.size, rowsAhead*c.stride-c.n*s.size
	c.accumulate(0, m, nil, 0, dst, ldd)
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
		s.storePart(part, columns, s.vec, m, unsafe.Add(dst, c.n*s.word()), ldd)
		part.release()
	}
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

// Columns of few bytes, see streamTuning.thin.
const (
	thinBytes = 512
	thinAhead = 8    // rows
	thinRows  = 4096 // in a call
)

// paceOf returns how many rows of K a call takes of so many columns, and how far ahead to prefetch: bytes in a row,
// or where that is all of the columns, rows.
func (s *streamKernel) paceOf(kernel, columns int, reach streamReach) (rows, ahead, rowsAhead int) {
	size := columns * s.size
	if s.deep == nil || !streamTuned.thin || size > thinBytes {
		return reach.rows, min(reach.ahead, size), reach.rows
	}
	rows = reach.rows
	if columns <= s.deep[kernel] {
		rows = thinRows
	}
	return rows, size, thinAhead
}
