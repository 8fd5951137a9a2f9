package decimal

import (
	"math"
	"strconv"
	"testing"

	"github.com/x448/float16"
)

// A format of one fraction bit: 1, 1.5, 2, 3, 4, 6, 8 ...
func oneBit(f float32) float32 {
	u := math.Float32bits(f)
	return math.Float32frombits((u + 1<<21 - 1 + u>>22&1) &^ (1<<22 - 1))
}

func TestShortest(t *testing.T) {
	for _, c := range []struct {
		f    float32
		want string
	}{
		{0, "0"}, {float32(math.Copysign(0, -1)), "-0"}, {float32(math.NaN()), "NaN"},
		{float32(math.Inf(1)), "+Inf"}, {float32(math.Inf(-1)), "-Inf"},
		{1.5, "1.5"}, {-3, "-3"}, {1024, "1000"}, {-96, "-100"},
		{12, "12"},       // 10, halfway to 8, is rounded to it
		{16384, "20000"}, // 10000 is nearer, and rounded to 12288
		{0x1p-14, "6e-05"}, {0x1p66, "70000000000000000000"}, {0x1p70, "1.2e+21"},
		{0x1.8p127, "2.6e+38"}, // 3e+38 is beyond all
	} {
		if got := Shortest(c.f, func(x float32) bool { return oneBit(x) == c.f }); got != c.want {
			t.Errorf("%v: %q, want %q", c.f, got, c.want)
		}
	}
}

// Every half is what its decimal is parsed and rounded to.
func TestShortestParses(t *testing.T) {
	for u := range 1 << 16 {
		h := float16.Frombits(uint16(u))
		text := Shortest(h.Float32(), func(x float32) bool { return float16.Fromfloat32(x) == h })
		f, err := strconv.ParseFloat(text, 32)
		if back := float16.Fromfloat32(float32(f)); err != nil || back != h && !(back.IsNaN() && h.IsNaN()) {
			t.Fatalf("%#04x is %q, which is %#04x (%v)", u, text, back.Bits(), err)
		}
	}
}
