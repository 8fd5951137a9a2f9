//go:build amd64 && !purego

package asm

import "unsafe"

// A laned is an operand of dot products as the assembly reads it: a step is 16 words of every vector, in pieces of as
// many elements.
type laned struct {
	at              unsafe.Pointer
	block           int // bytes from one block to the next
	pieces, apart   int // pieces of a step, and bytes from one to the next
	later           int // bytes from what is brought closer with a piece to the same of the next one
	next            int // bytes from the first piece to that of the next step
	n               int // vectors
	vector, element int // bytes from a vector, and from an element, to the next where blocks lie side by side
}

// lanedOf returns the operand, whose elements take size bytes, and words kpack of them.
func lanedOf(v *Vectors, size, kpack int) laned {
	line := Lanes * max(4, size) // bytes of an element of all blocks
	piece := 16 * kpack
	if v.Step == size {
		return laned{v.At, v.Block, v.N, v.Apart, v.Apart, piece * size, v.N, piece * line, line}
	}
	pieces := v.Step / size
	return laned{v.At, v.Block, pieces, piece * size, Lanes * piece * size, piece * v.Step, v.N, line, pieces * line}
}

// lanesAlong are kernels for vectors whose elements lie side by side, for one and two of A and as many of B; some have
// none for two of both.
type lanesAlong [2][2]func(k, lanes, block int, a unsafe.Pointer, apartA int, b unsafe.Pointer, apartB int,
	sums unsafe.Pointer, pitch int)

// lanesAcross are kernels for all vectors.
type lanesAcross func(k, lanes int, a, b laned, sums, mem unsafe.Pointer)

// lanes returns the LanesFunc for elements of type t, of which a word has kpack.
func (along *lanesAlong) lanes(t Type, kpack int, across lanesAcross) LanesFunc {
	size := t.Size()
	all := Lanes * wordOf(t) // bytes of the sums of two vectors
	return func(k, lanes int, a, b Vectors, sums, mem unsafe.Pointer) {
		if a.Step != size || b.Step != size || along[min(a.N, 2)-1][min(b.N, 2)-1] == nil {
			across(k, lanes, lanedOf(&a, size, kpack), lanedOf(&b, size, kpack), sums, mem)
			return
		}
		for i := 0; i < a.N; i += 2 {
			for j := 0; j < b.N; j += 2 {
				along[min(a.N-i, 2)-1][min(b.N-j, 2)-1](k, lanes, a.Block, unsafe.Add(a.At, i*a.Apart), a.Apart,
					unsafe.Add(b.At, j*b.Apart), b.Apart, unsafe.Add(sums, (i*b.N+j)*all), b.N*all)
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
	lanesDoubles  = lanesAlong{
		{lanesAlong512Doublesx1x1, lanesAlong512Doublesx1x2}, {lanesAlong512Doublesx2x1, lanesAlong512Doublesx2x2},
	}
	lanesDoubles256 = lanesAlong{{lanesAlong256Doublesx1x1, lanesAlong256Doublesx1x2}, {lanesAlong256Doublesx2x1}}
	lanesF16        = lanesAlong{{lanesAlong256F16x1x1, lanesAlong256F16x1x2}, {lanesAlong256F16x2x1}}
)
