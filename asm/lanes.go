package asm

import "unsafe"

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

// AddUp adds to the first of n times size sums of type t, F32 or F64, those of blocks, the others, in order.
func AddUp(t Type, sums unsafe.Pointer, size, n int) {
	if t == F64 {
		addUp[float64](sums, size, n)
	} else {
		addUp[float32](sums, size, n)
	}
}

func addUp[F float](sums unsafe.Pointer, size, n int) {
	of := unsafe.Slice((*F)(sums), n*size)
	for e := range size {
		sum := of[e]
		for i := e + size; i < len(of); i += size {
			sum += of[i]
		}
		of[e] = sum
	}
}

// A chainFunc goes on with a sum by the products of as many words of a and of b.
type chainFunc[F, W any] func(sum F, a, b []W) F

// lanesGeneric returns the twin of the LanesFunc for operands of type t of a kernel whose words hold kpack elements.
func lanesGeneric[F, W any](t Type, kpack int, chain chainFunc[F, W]) LanesFunc {
	return func(k, lanes int, a, b Vectors, sums, mem unsafe.Pointer) {
		const most = 4 * amxStep // words at a time
		to := unsafe.Slice((*F)(sums), a.N*b.N*Lanes)
		var roomA, roomB [most]W
		words := func(v *Vectors, l, i, word, n int, room *[most]W) []W {
			at, side := unsafe.Add(v.At, l*v.Block+i*v.Apart+word*kpack*v.Step), v.Step == t.Size()
			if side && v.Step == wordOf(t) {
				return unsafe.Slice((*W)(at), n)
			}
			packGeneric(t, kpack, 1, side, unsafe.Pointer(room), at, v.Step, 1, n*kpack)
			return room[:n]
		}
		for w := 0; w < k; w += most {
			n := min(k-w, most)
			for l := range lanes {
				for i := range a.N {
					wordsA := words(&a, l, i, w, n, &roomA)
					for j := range b.N {
						sum := &to[(i*b.N+j)*Lanes+l]
						*sum = chain(*sum, wordsA, words(&b, l, j, w, n, &roomB))
					}
				}
			}
		}
	}
}

// lanesGo are the twins for all types of a kernel.
func lanesGo[F, W any](kpack int, chain chainFunc[F, W], types ...Type) (f [numTypes]LanesFunc) {
	for _, t := range types {
		f[t] = lanesGeneric(t, kpack, chain)
	}
	return f
}

// chainGo sums as mulGo does, chainBF16 as mulDotBF16 and chainTiles as mulTiles.
func chainGo[F float](sum F, a, b []F) F {
	for w, x := range a {
		sum += F(x * b[w])
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
