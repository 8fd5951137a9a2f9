//go:build amd64 && !purego

package asm

import "unsafe"

// A table8 is what the assembly looks up: the upper bytes of the bf16 of magnitudes, and then the lower ones.
type table8 [2][128]uint8

var tables8 = func() (t [2]table8) {
	for i := range t {
		for u, w := range wide8[i][:128] {
			t[i][0][u], t[i][1][u] = uint8(w>>8), uint8(w)
		}
	}
	return t
}()

// widenMost bounds the elements of one call in assembly.
const widenMost = 1 << 16

// widenVectors is widenRows, if it can.
func widenVectors(t Type, dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int) bool {
	each := max(1, widenMost/max(1, n))
	switch whole := n &^ 15; {
	case hasVBMI && n > 0:
		for i := 0; i < rows; i += each {
			widen512(unsafe.Add(dst, i*ldd), ldd, unsafe.Add(src, i*lds), lds, min(each, rows-i), n, &tables8[t-E4M3])
		}
	case !hasAVX2 || whole == 0:
		return false
	default:
		widen := widen256E4M3
		if t == E5M2 {
			widen = widen256E5M2
		}
		for i := 0; i < rows; i += each {
			widen(unsafe.Add(dst, i*ldd), ldd, unsafe.Add(src, i*lds), lds, min(each, rows-i), whole)
		}
		widenGeneric(t, unsafe.Add(dst, 2*whole), ldd, unsafe.Add(src, whole), lds, rows, n-whole)
	}
	return true
}

// A packAcross8 packs n columns, 1 to 64, into one panel of 32 or two that lie panel bytes apart.
type packAcross8 func(dst, src unsafe.Pointer, stride, n, k, panel int, tables *table8)

// A kernel8 is what a native kernel has for fp8 with AVX512-VBMI.
type kernel8 struct {
	kpack  int
	bf16   [2]PackFunc // of B, by orientation
	across packAcross8
	along  func(c *streamCall)
	stream *streamKernel
}

var (
	pairs8 = kernel8{2, packB512Pairs, packAcross512Pairs8x64, packAlong512Pairs8x16, &streamPairs8}
	words8 = kernel8{1, packB512BF16, packAcross512Words8x64, packAlong512Words8x16, &streamWords8}
)

// packB returns the packers of B of type t, by orientation.
func (f *kernel8) packB(t Type) (slots [2]PackFunc) {
	if hasVBMI {
		slots[packSlot(false)] = f.copying(&tables8[t-E4M3])
		slots[packSlot(true)] = f.transposing(t)
	}
	return slots
}

// streams returns the functions for few rows of A by a B of type t, see canStream.
func (f *kernel8) streams(t Type) streamFuncs {
	s := *f.stream
	s.table, s.pack = &tables8[t-E4M3], f.transposing(t)
	return s.roles()
}

// copying returns the packer of rows of K.
func (f *kernel8) copying(tables *table8) PackFunc {
	const width, columns = 32, 64
	return func(dst, src unsafe.Pointer, stride, r, k int) {
		panel := (k + f.kpack - 1) / f.kpack * width * 4
		for k0 := 0; k0 < k; k0 += acrossChunk {
			for i := 0; i < r; i += columns {
				f.across(unsafe.Add(dst, i/width*panel+k0/f.kpack*width*4), unsafe.Add(src, k0*stride+i), stride,
					min(r-i, columns), min(k-k0, acrossChunk), panel, tables)
			}
		}
	}
}

// transposing returns the packer of rows along K: of whole panels and blocks of K, and otherwise by way of bf16.
func (f *kernel8) transposing(t Type) PackFunc {
	const width, half, block = 32, 16, 64
	tables := &tables8[t-E4M3]
	rest := packing8(&Kernel{KPack: f.kpack}, t, width, true, f.bf16[packSlot(true)])
	return func(dst, src unsafe.Pointer, stride, r, k int) {
		panel := (k + f.kpack - 1) / f.kpack * width * 4
		c := streamCalls.Get()
		c.table = tables
		deep := k &^ (block - 1)
		for i := 0; i < r; i += width {
			to, from := unsafe.Add(dst, i/width*panel), unsafe.Add(src, i*stride)
			if r-i < width || deep == 0 {
				rest(to, from, stride, min(r-i, width), k)
				continue
			}
			for k0 := 0; k0 < deep; k0 += packChunk {
				for j := 0; j < width; j += half {
					slot := &c.slots[0]
					for row := range half {
						slot.rows[row] = unsafe.Add(from, (j+row)*stride+k0)
					}
					slot.a, c.k = unsafe.Add(to, k0/f.kpack*width*4+j*4), min(deep-k0, packChunk)/block
					f.along(c)
				}
			}
			if deep < k {
				rest(unsafe.Add(to, deep/f.kpack*width*4), unsafe.Add(from, deep), stride, width, k-deep)
			}
		}
		c.release()
	}
}
