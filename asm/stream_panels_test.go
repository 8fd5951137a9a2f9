package asm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// TestStreamPanels compares the stream kernels for panels with Mul and Ref, bit for bit, with every operand at the
// end of its memory.
func TestStreamPanels(t *testing.T) {
	forKernels(t, func(t *testing.T, kern *Kernel) {
		want := streams(kern)
		for typ := range Type(numTypes) {
			for m := 1; m <= kern.MR && kern.Accepts(typ); m++ {
				if wide := kern.StreamWidth(typ, m); wide < kern.NR || wide%kern.NR != 0 {
					t.Errorf("%v: %d rows by %d columns at a time, want a multiple of %d", typ, m, wide, kern.NR)
				}
			}
			if got := kern.StreamPanels(typ) != nil; got != (want && kern.Accepts(typ) && canStream(typ) &&
				kern.StreamRows(typ, false) > 0) {
				t.Errorf("a kernel for panels of %v: %v", typ, got)
			}
		}
		if !want {
			return
		}
		const maxK, deepK, maxN, wideN = 80, 520, 300, 600
		panels := (wideN + kern.NR - 1) / kern.NR
		a, b := newGuarded(t, kern.PanelA(deepK)), newGuarded(t, panels*(kern.PanelB(deepK)+64))
		dst, wanted := newGuarded(t, kern.MR*(wideN+9)*kern.Word), newGuarded(t, kern.MR*(wideN+9)*kern.Word)
		r := rand.New(rand.NewPCG(7, 7))
		types := slices.DeleteFunc([]Type{BF16, F16, F32, E4M3, E5M2, F64},
			func(typ Type) bool { return kern.StreamPanels(typ) == nil })
		cases := 3000
		if kern.step == amxStep {
			cases /= 5 // of more rows, in Go
		}
		for i := range cases {
			typ := types[i/3%len(types)]
			words, n := 1+r.IntN(maxK), 1+r.IntN(maxN)
			if i%64 == 0 {
				// panels so large and so many that they are multiplied in two calls
				words, n = deepK-r.IntN(deepK-maxK), wideN-r.IntN(wideN-maxN)
			}
			c := panelsCase{kern: kern, typ: typ, k: kern.Words(typ, kern.KPack*words), m: 1 + r.IntN(kern.MR), n: n,
				add: i%3 == 1}
			word := operands[r.IntN(len(operands))].word
			if kern.step == amxStep && i%5 == 0 {
				word = flushed
			}
			mul := kern.Mul
			if i%2 == 0 {
				mul = kern.Ref
			}
			far := setFar(i%4 < 2)
			err := c.check(a, b, dst, wanted, r, word, mul)
			far()
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A panelsCase is one call of a PanelsFunc.
type panelsCase struct {
	kern    *Kernel
	typ     Type
	k, m, n int
	add     bool // to what dst holds
}

func (c panelsCase) check(
	a, b, dst, want guarded, r *rand.Rand, word func(r *rand.Rand, kpack int) uint32, mul KernelFunc,
) error {
	kern := c.kern
	fill := filler(c.kern, r, word)
	panels := (c.n + kern.NR - 1) / kern.NR
	stored := kern.StoredB(c.typ, c.k*kern.KPack)
	pitch := stored + 64*r.IntN(2)
	sizeB := (panels-1)*pitch + stored
	pa, pb := a.last(kern.PanelA(c.k)), b.last(sizeB)
	fill(pa, kern.PanelA(c.k), kern.KPack)
	fill(pb, sizeB, min(2, 4/c.typ.Size()))
	ldd, row := (c.n+r.IntN(9))*kern.Word, c.n*kern.Word
	span := (c.m-1)*ldd + row
	to, ref := dst.last(span), want.last(span)
	fill(to, span, kern.KPack)
	got, wanted := unsafe.Slice((*byte)(to), span), unsafe.Slice((*byte)(ref), span)
	copy(wanted, got)
	panelsGeneric(kern, mul, c.typ)(c.k, c.m, c.n, pa, pb, pitch, ref, ldd, c.add)
	kern.StreamPanels(c.typ)(c.k, c.m, c.n, pa, pb, pitch, to, ldd, c.add)
	if at, x, y := mismatchC(kern, got, wanted, 0, span, ldd, row); at >= 0 {
		return fmt.Errorf("%v k=%d m=%d n=%d add=%v pitch=%d: row %d column %d of dst is %#x, want %#x",
			c.typ, c.k, c.m, c.n, c.add, pitch, at/ldd, at%ldd/kern.Word, x, y)
	}
	return nil
}
