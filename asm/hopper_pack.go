package asm

import (
	"math"
	"unsafe"
)

// A hopperPanel is where the parts of a panel lie.
type hopperPanel struct {
	header    *hopperHeader
	values    unsafe.Pointer
	exponents unsafe.Pointer
}

// panelAt returns the parts of the panel of A (of B if isB) at p, words deep.
func (s *hopperShape) panelAt(p unsafe.Pointer, isB bool, words int) hopperPanel {
	width := s.mr
	if isB {
		width = s.nr
	}
	values := unsafe.Add(p, headerBytes)
	return hopperPanel{(*hopperHeader)(p), values, unsafe.Add(values, words*width*4)}
}

// packHopperGo returns the plain-Go packer of A or B.
func packHopperGo(s *hopperShape, t Type, isB, kContiguous bool) PackFunc {
	width, sub, bytes := s.mr, s.mr, s.bytesA
	if isB {
		width, sub, bytes = s.nr, s.sub, s.bytesB
	}
	step := hopperKinds[t].products
	return func(dst, src unsafe.Pointer, stride, r, k int) {
		depth := roundUp(k, step)
		for first := 0; first < r; first += width {
			p := s.panelAt(dst, isB, depth)
			for i := 0; i < width; i += sub {
				part := unsafe.Add(p.values, i*depth*4)
				n := min(max(r-first-i, 0), sub)
				packGeneric(t, 1, sub, kContiguous, part, sourceAt(src, t, stride, first+i, kContiguous), stride, n, k)
				clearWords(part, min(n, 1)*k*sub, depth*sub)
			}
			s.finishGo(p, t, isB, depth)
			dst = unsafe.Add(dst, bytes(depth))
		}
	}
}

// sourceAt returns the address of row i of a panel in a source.
func sourceAt(src unsafe.Pointer, t Type, stride, i int, kContiguous bool) unsafe.Pointer {
	if kContiguous {
		return unsafe.Add(src, i*stride)
	}
	return unsafe.Add(src, i*t.Size())
}

// clearWords zeroes the words from..to-1 at p.
func clearWords(p unsafe.Pointer, from, to int) {
	clear(unsafe.Slice((*uint32)(p), to)[from:])
}

// newHeader returns the header of a panel of t without what depends on its elements.
func newHeader(t Type) hopperHeader {
	kind := hopperKinds[t]
	return hopperHeader{normal: int32(kind.normal), products: int32(kind.products), fraction: int32(kind.fraction), result: int32(kind.result)}
}

// setExponents fills in what the header says of exponents, from the largest exponent field of the values and the smallest
// of those that are not zero; 0 and 255 if there is none.
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

// finishGo makes the header and the exponents of a panel from its values, and truncates those to tf32.
func (s *hopperShape) finishGo(p hopperPanel, t Type, isB bool, depth int) {
	width, sub := s.mr, s.mr
	if isB {
		width, sub = s.nr, s.sub
	}
	h := newHeader(t)
	values := unsafe.Slice((*uint32)(p.values), depth*width)
	if t == F32 {
		for i := range values {
			values[i] &^= 0x1fff
		}
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
			if isB {
				*(*int8)(unsafe.Add(p.exponents, kk*s.pitch+i)) = e
			} else {
				*(*uint32)(unsafe.Add(p.exponents, (kk*s.mr+i)*4)) = uint32(uint8(e)) * 0x01010101
			}
		}
		for i := width; isB && i < s.pitch; i++ {
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

// heavy returns 1 if in some column of sub the significands of the 16 elements of a step add up to heavySum or more. A
// significand counts as 1 plus the fraction, that of a zero too.
func heavy(values []uint32, sub int) int32 {
	const limit = (heavySum - 16) << 23
	for ; len(values) > 0; values = values[16*sub:] {
		for i := range sub {
			sum := uint32(0)
			for kk := range 16 {
				sum += values[kk*sub+i] & (1<<23 - 1)
			}
			if sum >= limit {
				return 1
			}
		}
	}
	return 0
}
