package asm

import (
	"math"
	"unsafe"

	"example.com/leafhopper/fp8"
	"example.com/leafhopper/internal/race"
)

// Native arithmetic multiplies fp8 as the bf16 numbers that it holds exactly: what packs bf16 packs fp8 that was
// widened first, a piece that a cache keeps at a time.

// wide8 maps the fp8 types to the bf16 of each element, which are the upper halves of its float32.
var wide8 = func() (w [2][256]uint16) {
	for u := range 256 {
		w[0][u] = uint16(math.Float32bits(fp8.E4M3(u).Float32()) >> 16)
		w[1][u] = uint16(math.Float32bits(fp8.E5M2(u).Float32()) >> 16)
	}
	return w
}()

// is8 reports whether t is an fp8 type.
func (t Type) is8() bool { return t == E4M3 || t == E5M2 }

// widenRows makes bf16 of rows of n elements of type t, which lie lds bytes apart, in rows ldd bytes apart.
func widenRows(t Type, dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int) {
	if !widenVectors(t, dst, ldd, src, lds, rows, n) {
		widenGeneric(t, dst, ldd, src, lds, rows, n)
	}
}

// widenGeneric is the twin of widenVectors.
func widenGeneric(t Type, dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int) {
	wide := &wide8[t-E4M3]
	for i := range rows {
		to := unsafe.Slice((*uint16)(unsafe.Add(dst, i*ldd)), n)
		for j, u := range unsafe.Slice((*uint8)(unsafe.Add(src, i*lds)), n) {
			to[j] = wide[u]
		}
	}
}

// A piece of B has so many bytes of bf16, and elements of K or, if they lie apart, columns.
const (
	pieceBytes = 16 << 10
	pieceDepth = 256
	pieceCols  = 128
)

var pieces8 race.Pool[[pieceBytes]byte]

// packing8 returns the packer of fp8 of type t into panels of k, of width rows or columns, of which pack makes panels
// of bf16.
func packing8(k *Kernel, t Type, width int, kContiguous bool, pack PackFunc) PackFunc {
	panel := func(n int) int { return k.Words(BF16, n) * width * 4 }
	if kContiguous {
		return func(dst, src unsafe.Pointer, stride, r, n int) {
			mem := pieces8.Get()
			for i := 0; i < r; i += width {
				rows := min(width, r-i)
				for k0 := 0; k0 < n; k0 += pieceDepth {
					deep := min(pieceDepth, n-k0)
					widenRows(t, unsafe.Pointer(mem), 2*deep, unsafe.Add(src, i*stride+k0), stride, rows, deep)
					pack(unsafe.Add(dst, i/width*panel(n)+panel(k0)), unsafe.Pointer(mem), 2*deep, rows, deep)
				}
			}
			pieces8.Put(mem)
		}
	}
	group := max(1, pieceCols/width) * width // columns
	depth := pieceBytes / 2 / group &^ 31
	return func(dst, src unsafe.Pointer, stride, r, n int) {
		mem := pieces8.Get()
		for k0 := 0; k0 < n; k0 += depth {
			deep := min(depth, n-k0)
			for i := 0; i < r; i += group {
				cols := min(group, r-i)
				widenRows(t, unsafe.Pointer(mem), 2*cols, unsafe.Add(src, k0*stride+i), stride, deep, cols)
				for j := 0; j < cols; j += width {
					pack(unsafe.Add(dst, (i+j)/width*panel(n)+panel(k0)),
						unsafe.Add(unsafe.Pointer(mem), 2*j), 2*cols, min(width, cols-j), deep)
				}
			}
		}
		pieces8.Put(mem)
	}
}
