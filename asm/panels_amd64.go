//go:build amd64 && !purego

package asm

import "unsafe"

// packChunk bounds the elements of K that one call of an assembly packer takes. It is a multiple of every block of K, so
// that the panel continues where the call before left it.
const packChunk = 4096

// straightChunk is the number of source rows over which the straight packers go from panel to panel. Each row lies on a
// page of its own and what one panel prefetches there the next one uses, so the rows have to fit the first-level TLB and
// cache. Packing a 32 MB matrix rose from 23 to 49 GB/s (read and written) with it and the prefetches.
const straightChunk = 128

// assemblePackers gives k the packers in assembly that fit its panels.
func assemblePackers(k *Kernel) {
	switch k.Name {
	case "avx512bf16":
		k.packA[BF16] = packers512(BF16, 2, 8, packT8Pairs, packS8Pairs)
		k.packB[BF16] = packers512(BF16, 2, 32, packT32Pairs, packS32Pairs)
	case "avx512":
		k.packA[BF16] = packers512(BF16, 1, 8, packT8BF16, packS8BF16)
		k.packB[BF16] = packers512(BF16, 1, 32, packT32BF16, packS32BF16)
		k.packA[F16] = packers512(F16, 1, 8, packT8F16, packS8F16)
		k.packB[F16] = packers512(F16, 1, 32, packT32F16, packS32F16)
		k.packA[F32] = packers512(F32, 1, 8, packT8Words, packS8Words)
		k.packB[F32] = packers512(F32, 1, 32, packT32Words, packS32Words)
	case "avx2":
		k.packA[BF16] = packers256x4(BF16, packT4BF16, packS4BF16)
		k.packB[BF16] = packers256x24(BF16, packT24BF16, packS24BF16)
		k.packA[F16] = packers256x4(F16, packT4F16, packS4F16)
		k.packB[F16] = packers256x24(F16, packT24F16, packS24F16)
		k.packA[F32] = packers256x4(F32, packT4Words, packS4Words)
		k.packB[F32] = packers256x24(F32, packT24Words, packS24Words)
	}
}

// packers512 returns the packers into panels of width 8 or 32, by orientation.
func packers512(t Type, kpack, width int, transposed packT512, straight packS512) (slots [2]PackFunc) {
	size := t.Size()
	slots[packSlot(true)] = func(dst, src unsafe.Pointer, stride, r, k int) {
		panel := (k + kpack - 1) / kpack * width * 4
		for i := 0; i < r; i += width {
			for k0 := 0; k0 < k; k0 += packChunk {
				transposed(unsafe.Add(dst, i/width*panel+k0/kpack*width*4), unsafe.Add(src, i*stride+k0*size), stride,
					min(r-i, width), min(k-k0, packChunk))
			}
		}
	}
	slots[packSlot(false)] = func(dst, src unsafe.Pointer, stride, r, k int) {
		panel := (k + kpack - 1) / kpack * width * 4
		for k0 := 0; k0 < k; k0 += straightChunk {
			for i := 0; i < r; i += 32 {
				straight(unsafe.Add(dst, i/width*panel+k0/kpack*width*4), unsafe.Add(src, i*size+k0*stride), stride,
					min(r-i, 32), min(k-k0, straightChunk), panel)
			}
		}
	}
	return slots
}

// packers256x24 returns the packers into panels of 24.
func packers256x24(t Type, transposed, straight pack256) (slots [2]PackFunc) {
	const width = 24
	size := t.Size()
	slots[packSlot(true)] = transposing256(t, width, transposed)
	slots[packSlot(false)] = func(dst, src unsafe.Pointer, stride, r, k int) {
		whole := r - r%width
		for k0 := 0; k0 < k; k0 += straightChunk {
			for i := 0; i < whole; i += width {
				straight(unsafe.Add(dst, i*k*4+k0*width*4), unsafe.Add(src, i*size+k0*stride), stride, min(k-k0, straightChunk))
			}
		}
		if i := whole; i < r {
			packGeneric(t, 1, width, false, unsafe.Add(dst, i*k*4), unsafe.Add(src, i*size), stride, r-i, k)
		}
	}
	return slots
}

// packers256x4 returns the packers into panels of 4.
func packers256x4(t Type, transposed pack256, straight packS256) (slots [2]PackFunc) {
	const width, group = 4, 16
	size := t.Size()
	slots[packSlot(true)] = transposing256(t, width, transposed)
	slots[packSlot(false)] = func(dst, src unsafe.Pointer, stride, r, k int) {
		whole := r - r%group
		for k0 := 0; k0 < k; k0 += straightChunk {
			for i := 0; i < whole; i += group {
				straight(unsafe.Add(dst, i*k*4+k0*width*4), unsafe.Add(src, i*size+k0*stride), stride, min(k-k0, straightChunk), width*k*4)
			}
		}
		if i := whole; i < r {
			packGeneric(t, 1, width, false, unsafe.Add(dst, i*k*4), unsafe.Add(src, i*size), stride, r-i, k)
		}
	}
	return slots
}

// transposing256 packs whole blocks of whole panels in assembly and the rest in Go: what is left of a panel when its
// first steps of K are packed is a panel too.
func transposing256(t Type, width int, transposed pack256) PackFunc {
	size := t.Size()
	return func(dst, src unsafe.Pointer, stride, r, k int) {
		i, whole := 0, k&^7
		for ; i+width <= r; i += width {
			for k0 := 0; k0 < whole; k0 += packChunk {
				transposed(unsafe.Add(dst, i*k*4+k0*width*4), unsafe.Add(src, i*stride+k0*size), stride, min(whole-k0, packChunk))
			}
			if whole < k {
				packGeneric(t, 1, width, true, unsafe.Add(dst, i*k*4+whole*width*4), unsafe.Add(src, i*stride+whole*size), stride, width, k-whole)
			}
		}
		if i < r {
			packGeneric(t, 1, width, true, unsafe.Add(dst, i*k*4), unsafe.Add(src, i*stride), stride, r-i, k)
		}
	}
}
