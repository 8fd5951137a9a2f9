package fp8

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
)

// value is the definition of the formats, in float64.
func value(u uint8, frac, bias int) float64 {
	exp, m := int(u&^signMask)>>frac, float64(u&(1<<frac-1))
	v := math.Ldexp(m, 1-bias-frac)
	if exp > 0 {
		v = math.Ldexp(m+math.Ldexp(1, frac), exp-bias-frac)
	}
	if u&signMask != 0 {
		v = -v
	}
	return v
}

func same(a, b float64) bool {
	return a == b && math.Signbit(a) == math.Signbit(b) || a != a && b != b && math.Signbit(a) == math.Signbit(b)
}

func TestDecode(t *testing.T) {
	for i := range 256 {
		u := uint8(i)
		want := value(u, 3, 7)
		if u&0x7f == 0x7f {
			want = math.Copysign(math.NaN(), want)
		}
		if got := float64(E4M3(u).Float32()); !same(got, want) {
			t.Errorf("E4M3(%#02x) = %v, want %v", u, got, want)
		}
		if got := E4M3(u).IsNaN(); got != (want != want) {
			t.Errorf("E4M3(%#02x).IsNaN() = %v", u, got)
		}
		if E4M3(u).IsInf(0) || E4M3(u).IsInf(1) || E4M3(u).IsInf(-1) {
			t.Errorf("E4M3(%#02x) is infinite", u)
		}
		want = value(u, 2, 15)
		switch {
		case u&0x7f == 0x7c:
			want = math.Copysign(math.Inf(1), want)
		case u&0x7f > 0x7c:
			want = math.Copysign(math.NaN(), want)
		}
		e := E5M2(u)
		if got := float64(e.Float32()); !same(got, want) {
			t.Errorf("E5M2(%#02x) = %v, want %v", u, got, want)
		}
		if got := e.IsNaN(); got != (want != want) {
			t.Errorf("E5M2(%#02x).IsNaN() = %v", u, got)
		}
		for sign := -1; sign <= 1; sign++ {
			if got := e.IsInf(sign); got != math.IsInf(want, sign) {
				t.Errorf("E5M2(%#02x).IsInf(%d) = %v", u, sign, got)
			}
		}
	}
}

// TestFromBits takes slices of bytes, and of another's type: the numbers are in the same memory.
func TestFromBits(t *testing.T) {
	type theirs uint8
	s, u := append(make([]byte, 0, 5), 0x38, 0xc0), []theirs{0x3c, 0xfc}
	a, b := E4M3FromBits(s), E5M2FromBits(u)
	if len(a) != 2 || cap(a) != 5 || a[0].Float32() != 1 || a[1].Float32() != -2 {
		t.Errorf("E4M3FromBits(%#02x) = %v of capacity %d", s, a, cap(a))
	}
	if len(b) != 2 || b[0].Float32() != 1 || !b[1].IsInf(-1) {
		t.Errorf("E5M2FromBits(%#02x) = %v", u, b)
	}
	a[0], u[1] = MaxE4M3, 0x40
	if s[0] != 0x7e || b[1].Float32() != 2 {
		t.Errorf("%#02x and %v, or %#02x and %v, are not the same memory", s, a, u, b)
	}
	if a := E4M3FromBits([]byte(nil)); a != nil {
		t.Errorf("of nil: %v", a)
	}
}

// Every representation survives the way to float32 and back, saturating or not.
func TestRoundTrip(t *testing.T) {
	for i := range 256 {
		a, b := E4M3(i), E5M2(i)
		if got := E4M3FromFloat32(a.Float32()); got != a {
			t.Errorf("E4M3 %#02x comes back as %#02x", a.Bits(), got.Bits())
		}
		if got := E4M3Saturate(a.Float32()); got != a {
			t.Errorf("E4M3 %#02x comes back saturated as %#02x", a.Bits(), got.Bits())
		}
		quiet := b
		if b.IsNaN() {
			quiet |= quietE5M2
		}
		if got := E5M2FromFloat32(b.Float32()); got != quiet {
			t.Errorf("E5M2 %#02x comes back as %#02x", b.Bits(), got.Bits())
		}
		want := quiet
		if b.IsInf(0) {
			want--
		}
		if got := E5M2Saturate(b.Float32()); got != want {
			t.Errorf("E5M2 %#02x comes back saturated as %#02x, want %#02x", b.Bits(), got.Bits(), want.Bits())
		}
		if a.Neg().Neg() != a || a.Abs().Signbit() || a.Signbit() != (i >= 128) || a.Neg().Signbit() == a.Signbit() {
			t.Errorf("E4M3 %#02x: Neg %#02x, Abs %#02x, Signbit %v", i, a.Neg(), a.Abs(), a.Signbit())
		}
		if b.Neg().Neg() != b || b.Abs().Signbit() || b.Signbit() != (i >= 128) || b.Neg().Signbit() == b.Signbit() {
			t.Errorf("E5M2 %#02x: Neg %#02x, Abs %#02x, Signbit %v", i, b.Neg(), b.Abs(), b.Signbit())
		}
	}
}

// A conversion is a conversion from float32 with what its result must be.
type conversion struct {
	name      string
	from      func(float32) uint8
	frac      int
	bias      int
	max       uint8
	overflow  uint8 // representation of what lies beyond max
	saturates bool
}

var conversions = []conversion{
	{"E4M3FromFloat32", func(f float32) uint8 { return E4M3FromFloat32(f).Bits() }, 3, 7, 0x7e, 0x7f, false},
	{"E4M3Saturate", func(f float32) uint8 { return E4M3Saturate(f).Bits() }, 3, 7, 0x7e, 0x7e, true},
	{"E5M2FromFloat32", func(f float32) uint8 { return E5M2FromFloat32(f).Bits() }, 2, 15, 0x7b, 0x7c, false},
	{"E5M2Saturate", func(f float32) uint8 { return E5M2Saturate(f).Bits() }, 2, 15, 0x7b, 0x7b, true},
}

// At and around the middle between every two neighbours, and at and around
// every value, the result is the nearer, and in the middle the even one.
func TestRoundingBoundaries(t *testing.T) {
	for _, c := range conversions {
		checks := 0
		check := func(f float32, want uint8) {
			t.Helper()
			checks++
			if got := c.from(f); got != want {
				t.Errorf("%s(%v) = %#02x, want %#02x", c.name, f, got, want)
			}
			if got := c.from(-f); got != want|signMask {
				t.Errorf("%s(%v) = %#02x, want %#02x", c.name, -f, got, want|signMask)
			}
		}
		up := func(f float32) float32 { return math.Nextafter32(f, float32(math.Inf(1))) }
		down := func(f float32) float32 { return math.Nextafter32(f, 0) }
		for u := uint8(0); u <= c.max; u++ {
			v, next := float32(value(u, c.frac, c.bias)), float32(value(u+1, c.frac, c.bias))
			if u == c.max {
				next = float32(value(u, c.frac, c.bias) + value(u, c.frac, c.bias) - value(u-1, c.frac, c.bias))
			}
			above := u + 1
			if u == c.max {
				above = c.overflow
			}
			mid := (v + next) / 2
			check(v, u)
			check(up(v), u)
			check(down(mid), u)
			check(up(mid), above)
			even := u
			if u%2 == 1 {
				even = above
			}
			check(mid, even)
			check(down(next), above)
		}
		for _, f := range []float32{1e9, math.MaxFloat32, float32(math.Inf(1))} {
			check(f, c.overflow)
		}
		check(math.SmallestNonzeroFloat32, 0)
		if want := (int(c.max)+1)*6 + 4; checks != want {
			t.Errorf("%s: %d checks, want %d", c.name, checks, want)
		}
	}
}

// Every float32 of a dense sample, all exponents and signs with the fractions
// that matter, rounds as a search for the nearest value does.
func TestRoundingSweep(t *testing.T) {
	for _, c := range conversions {
		values := make([]float64, c.max+1)
		for u := range values {
			values[u] = value(uint8(u), c.frac, c.bias)
		}
		// Beyond the largest value rounding goes on with the same spacing.
		values = append(values, 2*values[c.max]-values[c.max-1])
		for top := range uint32(1 << 14) { // exponent and the upper 5 fraction bits
			for _, low := range []uint32{0, 1, 0x1ffff, 0x20000, 0x20001, 0x3ffff} {
				f := math.Float32frombits((top<<18 | low) & 0x7fffffff)
				var want uint8
				switch {
				case f != f:
					continue // TestNaN
				case float64(f) >= values[len(values)-1]:
					want = c.overflow
				default:
					want = nearest(values, float64(f))
					if int(want) > int(c.max) {
						want = c.overflow
					}
				}
				if got := c.from(f); got != want {
					t.Fatalf("%s(%v) = %#02x, want %#02x", c.name, f, got, want)
				}
			}
		}
	}
}

// nearest returns the index of the value nearest to f, the even one of two.
func nearest(values []float64, f float64) uint8 {
	lo, hi := 0, len(values)-1
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; values[mid] <= f {
			lo = mid
		} else {
			hi = mid
		}
	}
	below, above := f-values[lo], values[hi]-f
	if above < below || above == below && hi%2 == 0 {
		return uint8(hi)
	}
	return uint8(lo)
}

func TestNaN(t *testing.T) {
	for _, u := range []uint32{0x7f800001, 0x7fc00000, 0x7fffffff, 0xff800001, 0xffc00000, 0xffe00000} {
		f := math.Float32frombits(u)
		sign := uint8(u >> 24 & signMask)
		for _, e := range []E4M3{E4M3FromFloat32(f), E4M3Saturate(f)} {
			if e.Bits() != sign|0x7f {
				t.Errorf("%#x as E4M3 is %#02x", u, e.Bits())
			}
		}
		for _, e := range []E5M2{E5M2FromFloat32(f), E5M2Saturate(f)} {
			if e.Bits() != sign|0x7e|uint8(u>>21&3) {
				t.Errorf("%#x as E5M2 is %#02x", u, e.Bits())
			}
		}
	}
	if !NaNE4M3().IsNaN() || !NaNE5M2().IsNaN() || NaNE5M2() != E5M2FromFloat32(float32(math.NaN())) {
		t.Errorf("NaN: %#02x, %#02x", NaNE4M3().Bits(), NaNE5M2().Bits())
	}
	if InfE5M2(1) != 0x7c || InfE5M2(0) != 0x7c || InfE5M2(-1) != 0xfc {
		t.Errorf("InfE5M2 = %#02x and %#02x", InfE5M2(1).Bits(), InfE5M2(-1).Bits())
	}
}

func TestConstants(t *testing.T) {
	for _, c := range []struct {
		name string
		got  float32
		want float64
	}{
		{"MaxE4M3", MaxE4M3.Float32(), 448},
		{"SmallestNormalE4M3", SmallestNormalE4M3.Float32(), math.Ldexp(1, -6)},
		{"SmallestNonzeroE4M3", SmallestNonzeroE4M3.Float32(), math.Ldexp(1, -9)},
		{"EpsilonE4M3", EpsilonE4M3.Float32(), math.Ldexp(1, -3)},
		{"MaxE5M2", MaxE5M2.Float32(), 57344},
		{"SmallestNormalE5M2", SmallestNormalE5M2.Float32(), math.Ldexp(1, -14)},
		{"SmallestNonzeroE5M2", SmallestNonzeroE5M2.Float32(), math.Ldexp(1, -16)},
		{"EpsilonE5M2", EpsilonE5M2.Float32(), math.Ldexp(1, -2)},
	} {
		if float64(c.got) != c.want {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
}

// The text of every number reads back, and no decimal with fewer digits does.
func TestString(t *testing.T) {
	for i := range 256 {
		a, b := E4M3(i), E5M2(i)
		checkString(t, a.String(), a.Float32(), func(f float32) bool { return E4M3FromFloat32(f) == a })
		checkString(t, b.String(), b.Float32(), func(f float32) bool { return E5M2FromFloat32(f) == b })
	}
}

func checkString(t *testing.T, text string, v float32, same func(float32) bool) {
	t.Helper()
	if f := float64(v); v == 0 || v != v || math.IsInf(f, 0) {
		if want := fmt.Sprint(v); text != want {
			t.Errorf("%v prints as %q, want %q", v, text, want)
		}
		return
	}
	back, err := strconv.ParseFloat(text, 32)
	if err != nil || !same(float32(back)) {
		t.Errorf("%v prints as %q, which does not read back (%v)", v, text, err)
		return
	}
	mantissa, exp, _ := strings.Cut(strconv.FormatFloat(back, 'e', -1, 32), "e")
	digits := len(strings.TrimLeft(strings.Replace(mantissa, ".", "", 1), "-"))
	ten, err := strconv.Atoi(exp)
	if err != nil {
		t.Fatal(err)
	}
	// All decimals of one digit less, within a factor of ten of v.
	for k := 1; digits > 1 && k < int(math.Pow10(digits-1)); k++ {
		for e := -1; e <= 1; e++ {
			d := math.Copysign(float64(k)*math.Pow10(ten-digits+2+e), float64(v))
			if same(float32(d)) {
				t.Errorf("%v prints as %q, %v is shorter", v, text, d)
				return
			}
		}
	}
}

func TestSlices(t *testing.T) {
	src := []float32{0, 1, -1.03, 460, 470, -1e9, 1e-3, float32(math.Inf(1))}
	a, b := make([]E4M3, len(src)+1), make([]E5M2, len(src)+1)
	as, bs := make([]E4M3, len(src)+1), make([]E5M2, len(src)+1)
	EncodeE4M3(a, src)
	EncodeE4M3Saturate(as, src)
	EncodeE5M2(b, src)
	EncodeE5M2Saturate(bs, src)
	fa, fb := make([]float32, len(src)), make([]float32, len(src))
	DecodeE4M3(fa, a[:len(src)])
	DecodeE5M2(fb, b[:len(src)])
	for i, f := range src {
		if a[i] != E4M3FromFloat32(f) || as[i] != E4M3Saturate(f) || b[i] != E5M2FromFloat32(f) ||
			bs[i] != E5M2Saturate(f) {
			t.Errorf("%v encodes to %v, %v, %v, %v", f, a[i], as[i], b[i], bs[i])
		}
		if math.Float32bits(fa[i]) != math.Float32bits(a[i].Float32()) ||
			math.Float32bits(fb[i]) != math.Float32bits(b[i].Float32()) {
			t.Errorf("%v, %v decode to %v, %v", a[i], b[i], fa[i], fb[i])
		}
	}
	if n := len(src); a[n] != 0 || as[n] != 0 || b[n] != 0 || bs[n] != 0 {
		t.Error("an element beyond the source was written")
	}
}

func TestShortDestination(t *testing.T) {
	for name, f := range map[string]func(){
		"EncodeE4M3":         func() { EncodeE4M3(make([]E4M3, 1), make([]float32, 2)) },
		"EncodeE4M3Saturate": func() { EncodeE4M3Saturate(make([]E4M3, 1), make([]float32, 2)) },
		"DecodeE4M3":         func() { DecodeE4M3(make([]float32, 1), make([]E4M3, 2)) },
		"EncodeE5M2":         func() { EncodeE5M2(make([]E5M2, 1), make([]float32, 2)) },
		"EncodeE5M2Saturate": func() { EncodeE5M2Saturate(make([]E5M2, 1), make([]float32, 2)) },
		"DecodeE5M2":         func() { DecodeE5M2(make([]float32, 1), make([]E5M2, 2)) },
	} {
		func() {
			defer func() {
				want := "fp8: " + name + ": dst has 1 elements, src has 2"
				if r := recover(); r != want {
					t.Errorf("%s: panic %v, want %q", name, r, want)
				}
			}()
			f()
		}()
	}
}
