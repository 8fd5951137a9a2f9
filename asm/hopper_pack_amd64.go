//go:build amd64 && !purego

package asm

import (
	"math"
	"unsafe"
)

// A hopperScan is what a scan of values finds, in the lanes of vectors: the largest and the smallest of the values
// times two, as integers, so that the sign is gone and the exponent field is on top; one less than the smallest, so
// that zeros do not count; and the largest sum of the fractions of a column in a step of 16.
type hopperScan struct{ largest, smallest, sum [16]uint32 }

// scan calls the assembly for n elements of K of a part of a panel, a multiple of L. It rounds those of tf32.
func (c hopperCode) scan(t Type, side panelSide, values unsafe.Pointer, n int, out *hopperScan) {
	zmm := c.zmm
	switch hopperKinds[t].products {
	case 16:
		switch {
		case zmm && side == sideA:
			scanHopper512Ax16(values, n/16, out)
		case zmm:
			scanHopper512Bx16(values, n/16, out)
		case side == sideA:
			scanHopper256Ax16(values, n/16, out)
		default:
			scanHopper256Bx16(values, n/16, out)
		}
	case 8:
		switch {
		case zmm && side == sideA:
			scanHopper512Ax8(values, n/8, out)
		case zmm:
			scanHopper512Bx8(values, n/8, out)
		case side == sideA:
			scanHopper256Ax8(values, n/8, out)
		default:
			scanHopper256Bx8(values, n/8, out)
		}
	default:
		switch {
		case zmm && side == sideA:
			scanHopper512Ax32(values, n/8, out)
		case zmm:
			scanHopper512Bx32(values, n/8, out)
		case side == sideA:
			scanHopper256Ax32(values, n/8, out)
		default:
			scanHopper256Bx32(values, n/8, out)
		}
	}
}

// exponents calls the assembly for n elements of K of a panel. half is the distance in bytes to the second part of B.
func (c hopperCode) exponents(side panelSide, dst, values unsafe.Pointer, n, normal, base, half int) {
	switch {
	case c.zmm && side == sideA:
		exponentsHopper512A(dst, values, n/2, normal, base)
	case c.zmm:
		exponentsHopper512B(dst, values, n, normal, base, half)
	case side == sideA:
		exponentsHopper256A(dst, values, n/2, normal, base)
	default:
		exponentsHopper256B(dst, values, n, normal, base, half)
	}
}

// finishChunk is the number of elements of K that one call of assembly scans or writes.
const finishChunk = 2048

// finish is finishGo, in assembly.
func (c hopperCode) finish(p hopperPanel, t Type, side panelSide, depth int) {
	h := newHeader(t)
	width, sub := c.width(side), c.sub(side)
	largest, smallest, sum := uint32(0), uint32(math.MaxUint32), uint32(0)
	// The parts of a panel of B lie one after the other.
	for k0 := 0; k0 < depth*width/sub; k0 += finishChunk {
		n := min(depth*width/sub-k0, finishChunk)
		values := unsafe.Add(p.values, k0*sub*4)
		var found hopperScan
		for i := range found.smallest {
			found.smallest[i] = math.MaxUint32 // the lanes that a shorter vector does not have
		}
		c.scan(t, side, values, n, &found)
		for i := range found.sum {
			largest, smallest = max(largest, found.largest[i]), min(smallest, found.smallest[i])
			sum = max(sum, found.sum[i])
		}
	}
	least := uint32(255)
	if smallest != math.MaxUint32 {
		least = (smallest + 1) >> 24
	}
	h.setExponents(largest>>24, least)
	if sum >= heavyFractions {
		h.heavy = 1
	}
	*p.header = h

	normal, base := 127+int(h.normal), 127+int(h.largest)-63
	row := 4 * c.mr
	if side == sideB {
		row = c.pitch
	}
	for k0 := 0; k0 < depth; k0 += finishChunk {
		c.exponents(side, unsafe.Add(p.exponents, k0*row), unsafe.Add(p.values, k0*sub*4),
			min(depth-k0, finishChunk), normal, base, depth*sub*4)
	}
}

// across returns values for panels of A from rows of K, of which several are packed at once: all that there are, or
// with AVX2 whole groups.
func (c *hopperPacker) across(
	zmm bool, t Type, rest PackFunc,
) func(dst, src unsafe.Pointer, stride, n, k, depth int) {
	size := t.Size()
	pack512 := map[Type]packAcross512{BF16: packAcross512BF16x8, F16: packAcross512F16x8, F32: packAcross512Wordsx8}[t]
	pack256 := map[Type]packAcross256{BF16: packAcross256BF16x4, F16: packAcross256F16x4, F32: packAcross256Wordsx4}[t]
	return func(dst, src unsafe.Pointer, stride, n, k, depth int) {
		if !zmm && n < c.group {
			c.parts(dst, n, depth, func(part unsafe.Pointer, i, n int) {
				rest(part, unsafe.Add(src, i*size), stride, n, k)
			})
			return
		}
		for k0 := 0; k0 < k; k0 += packChunk {
			to, from := unsafe.Add(dst, headerBytes+k0*c.mr*4), unsafe.Add(src, k0*stride)
			if zmm {
				pack512(to, from, stride, n, min(k-k0, packChunk), c.bytes(sideA, depth))
			} else {
				pack256(to, from, stride, min(k-k0, packChunk), c.bytes(sideA, depth))
			}
		}
	}
}
