//go:build amd64 && !purego

package asm

import "unsafe"

// What one call of assembly takes, for rows as wide as a tile of C may be: a few microseconds.
const (
	combineMost = 16 // rows
	copyMost    = 64
	roundMost   = 256
)

// combineVectors is [Combine] for whole vectors of columns. It returns how many columns those are.
func combineVectors(
	t Type, dst unsafe.Pointer, ldd int, acc unsafe.Pointer, lda, rows, cols int, alpha, beta float64,
) int {
	whole := cols &^ (avx2Vector*4/t.Size() - 1)
	switch {
	case !hasAVX2 || whole == 0 || rows <= 0:
		return 0
	case alpha == 1 && beta == 1 && t == F64:
		add256Doubles(dst, ldd, acc, lda, rows, whole)
		return whole
	case alpha == 1 && beta == 1:
		add256(dst, ldd, acc, lda, rows, whole)
		return whole
	}
	factors, doubles := [2]float32{float32(alpha), float32(beta)}, [2]float64{alpha, beta}
	for i := 0; i < rows; i += combineMost {
		to, from, some := unsafe.Add(dst, i*ldd), unsafe.Add(acc, i*lda), min(rows-i, combineMost)
		if t == F64 {
			combine256Doubles(to, ldd, from, lda, some, whole, &doubles)
		} else {
			combine256(to, ldd, from, lda, some, whole, &factors)
		}
	}
	return whole
}

// copyVectors is [CopyRows], if it can.
func copyVectors(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int) bool {
	const unit = 16 // bytes
	if !hasAVX2 || n%unit != 0 || n == 0 {
		return false
	}
	for i := 0; i < rows; i += copyMost {
		copy256(unsafe.Add(dst, i*ldd), ldd, unsafe.Add(src, i*lds), lds, min(rows-i, copyMost), n)
	}
	return true
}

// roundVectors is [RoundRows], if it can.
func roundVectors(t Type, dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int, past bool) bool {
	if !hasAVX2 || n == 0 {
		return false
	}
	past = past && (uintptr(dst)|uintptr(ldd)|uintptr(2*n))%PastLine == 0
	for i := 0; i < rows; i += roundMost {
		to, from, some := unsafe.Add(dst, i*ldd), unsafe.Add(src, i*lds), min(rows-i, roundMost)
		switch {
		case t == BF16 && past:
			roundPast256BF16(to, ldd, from, lds, some, n)
		case t == BF16:
			round256BF16(to, ldd, from, lds, some, n)
		case past:
			roundPast256F16(to, ldd, from, lds, some, n)
		default:
			round256F16(to, ldd, from, lds, some, n)
		}
	}
	return true
}

// transposeVectors is [Transpose], if it can: by the packer of panels as wide.
func transposeVectors(t Type, dst, src unsafe.Pointer, stride, rows, n int) bool {
	switch {
	case !hasAVX512:
		return false
	case t == F64:
		packAlong512Doublesx16(dst, src, stride, rows, n)
	default:
		packAlong512Wordsx32(dst, src, stride, rows, n)
	}
	return true
}
