package bf16

import (
	"math"
	"math/rand/v2"
	"testing"
)

// every calls f with each of the 65,536 values.
func every(f func(b BF16)) {
	for u := range 1 << 16 {
		f(BF16(u))
	}
}

// value returns the number b stands for, from the definition of the format.
func value(b BF16) float64 {
	exponent, fraction := int(b>>7&0xff), float64(b&0x7f)
	v := math.Ldexp(128+fraction, exponent-127-7)
	switch {
	case exponent == 0:
		v = math.Ldexp(fraction, -126-7)
	case exponent == 255 && fraction == 0:
		v = math.Inf(1)
	case exponent == 255:
		v = math.NaN()
	}
	if b >= 0x8000 {
		v = -v
	}
	return v
}

func TestFloat32(t *testing.T) {
	every(func(b BF16) {
		f, want := b.Float32(), value(b)
		if math.IsNaN(want) != (f != f) || f == f &&
			(float64(f) != want || math.Signbit(float64(f)) != math.Signbit(want)) {
			t.Fatalf("%#04x.Float32() = %g, want %g", b.Bits(), f, want)
		}
		if u := math.Float32bits(f); u != uint32(b)<<16 {
			t.Fatalf("%#04x.Float32() has bits %#08x", b.Bits(), u)
		}
		want16 := b
		if b.IsNaN() {
			want16 |= quietBit
		}
		if got := FromFloat32(f); got != want16 {
			t.Fatalf("FromFloat32(%#04x.Float32()) = %#04x, want %#04x", b.Bits(), got.Bits(), want16.Bits())
		}
		if got := BF16(b.Bits()); got != b {
			t.Fatalf("BF16(%#04x) = %#04x", b.Bits(), got.Bits())
		}
	})
}

// TestFromBits takes slices of another's type: the numbers are in the same memory.
func TestFromBits(t *testing.T) {
	type theirs uint16
	s := append(make([]theirs, 0, 5), 0x3f80, 0xc000, 0x7fc1)
	b := FromBits(s)
	if len(b) != 3 || cap(b) != 5 || b[0].Float32() != 1 || b[1].Float32() != -2 || !b[2].IsNaN() {
		t.Errorf("FromBits(%#04x) = %v of capacity %d", s, b, cap(b))
	}
	b[1], s[2] = 0x4040, 0x4080
	if s[1] != 0x4040 || b[2].Float32() != 4 {
		t.Errorf("%#04x and %v are not the same memory", s, b)
	}
	if b := FromBits(s[:0]); b == nil || len(b) != 0 {
		t.Errorf("of no numbers: %v", b)
	}
	if b := FromBits([]uint16(nil)); b != nil {
		t.Errorf("of nil: %v", b)
	}
	if n := testing.AllocsPerRun(10, func() { b = FromBits(s) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestFromFloat32(t *testing.T) {
	in, want := bfloat16.narrowing()
	for i, f := range in {
		if got := FromFloat32(f); uint16(got) != want[i] {
			t.Fatalf("FromFloat32(%g = %#08x) = %#04x, want %#04x", f, math.Float32bits(f), got.Bits(), want[i])
		}
	}
}

func TestPredicates(t *testing.T) {
	every(func(b BF16) {
		v := value(b)
		if got := b.IsNaN(); got != math.IsNaN(v) {
			t.Errorf("%#04x.IsNaN() = %t", b.Bits(), got)
		}
		for _, sign := range []int{-2, -1, 0, 1, 2} {
			if got := b.IsInf(sign); got != math.IsInf(v, sign) {
				t.Errorf("%#04x.IsInf(%d) = %t", b.Bits(), sign, got)
			}
		}
		if got := b.Signbit(); got != (b >= 0x8000) {
			t.Errorf("%#04x.Signbit() = %t", b.Bits(), got)
		}
		if got := b.Abs(); got.Signbit() || got != b && got.Neg() != b {
			t.Errorf("%#04x.Abs() = %#04x", b.Bits(), got.Bits())
		}
		if got := b.Neg(); got.Signbit() == b.Signbit() || got.Abs() != b.Abs() {
			t.Errorf("%#04x.Neg() = %#04x", b.Bits(), got.Bits())
		}
	})
}

func TestConstants(t *testing.T) {
	for _, c := range []struct {
		name string
		b    BF16
		want float64
	}{
		{"Max", Max, 0x1.fep127},
		{"SmallestNormal", SmallestNormal, 0x1p-126},
		{"SmallestNonzero", SmallestNonzero, 0x1p-133},
		{"Epsilon", Epsilon, 0x1p-7},
		{"Inf(1)", Inf(1), math.Inf(1)},
		{"Inf(0)", Inf(0), math.Inf(1)},
		{"Inf(-1)", Inf(-1), math.Inf(-1)},
	} {
		if got := float64(c.b.Float32()); got != c.want {
			t.Errorf("%s is %g, want %g", c.name, got, c.want)
		}
	}
	if one := FromFloat32(1); value(one+1)-value(one) != value(Epsilon) {
		t.Errorf("the value above 1 is %v, not 1 + Epsilon", one+1)
	}
	if n := NaN(); !n.IsNaN() || n&quietBit == 0 || n != FromFloat32(float32(math.NaN())) {
		t.Errorf("NaN() = %#04x", n.Bits())
	}
}

// A format is a 16-bit floating-point format with an encoding like IEEE's.
type format struct {
	infinity uint16 // the encoding of infinity, with zero fraction
	fraction int    // bits of the fraction
	limit    float64
	value    func(u uint16) float64
}

var bfloat16 = format{
	infinity: 0x7f80, fraction: 7, limit: 0x1p128,
	value: func(u uint16) float64 { return value(BF16(u)) },
}

var binary16 = format{
	infinity: 0x7c00, fraction: 10, limit: 0x1p16,
	value: func(u uint16) float64 {
		if u < 0x400 {
			return math.Ldexp(float64(u), -24)
		}
		return math.Ldexp(float64(1024+u&0x3ff), int(u>>10)-15-10)
	},
}

// narrowing returns float32 values around every rounding boundary of the format,
// overflows and NaNs, each with both signs, and the encodings they round to. What
// is right follows from distances in float64, where all of this is exact.
func (f format) narrowing() (in []float32, want []uint16) {
	add := func(u uint32, w uint16) {
		in = append(in, math.Float32frombits(u), math.Float32frombits(u|1<<31))
		want = append(want, w, w|1<<15)
	}
	rng := rand.New(rand.NewPCG(1, uint64(f.infinity)))

	for below := range f.infinity {
		above := below + 1
		lo, hi := f.value(below), f.limit
		if above != f.infinity {
			hi = f.value(above)
		}
		mid := (lo + hi) / 2
		ulo, umid, uhi := math.Float32bits(float32(lo)), math.Float32bits(float32(mid)), math.Float32bits(float32(hi))
		for _, u := range []uint32{
			ulo, ulo + 1, umid - 1, umid, umid + 1, uhi - 1,
			ulo + rng.Uint32N(uhi-ulo), ulo + rng.Uint32N(uhi-ulo),
		} {
			w, x := above, float64(math.Float32frombits(u))
			if x < mid || x == mid && below&1 == 0 {
				w = below
			}
			add(u, w)
		}
	}

	// Beyond the limit, up to infinity itself.
	const inf32 = 0x7f800000
	limit := math.Float32bits(float32(f.limit))
	for range 1000 {
		add(limit+rng.Uint32N(inf32-limit+1), f.infinity)
	}
	add(inf32, f.infinity)

	nan := func(payload uint32) {
		quiet := uint16(1) << (f.fraction - 1)
		add(inf32|payload, f.infinity|quiet|uint16(payload>>(23-f.fraction)))
	}
	for i := range 23 {
		nan(1 << i)
		nan(1<<i | 1<<22)
		nan(1<<(i+1) - 1)
	}
	for range 1000 {
		nan(1 + rng.Uint32N(1<<23-1))
	}
	return in, want
}
