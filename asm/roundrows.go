package asm

import (
	"unsafe"

	"github.com/x448/float16"

	"example.com/leafhopper/bf16"
)

// RoundRows rounds rows of n float32, which lie lds bytes apart, to elements of t, BF16 or F16, in rows ldd bytes
// apart, and brings rows to come closer, as [CopyRows] does. With past, and if the rows of dst are whole lines of the
// cache, they are stored past the caches, and are there when it returns: to wait for that takes a hundred nanoseconds
// and more, so once for many rows.
func RoundRows(t Type, dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int, past bool) {
	if !hasAVX2 || n <= 0 {
		roundRowsGeneric(t, dst, ldd, src, lds, rows, n)
		return
	}
	past = past && (uintptr(dst)|uintptr(ldd)|uintptr(2*n))%PastLine == 0
	for i := 0; i < rows; i += roundRowsMost {
		to, from, some := unsafe.Add(dst, i*ldd), unsafe.Add(src, i*lds), min(rows-i, roundRowsMost)
		if t == BF16 {
			roundRowsBF16(to, ldd, from, lds, some, n, past)
		} else {
			roundRowsF16(to, ldd, from, lds, some, n, past)
		}
	}
	if past {
		fence()
	}
}

// roundRowsMost bounds the rows of one call in assembly, as wide as a tile of C may be: a few microseconds.
const roundRowsMost = 256

// roundRowsGeneric is the twin of roundRowsBF16 and roundRowsF16.
func roundRowsGeneric(t Type, dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int) {
	for i := range rows {
		to, from := unsafe.Add(dst, i*ldd), unsafe.Slice((*float32)(unsafe.Add(src, i*lds)), n)
		if t == BF16 {
			bf16.Encode(unsafe.Slice((*bf16.BF16)(to), n), from)
		} else {
			bf16.EncodeFloat16(unsafe.Slice((*float16.Float16)(to), n), from)
		}
	}
}
