package asm

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// TestTranspose holds Transpose to its definition, at both ends of the memory of both operands.
func TestTranspose(t *testing.T) {
	const most, gap = 70, 36
	src, dst := newGuarded(t, TransposeWidth*(most*4+gap)), newGuarded(t, most*TransposeWidth*4)
	want := make([]byte, most*TransposeWidth*4)
	r := rand.New(rand.NewPCG(5, 8))
	for i := range src.mem {
		src.mem[i] = byte(r.Uint32())
	}
	for rows := range TransposeWidth + 1 {
		for n := range most + 1 {
			stride, size := n*4+[]int{0, 4, gap}[r.IntN(3)], n*TransposeWidth*4
			span := max(0, (rows-1)*stride+n*4)
			for _, atEnd := range []bool{false, true} {
				from, to := src.first(span), dst.first(size)
				if atEnd {
					from, to = src.last(span), dst.last(size)
				}
				for i := range dst.mem {
					dst.mem[i] = 0xa5
				}
				Transpose(to, from, stride, rows, n)
				got := unsafe.Slice((*byte)(to), size)
				if rows == 0 || n == 0 {
					continue
				}
				clear(want)
				for i := range rows {
					for j := range n {
						copy(want[(j*TransposeWidth+i)*4:][:4],
							unsafe.Slice((*byte)(unsafe.Add(from, i*stride+j*4)), 4))
					}
				}
				if !bytes.Equal(got, want[:size]) {
					t.Fatalf("%d rows of %d, %d bytes apart, at the end %v: not the transpose", rows, n, stride, atEnd)
				}
				if beside := len(dst.mem) - size; bytes.Count(dst.mem, []byte{0xa5}) < beside {
					t.Fatalf("%d rows of %d: wrote beside the transpose", rows, n)
				}
			}
		}
	}
}
