package wgmma

import (
	"fmt"

	"example.com/leafhopper/internal/hopper"
)

// eachChunk calls f for every 16-byte chunk of an operand of rows rows (columns
// of B): its address, and the row and the first byte in the row, or for an
// MN-major operand the first of eight rows, of the elements it holds. No layout
// tears a chunk apart.
func (d Descriptor) eachChunk(major Major, size, rows int, f func(address, row, at int)) {
	if major == KMajorLayout {
		for r := range rows {
			for at := 0; at < rowBytes; at += unit {
				f(d.Address(major, size, r, at/size), r, at)
			}
		}
		return
	}
	for k := range rowBytes / size {
		for r := 0; r < rows; r += unit / size {
			f(d.Address(major, size, r, k), r, k*size)
		}
	}
}

// checkBounds reports an operand that leaves shared memory.
func (d Descriptor) checkBounds(major Major, size, rows, memory int) error {
	low, high := memory, 0
	d.eachChunk(major, size, rows, func(address, row, at int) {
		low, high = min(low, address), max(high, address+unit)
	})
	if low < 0 || high > memory {
		return fmt.Errorf("wgmma: %+v reaches over the bytes %d to %d, shared memory has %d", d, low, high-1, memory)
	}
	return nil
}

// gather copies an operand out of shared memory into dense rows.
func (d Descriptor) gather(dst []hopper.Row, memory []byte, major Major, size int) {
	d.eachChunk(major, size, len(dst), func(address, row, at int) {
		chunk := memory[address:][:unit]
		if major == KMajorLayout {
			copy(dst[row][at:], chunk)
			return
		}
		for i := 0; i < unit; i += size {
			copy(dst[row+i/size][at:at+size], chunk[i:])
		}
	})
}
