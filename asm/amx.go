package asm

import "unsafe"

// AMX multiplies tiles: registers of 16 rows of 64 bytes. TDPBF16PS adds to a tile of C, 16 × 16 float32, the product
// of a tile of A, 16 rows by 32 bf16 of K, and a tile of B, 16 words of K by 16 columns. So a panel of A is a tile
// for each 32 elements of K:
//
//	          ┌─────── 64 bytes ───────┐
//	row 0     │ w0   w1   ...      w15 │   the words of one row lie side by side: 32 elements of K
//	row 1     │ w0   w1   ...      w15 │
//	  ...     ├────────────────────────┤
//	row 15    │                        │
//	          ├────────────────────────┤
//	row 0     │ w16  w17  ...      w31 │   the next 32 elements
//	  ...
//
// A panel of B is what it is for VDPBF16PS, a row of NR words for each word of K. Both are padded with zeros to whole
// tiles.
const (
	amxMR, amxNR = 16, 32
	amxStep      = 16 // words of K in a tile
)

// goTiles are the functions that goamx has in Go alone, where there is no assembly for it.
var goTiles = functions{lanes: lanesGo(2, chainTiles, BF16)}

// stripTiles and stripRowsTiles are the twins of the strip kernels of AMX.
func stripTiles(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, to Store) {
	mul := KernelFunc(mulTiles)
	if to&StoreBF16 != 0 {
		mul = roundTiles.mul
	}
	mul(k, m, a, b, src, lds, dst, ldd)
}

func stripRowsTiles(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, lda int, to Store) {
	rows := rowsFunc(rowsTiles)
	if to&StoreBF16 != 0 {
		rows = roundTiles.rows
	}
	rows(k, m, a, b, src, lds, dst, ldd, lda)
}

var (
	tilesShape = Kernel{MR: amxMR, NR: amxNR, KPack: 2, Sum: F32, Word: 4}
	roundTiles = roundGeneric(&tilesShape, mulTiles, rowsTiles, BF16)
)

// amxWords returns the depth in words of a panel of k elements.
func amxWords(k int) int { return (k + 2*amxStep - 1) / (2 * amxStep) * amxStep }

// packTilesA returns the packer in Go into panels of A.
func packTilesA(kContiguous bool) PackFunc {
	return func(dst, src unsafe.Pointer, stride, r, k int) {
		along, across := 2, stride // bytes between elements of K and between rows
		if !kContiguous {
			along, across = stride, 2
		}
		words := amxWords(k)
		for first := 0; first < r; first += amxMR {
			panel := unsafe.Slice((*uint16)(unsafe.Add(dst, first*words*4)), amxMR*words*2)
			clear(panel)
			for i := range min(r-first, amxMR) {
				for kk := range k {
					panel[(kk/32*amxMR+i)*32+kk%32] = *(*uint16)(unsafe.Add(src, (first+i)*across+kk*along))
				}
			}
		}
	}
}

// packTilesB returns the packer in Go into panels of B.
func packTilesB(kContiguous bool) PackFunc {
	return func(dst, src unsafe.Pointer, stride, r, k int) {
		across := 2
		if kContiguous {
			across = stride
		}
		for first := 0; first < r; first += amxNR {
			packGeneric(BF16, 2, amxNR, kContiguous,
				unsafe.Add(dst, first*amxWords(k)*4), unsafe.Add(src, first*across), stride, min(r-first, amxNR), k)
		}
		padTilesB(dst, r, k)
	}
}

// padTilesB clears the words that whole tiles have beyond k elements of K in the panels of B.
func padTilesB(dst unsafe.Pointer, r, k int) {
	words, made := amxWords(k), (k+1)/2
	if made == words {
		return
	}
	for first := 0; first < r; first += amxNR {
		clear(unsafe.Slice((*uint32)(unsafe.Add(dst, (first*words+made*amxNR)*4)), (words-made)*amxNR))
	}
}

// dotTile returns what TDPBF16PS leaves in one element of C: acc plus the product of a row of A and a column of B.
// The odd and the even elements are summed apart from zero, in the order of K; then the two sums are added, and then
// acc. Each of these rounds once, to nearest even; subnormal inputs and results become zeros of the same sign (Intel
// SDM, vol. 2, TDPBF16PS).
func dotTile(acc float32, a, b *[amxStep]uint32) float32 {
	var odd, even float32
	for w := range a {
		even = sumFlush(bf16Input(a[w]<<16)*bf16Input(b[w]<<16), even)
		odd = sumFlush(bf16Input(a[w]&0xffff0000)*bf16Input(b[w]&0xffff0000), odd)
	}
	return sumFlush(float64(sumFlush(float64(even), odd)), flushInput(acc))
}

// mulTiles is the twin of the AMX kernel and the kernel called goamx.
func mulTiles(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	const row = amxStep * 4
	in := tilesOfA{panel: k * amxMR * 4, block: amxMR * row, row: row, words: k}
	in.multiply(m, a, b, src, lds, dst, ldd)
}

// rowsTiles is the twin of the AMX kernel that reads A in rows, and that of goamx.
func rowsTiles(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, lda int) {
	in := tilesOfA{panel: amxMR * lda, block: amxStep * 4, row: lda, words: k}
	in.multiply(m, a, b, src, lds, dst, ldd)
}

// tilesOfA is how A lies: the bytes from one panel, block of K and row to the next, and the words of K.
type tilesOfA struct{ panel, block, row, words int }

func (in *tilesOfA) multiply(m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	const mr, nr = amxMR, amxNR
	var acc [mr * nr]float32
	var oddB, evenB [amxStep * nr]float64 // a block of B
	bs := unsafe.Slice((*uint32)(b), nr*in.words)
	for p := range m {
		loadTile(acc[:], tileAt(src, p, mr, lds), lds, mr, nr)
		for kb := 0; kb < in.words; kb += amxStep {
			for i, w := range bs[kb*nr:][:amxStep*nr] {
				oddB[i], evenB[i] = bf16Input(w&0xffff0000), bf16Input(w<<16)
			}
			block := unsafe.Add(a, p*in.panel+kb/amxStep*in.block)
			for i := range mr {
				var odd, even [nr]float32
				for w, x := range (*[amxStep][2]uint16)(unsafe.Add(block, i*in.row)) { // which lie as in A
					xOdd, xEven := bf16Input(uint32(x[1])<<16), bf16Input(uint32(x[0])<<16)
					sumFlushAll(odd[:], xOdd, oddB[w*nr:][:nr])
					sumFlushAll(even[:], xEven, evenB[w*nr:][:nr])
				}
				out := acc[i*nr:][:nr]
				for j := range out {
					out[j] = sumFlush(float64(sumFlush(float64(even[j]), odd[j])), flushInput(out[j]))
				}
			}
		}
		storeTile(tileAt(dst, p, mr, ldd), ldd, acc[:], tileAt(src, p, mr, lds), lds, mr, nr)
	}
}
