package tf32

import (
	"math"
	"math/rand/v2"
	"testing"
)

// All forms of the rounding agree with the definition, over every exponent,
// sign and rounding case, with each kind of neighbour in the other half.
func TestRound(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	neighbours := []uint32{0, 1, 0x7f800000, 0xff800000, 0x7f800001, 0xffffffff, 0xff7fffff}
	for top := range uint32(1 << 12) {
		for _, low := range []uint32{0, 1, 0xfff, 0x1000, 0x1001, 0x1fff, 0x2fff, 0x3000, 0xfffff, 0xff000,
			r.Uint32() >> 12} {
			w := top<<20 | low
			want := nearest(w)
			if got := RoundBits(w); got != want {
				t.Fatalf("RoundBits(%08x) = %08x, want %08x", w, got, want)
			}
			if got := math.Float32bits(Round(math.Float32frombits(w))); got != want {
				t.Fatalf("Round(%08x) = %08x, want %08x", w, got, want)
			}
			for _, v := range neighbours {
				if got, want := RoundPair(uint64(v)<<32|uint64(w)), uint64(nearest(v))<<32|uint64(want); got != want {
					t.Fatalf("RoundPair(%08x, %08x) = %016x, want %016x", v, w, got, want)
				}
				if got, want := RoundPair(uint64(w)<<32|uint64(v)), uint64(want)<<32|uint64(nearest(v)); got != want {
					t.Fatalf("RoundPair(%08x, %08x) = %016x, want %016x", w, v, got, want)
				}
			}
		}
	}
}

// nearest picks the nearer neighbour, the even one of two equally near.
func nearest(w uint32) uint32 {
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

func TestTruncate(t *testing.T) {
	for _, c := range [][2]uint32{
		{0x3f801fff, 0x3f800000}, {0xbf803fff, 0xbf802000}, {0x7f800001, 0x7f800000},
		{0x7fc00001, 0x7fc00000}, {0x00001fff, 0}, {0x80002001, 0x80002000},
	} {
		if got := math.Float32bits(Truncate(math.Float32frombits(c[0]))); got != c[1] {
			t.Errorf("Truncate(%08x) = %08x, want %08x", c[0], got, c[1])
		}
	}
}

func TestRoundSlice(t *testing.T) {
	src := []float32{1, 1 + Epsilon/2, 1 + 3*Epsilon/2, float32(math.Inf(-1))}
	dst := []float32{9, 9, 9, 9, 9}
	RoundSlice(dst, src)
	for i, want := range []float32{1, 1, 1 + 2*Epsilon, float32(math.Inf(-1)), 9} {
		if dst[i] != want {
			t.Errorf("element %d is %v, want %v", i, dst[i], want)
		}
	}
	RoundSlice(src, src)
	if src[1] != 1 {
		t.Errorf("in place, element 1 is %v, want 1", src[1])
	}
	defer func() {
		if want := "tf32: RoundSlice: dst has 1 elements, src has 4"; recover() != want {
			t.Errorf("no panic %q for a short destination", want)
		}
	}()
	RoundSlice(dst[:1], src)
}
