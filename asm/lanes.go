package asm

import (
	"math"
	"unsafe"
)

// Lanes is how many blocks of K a LanesFunc sums side by side.
const Lanes = 16

// Vectors are an operand of dot products, rows of A or columns of B: element k of block l of vector i is
// l·Block + i·Apart + k·Step bytes behind At. Step or Apart is the size of an element. If the Steps of A and B both
// are, their Blocks are equal.
type Vectors struct {
	At                 unsafe.Pointer
	N                  int // vectors
	Apart, Step, Block int // bytes from a vector, an element and a block to the next
}

// A LanesFunc goes on with the sums of blocks of K of dot products, a lane for each: for each vector i of a and j of b,
// k words w and every lane l
//
//	sums[i][j][l] += a[block l][vector i][w] · b[block l][vector j][w]
//
// or, of tiles, which k is a whole number of, what they add. Of the Lanes blocks the first lanes ones, 1 or more,
// exist; the other sums are of no use. It reads all of every 16 words of which it needs some, and brings as many blocks
// closer that follow, wherever memory ends. mem is room for 1 KiB, of pairs and of float64 for 2, for each vector, or
// for each element in Step if that is more than one.
type LanesFunc func(k, lanes int, a, b Vectors, sums, mem unsafe.Pointer)

// Lanes returns the kernel's LanesFunc for operands of type t, or nil if it has none, as Hopper's arithmetic has none.
// The bits of a sum are those of [Kernel.Mul].
func (k *Kernel) Lanes(t Type) LanesFunc {
	if t >= numTypes {
		return nil
	}
	return k.lanes[t]
}

// A chainFunc goes on with a sum by the products of as many words of a and of b.
type chainFunc[F float, W uint32 | float64] func(sum F, a, b []W) F

// lanesGeneric returns the twin of the LanesFunc for operands of type t of a kernel whose words hold kpack elements.
func lanesGeneric(t Type, kpack int, chain chainFunc[float32, uint32]) LanesFunc {
	return lanesChained(chain, func(v *Vectors, l, i, word int, to []uint32) { v.words(t, kpack, l, i, word, to) })
}

// lanesGeneric64 is lanesGeneric for float64.
func lanesGeneric64(chain chainFunc[float64, float64]) LanesFunc {
	return lanesChained(chain, (*Vectors).doubles)
}

// lanesChained returns the twin, with a function that sets to to the words from one on of block l of vector i.
func lanesChained[F float, W uint32 | float64](
	chain chainFunc[F, W], words func(v *Vectors, l, i, word int, to []W),
) LanesFunc {
	return func(k, lanes int, a, b Vectors, sums, mem unsafe.Pointer) {
		const most = 4 * amxStep // words at a time
		to := unsafe.Slice((*F)(sums), a.N*b.N*Lanes)
		var wordsA, wordsB [most]W
		for w := 0; w < k; w += most {
			n := min(k-w, most)
			for l := range lanes {
				for i := range a.N {
					words(&a, l, i, w, wordsA[:n])
					for j := range b.N {
						words(&b, l, j, w, wordsB[:n])
						sum := &to[(i*b.N+j)*Lanes+l]
						*sum = chain(*sum, wordsA[:n], wordsB[:n])
					}
				}
			}
		}
	}
}

// words sets to to the words from the given one on of block l of vector i.
func (v *Vectors) words(t Type, kpack, l, i, word int, to []uint32) {
	at := unsafe.Add(v.At, l*v.Block+i*v.Apart+word*kpack*v.Step)
	if v.Step == t.Size() {
		packRow(t, kpack, 1, to, at, len(to)*kpack)
		return
	}
	for w := range to {
		of := unsafe.Add(at, w*kpack*v.Step)
		switch {
		case t == F32:
			to[w] = *(*uint32)(of)
		case kpack == 2:
			to[w] = uint32(*(*uint16)(of)) | uint32(*(*uint16)(unsafe.Add(of, v.Step)))<<16
		case t == BF16:
			to[w] = uint32(*(*uint16)(of)) << 16
		default:
			to[w] = widenF16(*(*uint16)(of))
		}
	}
}

// doubles sets to to the float64s from the given one on of block l of vector i.
func (v *Vectors) doubles(l, i, word int, to []float64) {
	at := unsafe.Add(v.At, l*v.Block+i*v.Apart+word*v.Step)
	for w := range to {
		to[w] = *(*float64)(unsafe.Add(at, w*v.Step))
	}
}

// lanesGo are the twins for all types of a kernel of float32.
func lanesGo(kpack int, chain chainFunc[float32, uint32], types ...Type) (f [numTypes]LanesFunc) {
	for _, t := range types {
		f[t] = lanesGeneric(t, kpack, chain)
	}
	return f
}

// chainFMA sums as mulFMA does, chainGo as mulGo, chainBF16 as mulDotBF16 and chainTiles as mulTiles; chainFMA64 and
// chainGo64 as mulFMA64 and mulGo of float64.
func chainFMA(sum float32, a, b []uint32) float32 {
	for w, x := range a {
		sum = fma32(math.Float32frombits(x), math.Float32frombits(b[w]), sum)
	}
	return sum
}

func chainGo(sum float32, a, b []uint32) float32 {
	for w, x := range a {
		sum += float32(math.Float32frombits(x) * math.Float32frombits(b[w]))
	}
	return sum
}

func chainBF16(sum float32, a, b []uint32) float32 {
	for w, x := range a {
		sum = dotBF16(sum, x, b[w])
	}
	return sum
}

func chainTiles(sum float32, a, b []uint32) float32 {
	for w := 0; w < len(a); w += amxStep {
		sum = dotTile(sum, (*[amxStep]uint32)(a[w:]), (*[amxStep]uint32)(b[w:]))
	}
	return sum
}

func chainFMA64(sum float64, a, b []float64) float64 {
	for w, x := range a {
		sum = math.FMA(x, b[w], sum)
	}
	return sum
}

func chainGo64(sum float64, a, b []float64) float64 {
	for w, x := range a {
		sum += float64(x * b[w])
	}
	return sum
}
