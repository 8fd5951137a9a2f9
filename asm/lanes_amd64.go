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

// lanedOf returns the operand whose words take so many bytes, of elements that take size.
func lanedOf(v *Vectors, size, word int) laned {
	const line = Lanes * 4 // a word of all blocks
	if v.Step == size {
		return laned{v.At, v.Block, v.N, v.Apart, v.Apart, 16 * word, v.N, 16 * line, line}
	}
	pieces := v.Step / word
	return laned{v.At, v.Block, pieces, 16 * word, Lanes * 16 * word, 16 * v.Step, v.N, line, pieces * line}
}

// lanesOf returns the LanesFunc in assembly for elements of type t, of which kpack make a word.
func lanesOf(t Type, kpack int, f func(k, lanes int, a laned, b laned, sums, mem unsafe.Pointer)) LanesFunc {
	size := t.Size()
	return func(k, lanes int, a, b Vectors, sums, mem unsafe.Pointer) {
		f(k, lanes, lanedOf(&a, size, size*kpack), lanedOf(&b, size, size*kpack), sums, mem)
	}
}
