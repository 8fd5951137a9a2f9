package asm

import (
	"math"
	"unsafe"

	"example.com/leafhopper/tf32"
)

// A hopperPanel is where the parts of a panel lie.
type hopperPanel struct {
	header    *hopperHeader
	values    unsafe.Pointer
	exponents unsafe.Pointer
}

// panelAt returns the parts of the panel at p, words deep.
func (s *hopperShape) panelAt(p unsafe.Pointer, side panelSide, words int) hopperPanel {
	values := unsafe.Add(p, headerBytes)
	return hopperPanel{(*hopperHeader)(p), values, unsafe.Add(values, words*s.width(side)*4)}
}

// A hopperPacker packs one operand: the values first, by the routines of the native kernels, then the rest panel by
// panel.
type hopperPacker struct {
	*hopperShape
	t     Type
	side  panelSide
	group int // rows whose values are packed at once, a multiple of the width of a panel

	// values packs n rows, 1 to group, of k elements into panels that are depth words deep. It leaves alone what lies
	// beyond k, and the parts of a panel of which no row exists.
	values func(dst, src unsafe.Pointer, stride, n, k, depth int)
	// finish makes the header and the exponents of a panel from its values.
	finish func(p hopperPanel, t Type, side panelSide, depth int)
}

// pack is a PackFunc.
func (c *hopperPacker) pack(dst, src unsafe.Pointer, stride, r, k int, kContiguous bool) {
	depth := roundUp(k, hopperKinds[c.t].products)
	width, sub, bytes := c.width(c.side), c.sub(c.side), c.bytes(c.side, depth)
	if depth == 0 {
		// Headers only, which no kernel reads.
		clear(unsafe.Slice((*byte)(dst), roundUp(r, width)/width*bytes))
		return
	}
	for first := 0; first < r; first += c.group {
		n := min(r-first, c.group)
		group := unsafe.Add(dst, first/width*bytes)
		c.values(group, sourceAt(src, c.t, stride, first, kContiguous), stride, n, k, depth)
		for i := 0; i < n; i += width {
			p := c.panelAt(unsafe.Add(group, i/width*bytes), c.side, depth)
			for j := 0; j < width; j += sub {
				from := k
				if i+j >= n {
					from = 0
				}
				clear(unsafe.Slice((*uint32)(p.values), depth*width)[j*depth+from*sub : (j+sub)*depth])
			}
			c.finish(p, c.t, c.side, depth)
		}
	}
}

// parts calls f for every part of the panels at dst of n rows: i is its first row and n the number of those that exist.
func (c *hopperPacker) parts(dst unsafe.Pointer, n, depth int, f func(part unsafe.Pointer, i, n int)) {
	width, sub := c.width(c.side), c.sub(c.side)
	for i := 0; i < n; i += sub {
		f(unsafe.Add(dst, i/width*c.bytes(c.side, depth)+headerBytes+i%width*depth*4), i, min(n-i, sub))
	}
}

// packFunc returns the packer of one orientation.
func (c hopperPacker) packFunc(kContiguous bool) PackFunc {
	return func(dst, src unsafe.Pointer, stride, r, k int) { c.pack(dst, src, stride, r, k, kContiguous) }
}

// packer returns the plain-Go packer of one operand.
func (s *hopperShape) packer(t Type, side panelSide, kContiguous bool) PackFunc {
	c := hopperPacker{hopperShape: s, t: t, side: side, group: s.width(side), finish: s.finishGo}
	c.partwise(kContiguous, packerGo(widened(t), 1, s.sub(side), kContiguous))
	return c.packFunc(kContiguous)
}

// partwise packs values part by part, by a packer of native panels as wide.
func (c *hopperPacker) partwise(kContiguous bool, pack PackFunc) {
	c.values = c.widening(kContiguous, func(dst, src unsafe.Pointer, stride, n, k, depth int) {
		c.parts(dst, n, depth, func(part unsafe.Pointer, i, n int) {
			pack(part, sourceAt(src, widened(c.t), stride, i, kContiguous), stride, n, k)
		})
	})
}

// sourceAt returns the address of row i of what is packed.
func sourceAt(src unsafe.Pointer, t Type, stride, i int, kContiguous bool) unsafe.Pointer {
	if kContiguous {
		return unsafe.Add(src, i*stride)
	}
	return unsafe.Add(src, i*t.Size())
}

// newHeader returns the header of a panel of t without what depends on its elements.
func newHeader(t Type) hopperHeader {
	kind := hopperKinds[t]
	return hopperHeader{
		normal: int32(kind.normal), products: int32(kind.products),
		fraction: int32(kind.fraction), result: int32(kind.result),
	}
}

// setExponents fills in what the header says of exponents, from the largest exponent field of the values and the
// smallest of those that are not zero; 0 and 255 if there is none.
func (h *hopperHeader) setExponents(largest, smallest uint32) {
	switch {
	case largest < smallest:
		h.largest, h.smallest = 0, 0
	default:
		h.largest = max(int32(largest)-127, h.normal)
		h.smallest = max(int32(smallest)-127, h.normal)
		if largest == 255 {
			h.largest = notFinite
		}
	}
}

// finishGo makes the header and the exponents of a panel from its values, and rounds those of F32 to tf32.
func (s *hopperShape) finishGo(p hopperPanel, t Type, side panelSide, depth int) {
	width, sub := s.width(side), s.sub(side)
	h := newHeader(t)
	values := unsafe.Slice((*uint32)(p.values), depth*width)
	for i := 0; i < len(values) && t == F32; i++ {
		values[i] = tf32.RoundBits(values[i])
	}
	h.setExponents(exponentFields(values))
	if h.products == 16 {
		for i := 0; i < width && h.heavy == 0; i += sub {
			h.heavy = heavy(values[i*depth:][:depth*sub], sub)
		}
	}
	*p.header = h

	base := h.largest - 63
	for kk := range depth {
		for i := range width {
			e := relative(values[i/sub*sub*depth+kk*sub+i%sub], h.normal, base)
			if side == sideB {
				*(*int8)(unsafe.Add(p.exponents, kk*s.pitch+i)) = e
			} else {
				*(*uint32)(unsafe.Add(p.exponents, (kk*s.mr+i)*4)) = uint32(uint8(e)) * 0x01010101
			}
		}
		for i := width; side == sideB && i < s.pitch; i++ {
			*(*int8)(unsafe.Add(p.exponents, kk*s.pitch+i)) = -128
		}
	}
}

// exponentFields returns the largest exponent field of values and the smallest of those that are not zero; 0 and 255 if
// there is none.
func exponentFields(values []uint32) (largest, smallest uint32) {
	smallest = 255
	for _, v := range values {
		if v<<1 != 0 {
			e := v >> 23 & 255
			largest, smallest = max(largest, e), min(smallest, e)
		}
	}
	return largest, smallest
}

// relative returns the exponent of an element as a panel has it.
func relative(v uint32, normal, base int32) int8 {
	if v<<1 == 0 {
		return math.MinInt8
	}
	return int8(max(max(int32(v>>23&255)-127, normal)-base, math.MinInt8))
}

// heavyFractions is heavySum of 16 fractions in units of their last bit.
const heavyFractions = (heavySum - 16) << 23

// keepBits returns the bits of a value that an element of type t can have, once it is packed.
func keepBits(t Type) uint32 { return ^uint32(0) << (23 - hopperKinds[t].bits) }

// heavy returns 1 if in some column of sub the significands of the 16 elements of a step add up to heavySum or more. A
// significand counts as 1 plus the fraction, that of a zero too.
func heavy(values []uint32, sub int) int32 {
	for ; len(values) > 0; values = values[16*sub:] {
		for i := range sub {
			sum := uint32(0)
			for kk := range 16 {
				sum += values[kk*sub+i] & (1<<23 - 1)
			}
			if sum >= heavyFractions {
				return 1
			}
		}
	}
	return 0
}

// SelectB makes a panel of B of the elements of K that at names, which are as many as [Kernel.KStep] says, from the
// panel at src, which is depth words deep. It is for Hopper's arithmetic.
func (k *Kernel) SelectB(dst, src unsafe.Pointer, depth int, at []uint8) {
	s, words := k.hopper, len(at)
	to, from := s.panelAt(dst, sideB, words), s.panelAt(src, sideB, depth)
	*to.header = *from.header
	to.header.heavy = 1 // as they may be, side by side
	pick := func(dst, src unsafe.Pointer, bytes int) {
		for i, from := range at {
			copy(unsafe.Slice((*byte)(unsafe.Add(dst, i*bytes)), bytes),
				unsafe.Slice((*byte)(unsafe.Add(src, int(from)*bytes)), bytes))
		}
	}
	for i := 0; i < s.nr; i += s.part {
		pick(unsafe.Add(to.values, 4*i*words), unsafe.Add(from.values, 4*i*depth), 4*s.part)
	}
	pick(to.exponents, from.exponents, s.pitch)
}
