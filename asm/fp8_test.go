package asm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"example.com/leafhopper/fp8"
)

// TestWiden8 checks that every fp8 number becomes the bf16 of its value.
func TestWiden8(t *testing.T) {
	for u := range 256 {
		for i, want := range []float32{fp8.E4M3(u).Float32(), fp8.E5M2(u).Float32()} {
			got := math.Float32frombits(uint32(wide8[i][u]) << 16)
			if math.Float32bits(got) != math.Float32bits(want) {
				t.Errorf("%v %#02x is %v as bf16, want %v", E4M3+Type(i), u, got, want)
			}
		}
	}
}

// TestWidenRows compares widenRows with its twin: all numbers, rows of all lengths and pitches, at the end of their
// memory.
func TestWidenRows(t *testing.T) {
	defer func(v bool) { setVBMI(v) }(setVBMI(true))
	const maxRows, maxN = 4, 200
	src, dst, want := newGuarded(t, maxRows*(maxN+9)), newGuarded(t, 2*maxRows*(maxN+9)),
		newGuarded(t, 2*maxRows*(maxN+9))
	for _, vbmi := range []bool{true, false} {
		setVBMI(vbmi)
		for _, typ := range []Type{E4M3, E5M2} {
			t.Run(fmt.Sprint(typ, "/vbmi=", vbmi), func(t *testing.T) {
				r := rand.New(rand.NewPCG(41, uint64(typ)))
				next := 0
				for n := 1; n <= maxN; n++ {
					rows, lds, ldd := 1+r.IntN(maxRows), n+r.IntN(9), 2*(n+r.IntN(9))
					from := src.last((rows-1)*lds + n)
					for i := range unsafe.Slice((*uint8)(from), (rows-1)*lds+n) {
						*(*uint8)(unsafe.Add(from, i)) = uint8(next)
						next++
					}
					size := (rows-1)*ldd + 2*n
					to, model := dst.last(size), want.last(size)
					got, wanted := unsafe.Slice((*uint8)(to), size), unsafe.Slice((*uint8)(model), size)
					for i := range got {
						got[i], wanted[i] = 0xaa, 0xaa
					}
					widenRows(typ, to, ldd, from, lds, rows, n)
					widenGeneric(typ, model, ldd, from, lds, rows, n)
					for i := range got {
						if got[i] != wanted[i] {
							t.Fatalf("%d rows of %d, %d and %d bytes apart: byte %d is %#02x, want %#02x", rows, n, lds,
								ldd, i, got[i], wanted[i])
						}
					}
				}
			})
		}
	}
}
