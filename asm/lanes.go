package asm

import (
	"math"
	"unsafe"
)

// A LanesFunc goes on with NR chains side by side, as blocks of K of the same dot product are: for k steps and every lane
//
//	sum += word of a · word of b
//
// where a step of a or b is NR words, stepA or stepB bytes before the next. [Kernel.PackB] makes such steps of blocks that it takes
// for columns along K, as many as a panel has. k is at least 1.
// It brings closer as many bytes from the addresses nextA and nextB on as it has steps of NR words. It reads nothing of them that a program
// could notice, so they may be anywhere.
type LanesFunc func(k int, a unsafe.Pointer, stepA int, b unsafe.Pointer, stepB int, sums unsafe.Pointer, nextA, nextB uintptr)

// Lanes returns the kernel's LanesFunc for operands of type t, or nil if it has none, as tiles of AMX and Hopper's arithmetic have none.
// The bits of a sum are those of [Kernel.Mul].
func (k *Kernel) Lanes(t Type) LanesFunc {
	if !k.Accepts(t) {
		return nil
	}
	return k.lanes
}

// lanesGeneric returns the twin of the LanesFunc with nr lanes of a kernel that goes on with a sum as add does.
func lanesGeneric(nr int, add func(sum float32, a, b uint32) float32) LanesFunc {
	return func(k int, a unsafe.Pointer, stepA int, b unsafe.Pointer, stepB int, sums unsafe.Pointer, nextA, nextB uintptr) {
		to := unsafe.Slice((*float32)(sums), nr)
		for range k {
			x, y := unsafe.Slice((*uint32)(a), nr), unsafe.Slice((*uint32)(b), nr)
			for l := range to {
				to[l] = add(to[l], x[l], y[l])
			}
			a, b = unsafe.Add(a, stepA), unsafe.Add(b, stepB)
		}
	}
}

// addFMA is one step of mulFMA, addGo of mulGo, for the bits of float32s.
func addFMA(sum float32, a, b uint32) float32 {
	return fma32(math.Float32frombits(a), math.Float32frombits(b), sum)
}

func addGo(sum float32, a, b uint32) float32 {
	return sum + float32(math.Float32frombits(a)*math.Float32frombits(b))
}
