package bf16

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
)

func TestString(t *testing.T) {
	for _, c := range []struct {
		b    BF16
		want string
	}{
		{0, "0"},
		{0x8000, "-0"},
		{Inf(1), "+Inf"},
		{Inf(-1), "-Inf"},
		{NaN(), "NaN"},
		{0xff81, "NaN"},
		{FromFloat32(1), "1"},
		{FromFloat32(-1.5), "-1.5"},
		{FromFloat32(math.Pi), "3.14"},
		{FromFloat32(0.1), "0.1"},
		{FromFloat32(1e-4), "0.0001"},
		{FromFloat32(1e-5), "1e-05"},
		{FromFloat32(65536), "65500"},
		{FromFloat32(1e20), "100000000000000000000"},
		{FromFloat32(1e21), "1e+21"},
		{Max, "3.39e+38"},
		{SmallestNormal, "1.18e-38"},
		{SmallestNonzero, "9e-41"},
		{Epsilon, "0.0078"},
	} {
		if got := c.b.String(); got != c.want {
			t.Errorf("%#04x.String() = %q, want %q", c.b.Bits(), got, c.want)
		}
	}
	if got := fmt.Sprint(FromFloat32(0.1), []BF16{Max}); got != "0.1 [3.39e+38]" {
		t.Errorf("fmt.Sprint prints %q", got)
	}
}

func TestStringParses(t *testing.T) {
	every(func(b BF16) {
		s := b.String()
		f, err := strconv.ParseFloat(s, 32)
		if err != nil {
			t.Fatal(err)
		}
		if got := FromFloat32(float32(f)); got != b && !(b.IsNaN() && got.IsNaN()) {
			t.Fatalf("%#04x.String() = %q, which parses to %#04x", b.Bits(), s, got.Bits())
		}
		if neg := b.Neg().String(); !b.Signbit() && !b.IsNaN() && neg != "-"+strings.TrimPrefix(s, "+") {
			t.Fatalf("%#04x.String() = %q, its negative's %q", b.Bits(), s, neg)
		}
	})
}

// TestStringShortest checks with integers that String writes a decimal that
// rounds to b straight away, not only by way of float32; that no decimal with
// fewer digits does; and that none with as many digits is nearer.
func TestStringShortest(t *testing.T) {
	pow := func(base int64, exp int) *big.Int {
		return new(big.Int).Exp(big.NewInt(base), big.NewInt(int64(exp)), nil)
	}
	mul := func(x *big.Int, y *big.Int) *big.Int { return new(big.Int).Mul(x, y) }

	for b := BF16(1); b <= Max; b++ {
		// b is m * 2**q, and what rounds to it reaches from lo to hi, as
		// multiples of 2**(q-2). A power of two is nearer to what is below.
		m, q := int64(b), -133
		if b >= SmallestNormal {
			m, q = int64(b&0x7f|0x80), int(b>>7)-127-7
		}
		lo, hi := 4*m-2, 4*m+2
		if b&0x7f == 0 && b > SmallestNormal {
			lo = 4*m - 1
		}
		closed := b&1 == 0

		s := b.String()
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
		digits := strings.Replace(mantissa, ".", "", 1)
		e, err := strconv.Atoi(exponent)
		if err != nil {
			t.Fatal(err)
		}
		e -= len(digits) - 1 // s is digits * 10**e
		d, _ := new(big.Int).SetString(digits, 10)

		// Both scales, of powers of two and of ten, turned into integers.
		scale := func(e int) (two, ten *big.Int) {
			two, ten = pow(2, max(q-2, 0)), pow(10, max(e, 0))
			return mul(two, pow(10, max(-e, 0))), mul(ten, pow(2, max(2-q, 0)))
		}
		two, ten := scale(e)
		within := func(x *big.Int) bool {
			low, high := x.Cmp(mul(two, big.NewInt(lo))), x.Cmp(mul(two, big.NewInt(hi)))
			return low > 0 && high < 0 || closed && low >= 0 && high <= 0
		}
		distance := func(x *big.Int) *big.Int {
			x = new(big.Int).Sub(x, mul(two, big.NewInt(4*m)))
			return x.Abs(x)
		}
		x := mul(d, ten)
		if !within(x) {
			t.Fatalf("%#04x.String() = %q does not round to it", b.Bits(), s)
		}
		for _, step := range []int64{-1, 1} {
			y := mul(new(big.Int).Add(d, big.NewInt(step)), ten)
			if within(y) && distance(y).Cmp(distance(x)) < 0 {
				t.Fatalf("%#04x.String() = %q, but %s with last digit %+d is nearer", b.Bits(), s, s, step)
			}
		}
		if len(digits) == 1 {
			continue
		}
		// The largest multiple of the next power of ten up to hi.
		two, ten = scale(e + 1)
		y, rest := new(big.Int).QuoRem(mul(two, big.NewInt(hi)), ten, new(big.Int))
		if rest.Sign() == 0 && !closed {
			y.Sub(y, big.NewInt(1))
		}
		if within(mul(y, ten)) {
			t.Fatalf("%#04x.String() = %q, but %s followed by zeros is shorter", b.Bits(), s, y)
		}
	}
}
