package asm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// TestHalf compares the kernels for half the columns with Ref: the left half of every tile, and, of the kernels that can do
// without it, that the right half stays as it is.
func TestHalf(t *testing.T) {
	forLoops(t, func(t *testing.T, kern *Kernel) {
		const maxM, maxK = 4, 96
		can, half := assembled && slices.Contains(streaming, kern.Name), kern.Half()
		if want := map[string]int{"avx512bf16": 16, "avx512": 16, "avx2": 16}[kern.Name]; can && half != want {
			t.Errorf("the half is %d columns, want %d", half, want)
		}
		row := (kern.NR + 16) * 4
		a, b := newGuarded(t, maxM*kern.PanelA(maxK)), newGuarded(t, kern.PanelB(maxK))
		src, dst, want := newGuarded(t, maxM*kern.MR*row), newGuarded(t, maxM*kern.MR*row), newGuarded(t, maxM*kern.MR*row)
		r := rand.New(rand.NewPCG(5, 5))
		fill := func(p unsafe.Pointer, bytes, i int) unsafe.Pointer {
			for j := range bytes / 4 {
				*(*uint32)(unsafe.Add(p, j*4)) = operands[i%len(operands)].word(r, kern.KPack)
			}
			return p
		}
		check := func(t *testing.T, what string, m, ldd int, got, want unsafe.Pointer) {
			t.Helper()
			for i := range m * kern.MR {
				for j := range kern.NR {
					at := i*ldd + j*4
					x, y := *(*float32)(unsafe.Add(got, at)), *(*float32)(unsafe.Add(want, at))
					if j < half && !sameBits(x, y) {
						t.Fatalf("%s: element (%d, %d) is %v, want %v", what, i, j, x, y)
					}
					if j >= half && can && math.Float32bits(x) != canaryHalf {
						t.Fatalf("%s: element (%d, %d) was written", what, i, j)
					}
				}
			}
		}
		for i := range 800 {
			k, m := r.IntN(maxK+1)/max(1, kern.step)*max(1, kern.step), 1+r.IntN(maxM)
			ldd := kern.NR*4 + []int{0, 4, 64}[r.IntN(3)]
			span := (m*kern.MR-1)*ldd + kern.NR*4
			pa, pb := fill(a.last(m*kern.PanelA(k)), m*kern.PanelA(k), i), fill(b.last(kern.PanelB(k)), kern.PanelB(k), i)
			var from unsafe.Pointer
			lds := signed(kern.NR*4, i/2%5)
			if i%2 == 0 {
				from = fill(src.last(m*kern.MR*kern.NR*4), m*kern.MR*kern.NR*4, i)
			}
			to, ref := dst.last(span), want.last(span)
			for j := range span / 4 {
				*(*uint32)(unsafe.Add(to, j*4)) = canaryHalf
			}
			what := fmt.Sprintf("k=%d m=%d ldd=%d source=%v", k, m, ldd, from != nil)
			kern.MulHalf(k, m, pa, pb, from, lds, to, ldd, nil)
			kern.Ref(k, m, pa, pb, from, lds, ref, ldd)
			check(t, what, m, ldd, to, ref)
		}
	})
}

const canaryHalf = 0x7fabcdef
