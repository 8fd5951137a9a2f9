package asm

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// TestStripPast compares what is stored past the caches with what is not, for A in panels and in rows: dst on lines
// of the cache and elsewhere, at the end of its memory, with gaps between the rows that must stay as they are.
func TestStripPast(t *testing.T) {
	forKernels(t, func(t *testing.T, kern *Kernel) {
		const maxM, maxK, gap = 4, 70, 2 * PastLine
		row := kern.NR*kern.Word + gap
		a, b := newGuarded(t, maxM*kern.PanelA(96)), newGuarded(t, kern.PanelB(96))
		src, dst, want := newGuarded(t, maxM*kern.MR*row), newGuarded(t, maxM*kern.MR*row+PastLine),
			newGuarded(t, maxM*kern.MR*row+PastLine)
		r := rand.New(rand.NewPCG(3, 3))
		words := func(g guarded) []uint32 {
			return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(g.mem))), len(g.mem)/4)
		}
		turns := 1500
		if testing.Short() {
			turns = 150
		}
		for i := range turns {
			k, m := r.IntN(maxK)/max(1, kern.step)*max(1, kern.step), 1+r.IntN(maxM)
			ldd := kern.NR*kern.Word + []int{0, PastLine, 8, 56, gap}[r.IntN(5)]
			off := []int{0, 0, 4, 32}[r.IntN(4)]
			for _, g := range []guarded{a, b, src, dst} {
				for j := i % 7; j < len(g.mem)/4; j += 7 {
					words(g)[j] = operands[i%len(operands)].word(r, kern.KPack)
				}
			}
			copy(words(want), words(dst))
			spanC := (m*kern.MR-1)*ldd + kern.NR*kern.Word
			at := func(g guarded) unsafe.Pointer {
				p := g.last(spanC + off)
				return unsafe.Add(p, -int(uintptr(p)%PastLine)+off%PastLine)
			}
			pa, pb := a.last(m*kern.PanelA(k)), b.last(kern.PanelB(k))
			var from unsafe.Pointer
			lds := signed(kern.NR*kern.Word, i/2%5)
			if i%2 == 0 {
				from = src.last(m * kern.MR * kern.NR * kern.Word)
			}
			kern.Strip(k, m, pa, pb, from, lds, at(dst), ldd, 0, StorePast)
			kern.Mul(k, m, pa, pb, from, lds, at(want), ldd)
			if !slices.Equal(words(dst), words(want)) {
				t.Fatalf("k=%d m=%d ldd=%d offset=%d source=%v: not what Mul makes", k, m, ldd, off, from != nil)
			}
			if !kern.InRows(kern.wordType()) {
				continue
			}
			clear(words(dst))
			clear(words(want))
			lda, span := k*kern.Word+[]int{0, 2, 64, 100}[r.IntN(4)], 0
			if k > 0 {
				span = (m*kern.MR-1)*lda + k*kern.Word
			}
			pa = a.last(span)
			kern.Strip(k, m, pa, pb, from, lds, at(dst), ldd, lda, StorePast)
			kern.Strip(k, m, pa, pb, from, lds, at(want), ldd, lda, 0)
			if !slices.Equal(words(dst), words(want)) {
				t.Fatalf("k=%d m=%d lda=%d ldd=%d source=%v: not what is made of rows without", k, m, lda, ldd,
					from != nil)
			}
		}
	})
}
