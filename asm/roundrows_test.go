package asm

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// TestRoundRows compares RoundRows with its twin, between memory that ends, or begins, where a page may not be
// touched: nothing but the rows is written.
func TestRoundRows(t *testing.T) {
	const most = 300
	src, dst := newGuarded(t, most*324), newGuarded(t, most*192)
	want := make([]byte, len(dst.mem)+canary) // so that an address may be that of the end
	r := rand.New(rand.NewPCG(72, 1))
	turns := 3000
	if testing.Short() || raceEnabled {
		turns = 300
	}
	for i := range turns {
		word := anyOperands(r)
		words := unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(src.mem))), len(src.mem)/4)
		for j := i % 7; j < len(words); j += 7 {
			words[j] = word(r, 1)
		}
		rows, n := r.IntN(20), r.IntN(66)
		if i%50 == 0 {
			rows = r.IntN(most)
		}
		lds, ldd := 4*(n+r.IntN(16)), n*2+r.IntN(30)
		if i%4 == 0 {
			n, ldd = n/32*32, (ldd+PastLine-1)/PastLine*PastLine
		}
		for j := range dst.mem {
			dst.mem[j] = 0xa5
		}
		spanSrc, spanDst := max(0, (rows-1)*lds+n*4), max(0, (rows-1)*ldd+n*2)
		from, to := src.first(spanSrc), dst.first(spanDst)
		if i%3 > 0 {
			from, to = src.last(spanSrc), dst.last(spanDst)
		}
		typ := []Type{BF16, F16}[i%2]
		copy(want, dst.mem)
		at := int(uintptr(to) - uintptr(unsafe.Pointer(unsafe.SliceData(dst.mem))))
		roundRowsGeneric(typ, unsafe.Add(unsafe.Pointer(unsafe.SliceData(want)), at), ldd, from, lds, rows, n)
		RoundRows(typ, to, ldd, from, lds, rows, n, i%5 < 3)
		if !bytes.Equal(dst.mem, want[:len(dst.mem)]) {
			t.Fatalf("%d rows of %d elements of %v, %d bytes apart, to rows %d apart: not what the twin rounds", rows,
				n, typ, lds, ldd)
		}
	}
}
