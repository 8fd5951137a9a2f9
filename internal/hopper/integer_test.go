package hopper

import (
	"math"
	"testing"
)

func TestInteger(t *testing.T) {
	var a, b [2]Row
	for k := range a[0] {
		a[0][k], a[1][k] = 0x80, 0xff // -128 or 128, -1 or 255
		b[0][k], b[1][k] = 0x80, 0x7f
	}
	for _, c := range []struct {
		spec IntSpec
		acc  int32
		want [4]int32 // of rows 0, 0, 1, 1
	}{
		{IntSpec{true, true, false, 0}, 0, [4]int32{32 * 16384, -32 * 128 * 127, 32 * 128, -32 * 127}},
		{IntSpec{true, false, false, 0}, 0, [4]int32{-32 * 16384, -32 * 128 * 127, -32 * 128, -32 * 127}},
		{IntSpec{false, true, false, 0}, 0, [4]int32{-32 * 16384, 32 * 128 * 127, -32 * 128 * 255, 32 * 255 * 127}},
		{IntSpec{false, false, false, 0}, 1, [4]int32{32*16384 + 1, 32*128*127 + 1, 32*128*255 + 1, 32*255*127 + 1}},
		{IntSpec{true, true, false, 0}, math.MaxInt32,
			[4]int32{math.MinInt32 + 32*16384 - 1, math.MaxInt32 - 32*128*127, math.MinInt32 + 32*128 - 1,
				math.MaxInt32 - 32*127}},
		{IntSpec{true, true, true, 0}, math.MaxInt32, [4]int32{math.MaxInt32, math.MaxInt32 - 32*128*127, math.MaxInt32,
			math.MaxInt32 - 32*127}},
		{IntSpec{true, true, true, 0}, math.MinInt32, [4]int32{math.MinInt32 + 32*16384, math.MinInt32,
			math.MinInt32 + 32*128, math.MinInt32}},
		{IntSpec{Bits: And}, math.MaxInt32, [4]int32{math.MinInt32 + 31, math.MaxInt32, math.MinInt32 + 31,
			math.MinInt32 + 223}},
		{IntSpec{Bits: Xor}, math.MaxInt32, [4]int32{math.MaxInt32, math.MinInt32 + 255, math.MinInt32 + 223,
			math.MinInt32 + 31}},
	} {
		d := make([]uint32, 4)
		for i := range d {
			d[i] = uint32(c.acc)
		}
		c.spec.Multiply(d, 2, a[:], b[:])
		for i, u := range d {
			if int32(u) != c.want[i] {
				t.Errorf("%+v, C = %d: D(%d, %d) = %d, want %d", c.spec, c.acc, i/2, i%2, int32(u), c.want[i])
			}
		}
	}
}
