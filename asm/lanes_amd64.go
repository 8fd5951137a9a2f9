//go:build amd64 && !purego

package asm

import "unsafe"

// A laned is an operand of dot products as the assembly reads it: a step is 16 words of every vector, in pieces of 16.
type laned struct {
	at            unsafe.Pointer
	block         int // bytes from one block to the next
	pieces, apart int // pieces of a step, and bytes from one to the next
	later         int // bytes from what is brought closer with a piece to the same of the next one
	next          int // bytes from the first piece to that of the next step
	n             int // vectors
	vector, word  int // bytes from a vector, and from a word, to the next where blocks lie side by side
}

// lanedOf returns the operand, whose elements take size bytes and a word each.
func lanedOf(v *Vectors, size int) laned {
	const line = Lanes * 4 // bytes of a word of all blocks
	if v.Step == size {
		return laned{v.At, v.Block, v.N, v.Apart, v.Apart, 16 * size, v.N, 16 * line, line}
	}
	pieces := v.Step / size
	return laned{v.At, v.Block, pieces, 16 * size, Lanes * 16 * size, 16 * v.Step, v.N, line, pieces * line}
}

// lanesAlong are kernels for vectors whose elements lie side by side, for one and two of A and as many of B; some have
// none for two of both: then those for other vectors take them if there are such, and else one of A at a time.
type lanesAlong [2][2]func(k, lanes, block int, a unsafe.Pointer, apartA int, b unsafe.Pointer, apartB int,
	sums unsafe.Pointer, pitch int)

// lanesAcross are kernels for all vectors.
type lanesAcross func(k, lanes int, a, b laned, sums, mem unsafe.Pointer)

// lanes returns the LanesFunc for elements of type t.
func (along *lanesAlong) lanes(t Type, across lanesAcross) LanesFunc {
	size := t.Size()
	return func(k, lanes int, a, b Vectors, sums, mem unsafe.Pointer) {
		rows := 2
		if a.N > 1 && b.N > 1 && along[1][1] == nil {
			rows = 1
		}
		if a.Step != size || b.Step != size || rows == 1 && across != nil {
			across(k, lanes, lanedOf(&a, size), lanedOf(&b, size), sums, mem)
			return
		}
		for i := 0; i < a.N; i += rows {
			for j := 0; j < b.N; j += 2 {
				along[min(a.N-i, rows)-1][min(b.N-j, 2)-1](k, lanes, a.Block, unsafe.Add(a.At, i*a.Apart), a.Apart,
					unsafe.Add(b.At, j*b.Apart), b.Apart, unsafe.Add(sums, (i*b.N+j)*Lanes*4), b.N*Lanes*4)
			}
		}
	}
}

var (
	lanesPairs = lanesAlong{
		{lanesAlong512Pairsx1x1, lanesAlong512Pairsx1x2}, {lanesAlong512Pairsx2x1, lanesAlong512Pairsx2x2},
	}
	lanesTiles = lanesAlong{{lanesAlong512Tilesx1x1, lanesAlong512Tilesx1x2}, {lanesAlong512Tilesx2x1}}
	lanesWords = lanesAlong{
		{lanesAlong512Wordsx1x1, lanesAlong512Wordsx1x2}, {lanesAlong512Wordsx2x1, lanesAlong512Wordsx2x2},
	}
	lanesWords256 = lanesAlong{{lanesAlong256Wordsx1x1, lanesAlong256Wordsx1x2}, {lanesAlong256Wordsx2x1}}
	lanesBF16     = lanesAlong{{lanesAlong256BF16x1x1, lanesAlong256BF16x1x2}, {lanesAlong256BF16x2x1}}
	lanesF16      = lanesAlong{{lanesAlong256F16x1x1, lanesAlong256F16x1x2}, {lanesAlong256F16x2x1}}
)
