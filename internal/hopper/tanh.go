package hopper

import (
	"math"
	"math/bits"
)

// TanhApprox is the instruction tanh.approx.f32 (PTX ISA 9.1, section 9.7.3),
// bit for bit. It is off by less than 2^-16 of the result, odd and not quite
// monotonic; it leaves |x| < 2^-8 as it is, subnormals too, and gives ±1 from
// 8 on and 0x7fffffff for any NaN.
//
// In between it is a parabola for each of 51 segments: the leading bits of the
// significand choose the segment, the next 17 are the argument d, and the rest
// is ignored. The sum is exact but for d², and truncated to float32. The rule
// and the table were found in a recording of all inputs of an H200; the
// recording determines the coefficients, given that they are integers.
func TanhApprox(x float32) float32 {
	b := math.Float32bits(x)
	sign, b := b&(1<<31), b&^(1<<31)
	switch {
	case b > infF32:
		return math.Float32frombits(nanF32)
	case b >= tanhEnd<<23:
		return math.Float32frombits(sign | math.Float32bits(1))
	case b < tanhStart<<23:
		return x
	}
	curve := &tanhCurves[b>>23-tanhStart]
	chosen := bits.Len(uint(len(curve.segments))) - 1 // bits that choose the segment
	b = b << 9 >> 9
	s := curve.segments[b>>(23-chosen)]
	d := b >> (6 - chosen) & (1<<17 - 1)
	y := uint64(s.c0)<<15 + uint64(s.c1)*uint64(d) - uint64(s.c2)*uint64(tanhSquare(d))
	cut := bits.Len64(y) - 24
	return math.Float32frombits(sign | math.Float32bits(float32(y>>cut<<cut)*curve.unit))
}

// tanhSquare returns d², d < 2^17, in units of 2^18, without what the hardware
// leaves out: d² is the sum of 2^(i+j) over all pairs of bits i and j of d that
// are 1; (i, j) and (j, i) are added first, and a term below 2^19 is dropped.
func tanhSquare(d uint32) uint32 {
	var sum uint32
	for i := 10; i < 17; i++ {
		// Bit i with itself and, twice, with the bits below, in units of 2^(i+1).
		terms := 1<<(i-1) + d&(1<<i-1)
		sum += (d >> i & 1) * (terms >> (18 - i))
	}
	return 2 * sum
}

// A tanhSegment gives (c0·2^15 + c1·d - c2·d²/2^18) units.
type tanhSegment struct {
	c0     uint32
	c1, c2 uint16
}

// Exponents, biased, of the first |x| with a curve and the first without.
const (
	tanhStart = 119
	tanhEnd   = 130
)

// tanhCurves has the segments of each binade of x, fitted to the recording.
var tanhCurves = [tanhEnd - tanhStart]struct {
	unit     float32
	segments []tanhSegment
}{
	{0x1p-39, []tanhSegment{ // from 0.00390625
		{65536, 16384, 1},
	}},
	{0x1p-38, []tanhSegment{ // from 0.0078125
		{65535, 16383, 3},
	}},
	{0x1p-37, []tanhSegment{ // from 0.015625
		{65531, 16381, 13},
	}},
	{0x1p-38, []tanhSegment{ // from 0.03125
		{262059, 32738, 41},
		{392929, 32697, 55},
	}},
	{0x1p-37, []tanhSegment{ // from 0.0625
		{261803, 32646, 159},
		{392067, 32488, 222},
	}},
	{0x1p-38, []tanhSegment{ // from 0.125
		{1043149, 64532, 559},
		{1300155, 63972, 676},
		{1554686, 63296, 790},
		{1806288, 62506, 891},
	}},
	{0x1p-37, []tanhSegment{ // from 0.25
		{1027260, 61636, 2069},
		{1269651, 59560, 2412},
		{1503056, 57143, 2686},
		{1726248, 54451, 2894},
	}},
	{0x1p-36, []tanhSegment{ // from 0.5
		{969125, 51571, 6162},
		{1163082, 45374, 6288},
		{1332013, 39063, 6038},
		{1476209, 33011, 5543},
	}},
	{0x1p-37, []tanhSegment{ // from 1
		{3194386, 54922, 9823},
		{3394478, 45102, 8478},
		{3557986, 36634, 7144},
		{3690285, 29501, 5923},
		{3796488, 23590, 4842},
		{3881201, 18760, 3922},
		{3948430, 14850, 3144},
		{4001567, 11716, 2509},
	}},
	{0x1p-39, []tanhSegment{ // from 2
		{16173728, 36874, 7973},
		{16305345, 28942, 6295},
		{16408581, 22674, 4949},
		{16489421, 17746, 3892},
		{16552657, 13870, 3047},
		{16602069, 10835, 2388},
		{16640655, 8457, 1867},
		{16670765, 6599, 1460},
		{16694254, 5146, 1139},
		{16712570, 4012, 889},
		{16726848, 3127, 693},
		{16737977, 2437, 541},
		{16746648, 1899, 421},
		{16753405, 1479, 327},
		{16758669, 1152, 254},
		{16762770, 897, 197},
	}},
	{0x1p-37, []tanhSegment{ // from 4
		{4191500, 659, 438},
		{4193272, 243, 162},
		{4193924, 89, 58},
		{4194164, 33, 22},
		{4194253, 12, 8},
		{4194285, 5, 4},
		{4194297, 2, 2},
		{4194301, 1, 1},
	}},
}
