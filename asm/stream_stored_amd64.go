//go:build amd64 && !purego

package asm

import "unsafe"

// columns multiplies the panels of c by a kernel for so many columns, of which n exist. src is nil or where the rows of dst start, or are
// added to.
func (s *streamKernel) columns(c *streamBlock, kern func(c *streamBlock), width, n, m int, src, dst unsafe.Pointer, ldd int) {
	slot := &c.slots[0]
	if n == width {
		slot.accumulate(m, src, ldd, dst, ldd)
		kern(c)
		return
	}
	c.loadPart(slot, n, width, m, src, ldd)
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

// packed is the PanelsFunc. Where there are fewer panels than the kernel reads at a time, it reads one after the other.
func (s *streamKernel) packed(k, m, n int, a, b unsafe.Pointer, pitch int, dst unsafe.Pointer, ldd int, add bool) {
	c := streamBlocks.Get().(*streamBlock)
	src := dst
	if !add {
		src = nil
	}
	c.adds = 1
	stored, v, passing := s.panels, s.storedBy(m), false
	if far := s.farther(); far != nil {
		stored, passing = far.panels, k*s.wordBytes() >= passingBytes && n >= passingPanels*s.nr
	} else if s.narrow != nil {
		stored = s.narrow
	}
	width := s.widths[v]
	c.slots[0].a, c.k, c.stride = a, k, pitch
	c.ahead = panelsPace.ahead * s.nr / width
	for j := 0; j < n; j += width {
		if roundUp(n-j, s.nr) < width {
			width, c.stride, c.ahead = s.nr, 0, panelsPace.ahead
		}
		c.b = unsafe.Add(b, j/s.nr*pitch)
		if passing && s.nr < width && width <= n-j {
			at, pitch := unsafe.Add(dst, j*4), ldd
			if add {
				at, pitch = unsafe.Pointer(&c.tile[0]), width*4
			}
			c.slots[0].accumulate(m, nil, 0, at, pitch)
			s.pass(c, stored[v], width/s.nr)
			c.total(m, width, at, pitch, unsafe.Add(dst, j*4), ldd)
			continue
		}
		s.columns(c, stored[v], width, min(n-j, width), m, forward(src, j*4), unsafe.Add(dst, j*4), ldd)
	}
	c.release()
}

// The least size of panels and the fewest in a call that [streamKernel.pass] is worth its second call for: smaller and fewer come from
// a cache.
const (
	passingBytes  = 16 << 10
	passingPanels = 16
)

// pass multiplies panels that lie side by side. What a kernel prefetches past the end of one is the beginning of the next, which was
// read long ago. So near the end of its own, each prefetches what comes after all of them: the beginning of those that are read next.
func (s *streamKernel) pass(c *streamBlock, kern func(c *streamBlock), panels int) {
	slot, k, ahead := &c.slots[0], c.k, c.ahead
	a, last := slot.a, min(ahead/s.wordBytes(), k/2)
	c.k = k - last
	kern(c)
	c.adds = 0 // but go on
	slot.src, slot.a = slot.dst, unsafe.Add(a, c.k*s.mr*4)
	c.b, c.k, c.ahead = unsafe.Add(c.b, c.k*s.wordBytes()), last, ahead+(panels-1)*c.stride
	kern(c)
	slot.a, c.k, c.ahead, c.adds = a, k, ahead, 1
}

// wordBytes returns the bytes of a word of K of a stored panel.
func (s *streamKernel) wordBytes() int { return s.nr * s.size * s.kpack }
