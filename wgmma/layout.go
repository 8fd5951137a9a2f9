package wgmma

import (
	"fmt"

	"example.com/leafhopper/internal/hopper"
)

// eachChunk calls f for every 16-byte chunk of an operand of rows rows (columns
// of B) of depth bytes of K: its address, and the row and the first byte in the row,
// or for an MN-major operand the first of eight rows, of the elements it holds. No
// layout tears a chunk apart.
func (d Descriptor) eachChunk(major Major, size, rows, depth int, f func(address, row, at int)) {
	if major == KMajorLayout {
		for r := range rows {
			for at := 0; at < depth; at += unit {
				f(d.Address(major, size, r, at/size), r, at)
			}
		}
		return
	}
	for k := range depth / size {
		for r := 0; r < rows; r += unit / size {
			f(d.Address(major, size, r, k), r, k*size)
		}
	}
}

// checkBounds reports an operand that leaves shared memory.
func (d Descriptor) checkBounds(major Major, size, rows, depth, memory int) error {
	// No chunk lies further than the last row of the last k does, but for the
	// span that this one may begin, and swizzling leaves it in its line.
	last := d.Start + d.Offset(major, size, rows-1, depth/size-1)
	if major == MNMajorLayout {
		last += d.Swizzle.Span()
	}
	if last|(swizzleLine-1) < memory {
		return nil
	}
	low, high := memory, 0
	d.eachChunk(major, size, rows, depth, func(address, row, at int) {
		low, high = min(low, address), max(high, address+unit)
	})
	if low < 0 || high > memory {
		return fmt.Errorf("wgmma: %+v reaches over the bytes %d to %d, shared memory has %d", d, low, high-1, memory)
	}
	return nil
}

// rows copies an operand out of shared memory into dense rows of depth bytes, each of
// one or more of dst.
func (d Descriptor) rows(dst []hopper.Row, memory []byte, major Major, size, depth int) {
	per := depth / RowBytes
	d.eachChunk(major, size, len(dst)/per, depth, func(address, row, at int) {
		chunk, part, at := memory[address:][:unit], at/RowBytes, at%RowBytes
		if major == KMajorLayout {
			copy(dst[row*per+part][at:], chunk)
			return
		}
		for i := 0; i < unit; i += size {
			copy(dst[(row+i/size)*per+part][at:at+size], chunk[i:])
		}
	})
}

// gather copies an operand out of shared memory as it lies there, chunk by chunk:
// rows of depth bytes of K, or of an MN-major operand of rows elements, pitch bytes
// apart.
func (d Descriptor) gather(dst []byte, pitch int, memory []byte, major Major, size, rows, depth int) {
	span, lines := d.Swizzle.Span(), swizzleLine*d.BaseOffset
	const period = 7 * swizzleLine
	mask := period ^ d.Swizzle.Apply(period) // of what a line's number flips, eight times that
	chunk := func(to []byte, address int) {
		address ^= (address - lines) >> 3 & mask
		*(*[unit]byte)(to) = *(*[unit]byte)(memory[address:])
	}
	if major == KMajorLayout {
		if span == 0 {
			span = unit
		}
		for r := range rows {
			to, address := dst[r*pitch:][:depth], d.Start+r/8*d.SBO+r%8*span
			for at, in := 0, 0; at < len(to); at += unit {
				if in == span {
					address, in = address+d.LBO-span, 0
				}
				chunk(to[at:], address)
				address, in = address+unit, in+unit
			}
		}
		return
	}
	for k := range depth / size {
		to := dst[k*pitch:][:rows*size]
		for at := 0; at < len(to); at += unit {
			chunk(to[at:], d.Start+d.Offset(MNMajorLayout, size, at/size, k))
		}
	}
}
