package asm

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// TestCopyRows compares CopyRows with its twin, between memory that ends, or begins, where a page may not be touched:
// nothing but the rows is written.
func TestCopyRows(t *testing.T) {
	const most, widest = 70, 192
	src, dst := newGuarded(t, most*widest), newGuarded(t, most*widest)
	want := make([]byte, len(dst.mem)+canary) // so that an address may be that of the end
	r := rand.New(rand.NewPCG(71, 1))
	for i := range src.mem {
		src.mem[i] = byte(r.Uint32())
	}
	for i := range 4000 {
		rows, n := r.IntN(most), r.IntN(129)
		if i%2 == 0 {
			n = n / 16 * 16 // the multiples that the assembly takes
		}
		lds, ldd := n+r.IntN(widest-128), n+r.IntN(widest-128)
		for j := range dst.mem {
			dst.mem[j] = 0xa5
		}
		span := func(pitch int) int { return max(0, (rows-1)*pitch+n) }
		from, to := src.first(span(lds)), dst.first(span(ldd))
		if i%3 > 0 {
			from, to = src.last(span(lds)), dst.last(span(ldd))
		}
		copy(want, dst.mem)
		at := int(uintptr(to) - uintptr(unsafe.Pointer(unsafe.SliceData(dst.mem))))
		copyRowsGeneric(unsafe.Add(unsafe.Pointer(unsafe.SliceData(want)), at), ldd, from, lds, rows, n)
		CopyRows(to, ldd, from, lds, rows, n)
		if !bytes.Equal(dst.mem, want[:len(dst.mem)]) {
			t.Fatalf("%d rows of %d bytes, %d apart, to rows %d apart: not what the twin copies", rows, n, lds, ldd)
		}
	}
}
