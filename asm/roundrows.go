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
	if !roundVectors(t, dst, ldd, src, lds, rows, n, past) {
		roundRowsGeneric(t, dst, ldd, src, lds, rows, n)
	}
}

// roundRowsGeneric is the twin of roundVectors.
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
