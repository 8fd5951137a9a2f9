package tile

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/bf16"
)

// Sums of 16-bit floats are the floats nearest to the exact sums, the even one
// of two. The sum of two float64 is exact for float16, and for bf16 either exact
// or far from every tie.
func TestAddFloat(t *testing.T) {
	for _, c := range []struct {
		name   string
		add    func(old, x uint16) uint16
		decode func(uint16) float64
		inf    uint16
	}{
		{"float16", addFloat16, func(b uint16) float64 { return float64(float16.Frombits(b).Float32()) }, float16Inf},
		{"bf16", addBFloat16, func(b uint16) float64 { return float64(bf16.BF16(b).Float32()) }, bfloat16Inf},
	} {
		r := rand.New(rand.NewPCG(11, 12))
		for range 400_000 {
			a, b := uint16(r.Uint32()), uint16(r.Uint32())
			if r.IntN(2) == 0 {
				b = a&0x7f80 | b&0x807f // like exponents, so that sums cancel and tie
			}
			got := c.add(a, b)
			sum := c.decode(a) + c.decode(b)
			switch mag := got & 0x7fff; {
			case math.IsNaN(sum):
				if got != nan16 {
					t.Fatalf("%s %04x + %04x = %04x, want %04x", c.name, a, b, got, nan16)
				}
			case math.IsInf(sum, 0) || mag == c.inf:
				// Overflow begins half a step above the largest number.
				top := c.decode(c.inf - 1)
				limit := top + (top-c.decode(c.inf-2))/2
				if mag != c.inf || math.Abs(sum) < limit || math.Signbit(sum) != (got>>15 == 1) {
					t.Fatalf("%s %04x + %04x = %04x, exactly %v", c.name, a, b, got, sum)
				}
			default:
				err := math.Abs(c.decode(got) - sum)
				for _, next := range []uint16{got - 1, got + 1} {
					if mag == 0 && next&0x7fff != 1 || next&0x7fff == c.inf {
						continue
					}
					if e := math.Abs(c.decode(next) - sum); e < err || e == err && got&1 == 1 {
						t.Fatalf("%s %04x + %04x = %04x, but %04x is nearer to %v or even", c.name, a, b, got, next,
							sum)
					}
				}
			}
		}
	}
}

func TestCombineCorners(t *testing.T) {
	min16, max16 := leastFloat(float16Inf), greatestFloat(float16Inf)
	for _, c := range []struct {
		name      string
		f         func(old, x uint16) uint16
		old, x, v uint16
	}{
		{"min", min16, 0x0000, 0x8000, 0x8000},
		{"min", min16, 0x8000, 0x0000, 0x8000},
		{"max", max16, 0x0000, 0x8000, 0x0000},
		{"max", max16, 0x8000, 0x0000, 0x0000},
		{"min", min16, 0xfc00, 0x7c00, 0xfc00},
		{"max", max16, 0xfc00, 0x7c00, 0x7c00},
		{"min", min16, 0x7c01, 0x3c00, 0x3c00},
		{"max", max16, 0x3c00, 0xfe00, 0x3c00},
		{"min", min16, 0xffff, 0x7c01, 0x7fff},
		{"max", max16, 0xffff, 0x7c01, 0x7fff},
		{"max", max16, 0xbc00, 0xbc01, 0xbc00},
		{"min", min16, 0xbc00, 0xbc01, 0xbc01},
		{"add", addFloat16, 0x7c00, 0xfc00, 0x7fff},
		{"add", addFloat16, 0x8000, 0x8000, 0x8000},
		{"add", addFloat16, 0x0001, 0x0001, 0x0002},
		{"add", addFloat16, 0x7bff, 0x7bff, 0x7c00},
		{"add", addBFloat16, 0x7f80, 0xff80, 0x7fff},
	} {
		if got := c.f(c.old, c.x); got != c.v {
			t.Errorf("%s(%04x, %04x) = %04x, want %04x", c.name, c.old, c.x, got, c.v)
		}
	}
	for _, c := range []struct {
		name      string
		f         func(old, x uint32) uint32
		old, x, v uint32
	}{
		{"inc", increment, 4, 5, 5}, {"inc", increment, 5, 5, 0}, {"inc", increment, 6, 5, 0},
		{"inc", increment, 0, 0, 0},
		{"dec", decrement, 5, 5, 4}, {"dec", decrement, 6, 5, 5}, {"dec", decrement, 0, 5, 5},
		{"dec", decrement, 1, 0, 0},
		{"add", addFloat32, 0x7f800000, 0xff800000, 0x7fffffff},
		{"add", addFloat32, 0x00000001, 0x00000001, 0x00000002},
		{"add", addFloat32, 0x3f800000, 0x33800000, 0x3f800000},
		{"add", addFloat32, 0x3f800001, 0x33800000, 0x3f800002},
		{"min s32", signed32(least[int32]), 1, 0xffffffff, 0xffffffff},
		{"max s32", signed32(greatest[int32]), 1, 0xffffffff, 1},
	} {
		if got := c.f(c.old, c.x); got != c.v {
			t.Errorf("%s(%08x, %08x) = %08x, want %08x", c.name, c.old, c.x, got, c.v)
		}
	}
	if got := signed64(least[int64])(1, math.MaxUint64); got != math.MaxUint64 {
		t.Errorf("min s64(1, -1) = %x", got)
	}
	if got := signed64(greatest[int64])(1, math.MaxUint64); got != 1 {
		t.Errorf("max s64(1, -1) = %x", got)
	}
}
