package asm

import (
	"math/bits"
	"unsafe"
)

// packGeneric packs any layout; it is what every assembly packer is compared with. See [PackFunc] for the contract.
func packGeneric(t Type, kpack, width int, kContiguous bool, dst, src unsafe.Pointer, stride, r, k int) {
	if t.is8() {
		lines, length := k, r
		if kContiguous {
			lines, length = r, k
		}
		wide := unsafe.Pointer(unsafe.SliceData(make([]uint16, lines*length)))
		widenGeneric(t, wide, 2*length, src, stride, lines, length)
		t, src, stride = BF16, wide, 2*length
	}
	depth, each := (k+kpack-1)/kpack, wordOf(t)/4 // a float64 counts as two
	for first := 0; first < r; first += width {
		n := min(r-first, width)
		panel := unsafe.Slice((*uint32)(unsafe.Add(dst, first*depth*each*4)), width*depth*each)
		if n < width {
			clear(panel)
		}
		if kContiguous {
			for i := range n {
				packRow(t, kpack, width, panel[min(i*each, len(panel)):], unsafe.Add(src, (first+i)*stride), k)
			}
			continue
		}
		for kd := range depth {
			row := unsafe.Add(src, kd*kpack*stride+first*t.Size())
			packStep(t, kpack, panel[kd*width*each:][:n*each], row, stride, kd*kpack+1 < k)
		}
	}
}

// wordOf returns the bytes of a word of a panel of elements of type t.
func wordOf(t Type) int { return max(4, t.Size()) }

// packRow spreads k contiguous elements over a column of a panel, one word every width words.
func packRow(t Type, kpack, width int, panel []uint32, src unsafe.Pointer, k int) {
	o := 0
	switch {
	case t == F64:
		for _, w := range unsafe.Slice((*uint64)(src), k) {
			*(*uint64)(unsafe.Pointer(&panel[o])) = w
			o += 2 * width
		}
	case t == F32:
		for _, w := range unsafe.Slice((*uint32)(src), k) {
			panel[o] = w
			o += width
		}
	case kpack == 2:
		s := unsafe.Slice((*uint16)(src), k)
		for ; len(s) >= 2; s = s[2:] {
			panel[o] = uint32(s[0]) | uint32(s[1])<<16
			o += width
		}
		if len(s) == 1 {
			panel[o] = uint32(s[0])
		}
	case t == BF16:
		for _, h := range unsafe.Slice((*uint16)(src), k) {
			panel[o] = uint32(h) << 16
			o += width
		}
	default:
		for _, h := range unsafe.Slice((*uint16)(src), k) {
			panel[o] = widenF16(h)
			o += width
		}
	}
}

// packStep fills one step of K from contiguous elements: from one row of the source, or, for pairs, from a row and,
// unless it is the last, the row after it. A float64 is two of step.
func packStep(t Type, kpack int, step []uint32, src unsafe.Pointer, stride int, second bool) {
	n := len(step)
	switch {
	case t == F32 || t == F64:
		copy(step, unsafe.Slice((*uint32)(src), n))
	case kpack == 2 && second:
		lo, hi := unsafe.Slice((*uint16)(src), n), unsafe.Slice((*uint16)(unsafe.Add(src, stride)), n)
		for i := range step {
			step[i] = uint32(lo[i]) | uint32(hi[i])<<16
		}
	case kpack == 2:
		for i, h := range unsafe.Slice((*uint16)(src), n) {
			step[i] = uint32(h)
		}
	case t == BF16:
		for i, h := range unsafe.Slice((*uint16)(src), n) {
			step[i] = uint32(h) << 16
		}
	default:
		for i, h := range unsafe.Slice((*uint16)(src), n) {
			step[i] = widenF16(h)
		}
	}
}

// widenF16 returns the float32 bits of a binary16. A signalling NaN is quieted and keeps its payload, as VCVTPH2PS
// does.
func widenF16(h uint16) uint32 {
	sign := uint32(h&0x8000) << 16
	exp, frac := h>>10&0x1f, uint32(h&0x3ff)
	switch {
	case exp == 0x1f && frac != 0:
		return sign | 0x7fc00000 | frac<<13
	case exp == 0x1f:
		return sign | 0x7f800000
	case exp != 0:
		return sign | (uint32(exp)+112)<<23 | frac<<13
	case frac != 0:
		// Subnormal: frac · 2^-24. Shift the leading bit to the implicit place.
		n := uint32(bits.LeadingZeros32(frac)) - 21
		return sign | (113-n)<<23 | frac<<n<<13&0x7fffff
	}
	return sign
}
