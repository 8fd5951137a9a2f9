package fp8

import (
	"math"

	"example.com/leafhopper/internal/decimal"
)

// An E5M2 is an 8-bit number of 5 exponent and 2 fraction bits, held as its
// bits: the upper half of an IEEE half.
//
// The operators of Go see those bits, not the number: == finds -0 and 0
// different and a NaN equal to itself, and < orders no negative numbers. Compare
// and calculate with [E5M2.Float32].
type E5M2 uint8

// Values at the limits of E5M2.
const (
	MaxE5M2             E5M2 = 0x7b // 57344, the largest finite value
	SmallestNormalE5M2  E5M2 = 0x04 // 2**-14, the smallest positive value of full precision
	SmallestNonzeroE5M2 E5M2 = 0x01 // 2**-16, the smallest positive value
	EpsilonE5M2         E5M2 = 0x34 // 2**-2, the distance from 1 to the next larger value
)

const (
	infE5M2   = 0x7c // also the mask of the exponent
	quietE5M2 = 0x02
)

var decodeE5M2 = decodeTable(layoutE5M2, func(u uint8) uint32 {
	if u &= ^uint8(signMask); u >= infE5M2 {
		return f32Inf | uint32(u&3)<<21
	}
	return 0
})

// E5M2FromFloat32 returns the E5M2 nearest to f, and of two equally near the one
// whose last bit is zero. Values too large become infinities. A NaN keeps its
// sign and the upper 2 bits of its payload and becomes quiet.
func E5M2FromFloat32(f float32) E5M2 {
	u, sign := split(f)
	if u > f32Inf {
		return E5M2(sign | infE5M2 | quietE5M2 | uint8(u>>21&3))
	}
	return E5M2(sign | uint8(min(layoutE5M2.round(u), infE5M2)))
}

// E5M2Saturate returns the E5M2 nearest to f as [E5M2FromFloat32] does, except
// that what rounds beyond ±57344, infinities included, becomes ±57344.
func E5M2Saturate(f float32) E5M2 {
	u, sign := split(f)
	if u > f32Inf {
		return E5M2FromFloat32(f)
	}
	return E5M2(sign | uint8(min(layoutE5M2.round(u), uint32(MaxE5M2))))
}

// E5M2FromBits is [E4M3FromBits] for E5M2.
func E5M2FromBits[T ~uint8](s []T) []E5M2 { return fromBits[E5M2](s) }

// InfE5M2 returns positive infinity if sign >= 0, negative infinity if sign < 0.
func InfE5M2(sign int) E5M2 {
	if sign >= 0 {
		return infE5M2
	}
	return signMask | infE5M2
}

// NaNE5M2 returns a quiet NaN, the one E5M2FromFloat32 makes of
// float32(math.NaN()).
func NaNE5M2() E5M2 { return infE5M2 | quietE5M2 }

// Bits returns the representation of e.
func (e E5M2) Bits() uint8 { return uint8(e) }

// Float32 returns e as a float32, exactly. The bits of a NaN, the quiet bit
// among them, are kept.
func (e E5M2) Float32() float32 { return math.Float32frombits(decodeE5M2[e]) }

// IsNaN reports whether e is a NaN.
func (e E5M2) IsNaN() bool { return e&^signMask > infE5M2 }

// IsInf reports whether e is an infinity of the given sign: positive if
// sign > 0, negative if sign < 0, either if sign == 0.
func (e E5M2) IsInf(sign int) bool {
	return sign >= 0 && e == infE5M2 || sign <= 0 && e == signMask|infE5M2
}

// Signbit reports whether e is negative or negative zero. It is the sign bit
// that counts, of a NaN too.
func (e E5M2) Signbit() bool { return e&signMask != 0 }

// Abs returns e with the sign bit cleared.
func (e E5M2) Abs() E5M2 { return e &^ signMask }

// Neg returns e with the sign bit inverted.
func (e E5M2) Neg() E5M2 { return e ^ signMask }

// String returns the shortest decimal that is e again when parsed as a float32
// and rounded to E5M2, and of several equally short the nearest to e. Other
// forms are "NaN", "+Inf" and "-Inf".
func (e E5M2) String() string {
	return decimal.Shortest(e.Float32(), func(f float32) bool { return E5M2FromFloat32(f) == e })
}
