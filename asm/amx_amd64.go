//go:build amd64 && !purego

package asm

import "unsafe"

// stripAMX is the strip kernel for all that it may store.
func stripAMX(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, to Store) {
	switch to {
	case StorePast:
		mulPastAMX(k, m, a, b, src, lds, dst, ldd)
	case StoreBF16:
		mulRoundAMX(k, m, a, b, src, lds, dst, ldd)
	case StoreBF16 | StorePast:
		mulRoundPastAMX(k, m, a, b, src, lds, dst, ldd)
	default:
		mulAMX(k, m, a, b, src, lds, dst, ldd)
	}
}

// stripRowsAMX is stripAMX for A in rows.
func stripRowsAMX(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, lda int, to Store) {
	switch to {
	case StorePast:
		rowsPastAMX(k, m, a, b, src, lds, dst, ldd, lda)
	case StoreBF16:
		rowsRoundAMX(k, m, a, b, src, lds, dst, ldd, lda)
	case StoreBF16 | StorePast:
		rowsRoundPastAMX(k, m, a, b, src, lds, dst, ldd, lda)
	default:
		rowsAMX(k, m, a, b, src, lds, dst, ldd, lda)
	}
}

// packers512TilesA returns the packers into panels of A, by orientation.
func packers512TilesA() (slots [2]PackFunc) {
	pack := func(
		one func(dst, src unsafe.Pointer, stride, rows, k int), chunk, across, along int,
		dst, src unsafe.Pointer, stride, r, k int,
	) {
		words := amxWords(k)
		for k0 := 0; k0 < k; k0 += chunk {
			for i := 0; i < r; i += amxMR {
				one(unsafe.Add(dst, i*words*4+k0*amxMR*2), unsafe.Add(src, i*across+k0*along),
					stride, min(r-i, amxMR), min(k-k0, chunk))
			}
		}
	}
	slots[packSlot(true)] = func(dst, src unsafe.Pointer, stride, r, k int) {
		pack(packAlong512Tiles, packChunk, stride, 2, dst, src, stride, r, k)
	}
	slots[packSlot(false)] = func(dst, src unsafe.Pointer, stride, r, k int) {
		pack(packAcross512Tiles, acrossChunk, 2, stride, dst, src, stride, r, k)
	}
	return slots
}

// packers512TilesB returns the packers into panels of B, by orientation: those of VDPBF16PS, but for the padding of K.
func packers512TilesB() (slots [2]PackFunc) {
	slots[packSlot(true)] = func(dst, src unsafe.Pointer, stride, r, k int) {
		for i := 0; i < r; i += amxNR {
			for k0 := 0; k0 < k; k0 += packChunk {
				packAlong512Pairsx32(unsafe.Add(dst, i*amxWords(k)*4+k0/2*amxNR*4), unsafe.Add(src, i*stride+k0*2),
					stride, min(r-i, amxNR), min(k-k0, packChunk))
			}
		}
		padTilesB(dst, r, k)
	}
	slots[packSlot(false)] = func(dst, src unsafe.Pointer, stride, r, k int) {
		panel, even := amxWords(k)*amxNR*4, k&^1
		at := 0
		for r-at >= 4*amxNR {
			wide, pack := 4*amxNR, packAcross512Pairsx32x4
			if r-at >= 8*amxNR {
				wide, pack = 8*amxNR, packAcross512Pairsx32x8
			}
			to, from := unsafe.Add(dst, at/amxNR*panel), unsafe.Add(src, at*2)
			for k0 := 0; k0 < even; k0 += packChunk {
				pack(unsafe.Add(to, k0/2*amxNR*4), unsafe.Add(from, k0*stride), stride, min(even-k0, packChunk), panel)
			}
			for i := at; even < k && i < at+wide; i += amxNR {
				packAcross512Pairsx32(unsafe.Add(dst, i/amxNR*panel+even/2*amxNR*4), unsafe.Add(src, i*2+even*stride),
					stride, amxNR, 1, 0)
			}
			at += wide
		}
		for k0 := 0; k0 < k; k0 += acrossChunk {
			for i := at; i < r; i += amxNR {
				packAcross512Pairsx32(unsafe.Add(dst, i/amxNR*panel+k0/2*amxNR*4), unsafe.Add(src, i*2+k0*stride),
					stride, min(r-i, amxNR), min(k-k0, acrossChunk), 0)
			}
		}
		padTilesB(dst, r, k)
	}
	return slots
}
