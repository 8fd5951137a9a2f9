//go:build amd64 && !purego

package asm

import "unsafe"

// columns multiplies the panels of c by a kernel for so many columns, of which n exist. src is nil or where the rows
// of dst start, or are added to.
func (s *streamKernel) columns(
	c *streamCall, kern func(c *streamCall), width, n, m int, src, dst unsafe.Pointer, ldd int,
) {
	if n == width {
		c.accumulate(0, m, src, ldd, dst, ldd)
		kern(c)
		return
	}
	s.loadPart(c, 0, n, width, m, src, ldd)
	kern(c)
	s.storePart(c, n, width, m, dst, ldd)
}

// panelsAhead is how many bytes ahead stored panels are prefetched, in all that are read at once. On a Zen 5 8 rows
// reach .55 of the peak with 4 KB, .65 with 8, .80 with 16, .77 with 32 and .73 with 64
// (8x4096x4096 by a packed B, 555ea06).
const panelsAhead = 16 << 10

// wide returns how many columns the kernel has that multiplies m rows by stored panels.
func (s *streamKernel) wide(m int) int { return s.widths[s.panels.of(m)] }

// readPanels is the PanelsFunc. Where there are fewer panels than the kernel reads at a time, it reads one after the
// other.
func (s *streamKernel) readPanels(k, m, n int, a, b unsafe.Pointer, pitch int, dst unsafe.Pointer, ldd int, add bool) {
	c := s.newCall()
	src := dst
	if !add {
		src = nil
	}
	c.adds = 1
	stored, v := s.panels, s.panels.of(m)
	if far := s.farther(); far != nil && far.panels != nil {
		stored = far.panels
	} else if s.narrow != nil {
		stored = s.narrow
	}
	width := s.widths[v]
	c.slots[0].a, c.k, c.stride = a, k, pitch
	c.ahead = panelsAhead * s.nr / width
	for j := 0; j < n; j += width {
		if roundUp(n-j, s.nr) < width {
			width, c.stride, c.ahead = s.nr, 0, panelsAhead
		}
		c.b = unsafe.Add(b, j/s.nr*pitch)
		s.columns(c, stored[v], width, min(n-j, width), m, forward(src, j*s.word()), unsafe.Add(dst, j*s.word()), ldd)
	}
	c.release()
}
