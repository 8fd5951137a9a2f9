package tile

import (
	"math/rand/v2"
	"testing"
)

// Both forms of the rounding agree with the definition, over every exponent,
// sign and rounding case, with each kind of neighbour in the other half.
func TestRoundTF32(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	neighbours := []uint32{0, 1, 0x7f800000, 0xff800000, 0x7f800001, 0xffffffff, 0xff7fffff}
	for top := range uint32(1 << 12) {
		for _, low := range []uint32{0, 1, 0xfff, 0x1000, 0x1001, 0x1fff, 0x2fff, 0x3000, 0xfffff, 0xff000, r.Uint32() >> 12} {
			w := top<<20 | low
			want := nearestTF32(w)
			if got := roundTF32(w); got != want {
				t.Fatalf("roundTF32(%08x) = %08x, want %08x", w, got, want)
			}
			for _, v := range neighbours {
				if got, want := roundPairTF32(uint64(v)<<32|uint64(w)), uint64(nearestTF32(v))<<32|uint64(want); got != want {
					t.Fatalf("roundPairTF32(%08x, %08x) = %016x, want %016x", v, w, got, want)
				}
				if got, want := roundPairTF32(uint64(w)<<32|uint64(v)), uint64(want)<<32|uint64(nearestTF32(v)); got != want {
					t.Fatalf("roundPairTF32(%08x, %08x) = %016x, want %016x", w, v, got, want)
				}
			}
		}
	}
}

// nearestTF32 picks the nearer neighbour, the even one of two equally near.
func nearestTF32(w uint32) uint32 {
	if w&0x7fffffff > 0x7f800000 {
		return 0x7fffe000
	}
	rest := w % 0x2000
	down := w - rest
	if rest > 0x1000 || rest == 0x1000 && down/0x2000%2 == 1 {
		return down + 0x2000
	}
	return down
}
