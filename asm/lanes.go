package asm

import (
	"math"
	"unsafe"
)

// Lanes is how many blocks of K a LanesFunc sums side by side.
const Lanes = 16

// Vectors are an operand of dot products, rows of A or columns of B: element k of block l of vector i is
// l·Block + i·Apart + k·Step bytes behind At. Step or, if elements are words, Apart is the size of an element. If the
// Steps of A and B both are, their Blocks are equal.
type Vectors struct {
	At                 unsafe.Pointer
	N                  int // vectors
	Apart, Step, Block int
}

// A LanesFunc goes on with the sums of blocks of K of dot products, a lane for each: for each vector i of a and j of b,
// k words w and every lane l
//
//	sums[i][j][l] += a[block l][vector i][w] · b[block l][vector j][w]
//
// or, of tiles, which k is a whole number of, what they add. Of the Lanes blocks the first lanes ones, 1 or more, exist;
// the other sums are of no use. It reads all of every 16 words of which it needs some, and brings as many blocks closer that follow, wherever memory ends. mem is room for
// 1 KiB for each vector, or for each element in Step if that is more than one, and of pairs for twice as much.
type LanesFunc func(k, lanes int, a, b Vectors, sums, mem unsafe.Pointer)

// Lanes returns the kernel's LanesFunc for operands of type t, or nil if it has none, as Hopper's arithmetic has.
// The bits of a sum are those of [Kernel.Mul].
func (k *Kernel) Lanes(t Type) LanesFunc {
	if t >= numTypes {
		return nil
	}
	return k.lanes[t]
}

// lanesGeneric returns the twin of the LanesFunc for operands of type t of a kernel whose words hold kpack elements and
// that goes on with a sum by step words as add does.
func lanesGeneric(t Type, kpack, step int, add func(sum float32, a, b *[amxStep]uint32) float32) LanesFunc {
	return func(k, lanes int, a, b Vectors, sums, mem unsafe.Pointer) {
		to := unsafe.Slice((*float32)(sums), a.N*b.N*Lanes)
		words := func(v *Vectors, l, i, w int) (of [amxStep]uint32) {
			for e := range step * kpack {
				at := unsafe.Add(v.At, l*v.Block+i*v.Apart+(w*kpack+e)*v.Step)
				if kpack == 1 {
					packRow(t, 1, 1, of[:], at, 1)
				} else {
					of[e/2] |= uint32(*(*uint16)(at)) << (e % 2 * 16)
				}
			}
			return of
		}
		for i := range a.N {
			for j := range b.N {
				for l := range lanes {
					sum := &to[(i*b.N+j)*Lanes+l]
					for w := 0; w < k; w += step {
						wordsA, wordsB := words(&a, l, i, w), words(&b, l, j, w)
						*sum = add(*sum, &wordsA, &wordsB)
					}
				}
			}
		}
	}
}

// byWord returns the add of lanesGeneric that goes on by a word.
func byWord(add func(sum float32, a, b uint32) float32) func(sum float32, a, b *[amxStep]uint32) float32 {
	return func(sum float32, a, b *[amxStep]uint32) float32 { return add(sum, a[0], b[0]) }
}

// lanesGo are the twins for all types of a kernel.
func lanesGo(
	kpack, step int, add func(sum float32, a, b *[amxStep]uint32) float32, types ...Type,
) (f [numTypes]LanesFunc) {
	for _, t := range types {
		f[t] = lanesGeneric(t, kpack, step, add)
	}
	return f
}

// addFMA is one step of mulFMA, addGo of mulGo, for the bits of float32s.
func addFMA(sum float32, a, b uint32) float32 {
	return fma32(math.Float32frombits(a), math.Float32frombits(b), sum)
}

func addGo(sum float32, a, b uint32) float32 {
	return sum + float32(math.Float32frombits(a)*math.Float32frombits(b))
}
