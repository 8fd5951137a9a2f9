package wgmma

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestKernelTwin compares multiplyKernel with plain Go for every float kind and
// N, with and without negation, on all kinds of operands.
func TestKernelTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	tested := 0
	for kind := range Kind(len(kinds)) {
		k := chooseKernel(kind)
		if k == nil {
			continue
		}
		tested++
		for n := 8; n <= 256; n += 8 {
			op := Op{Kind: kind, N: n, NegateA: n%16 == 0, NegateB: n%24 == 0}
			var w Warpgroup
			for i := range w.a {
				for j := range w.a[i] {
					w.a[i][j] = byte(r.Uint32())
				}
			}
			w.b = append(w.b, w.a[:]...)
			for len(w.b) < n {
				w.b = append(w.b, w.b...)
			}
			w.b = w.b[:n]
			size := op.Kind.ElementSize()
			for i := range w.b {
				for j := range w.b[i] {
					// Most exponents near 1, so that the fast path has its share.
					if w.b[i][j] = byte(r.Uint32()); j%size == size-1 && size > 1 && n%5 != 0 {
						w.b[i][j] = w.b[i][j]&0x80 | 0x3f
						w.a[i%M][j] = w.a[i%M][j]&0x80 | 0x3f
					}
				}
			}
			want := make([]uint32, M*n)
			for i := range want {
				want[i] = r.Uint32()&0x807fffff | 0x3f800000
			}
			got := slices.Clone(want)
			twin := Warpgroup{a: w.a, b: slices.Clone(w.b), plain: true}
			twin.multiply(op, want)
			w.multiply(op, got)
			if !slices.Equal(got, want) {
				i := 0
				for got[i] == want[i] {
					i++
				}
				t.Fatalf("%v: element %d is %#x, in plain Go %#x", op, i, got[i], want[i])
			}
		}
	}
	if tested == 0 {
		t.Skip("NOT TESTED: there is no assembly for this arithmetic here")
	}
}
