package fp8

import (
	"math"

	"example.com/leafhopper/internal/decimal"
)

// An E4M3 is an 8-bit number of 4 exponent and 3 fraction bits, held as its
// bits.
//
// The operators of Go see those bits, not the number: == finds -0 and 0
// different and a NaN equal to itself, and < orders no negative numbers. Compare
// and calculate with [E4M3.Float32].
type E4M3 uint8

// Values at the limits of E4M3.
const (
	MaxE4M3             E4M3 = 0x7e // 448, the largest value
	SmallestNormalE4M3  E4M3 = 0x08 // 2**-6, the smallest positive value of full precision
	SmallestNonzeroE4M3 E4M3 = 0x01 // 2**-9, the smallest positive value
	EpsilonE4M3         E4M3 = 0x20 // 2**-3, the distance from 1 to the next larger value
)

const (
	signMask = 0x80
	nanE4M3  = 0x7f
)

var decodeE4M3 = decodeTable(layoutE4M3, func(u uint8) uint32 {
	if u&^signMask == nanE4M3 {
		return f32Inf | 7<<20
	}
	return 0
})

// E4M3FromFloat32 returns the E4M3 nearest to f, and of two equally near the one
// whose last bit is zero. What rounds beyond 448, infinity included, becomes NaN.
// A NaN keeps its sign.
func E4M3FromFloat32(f float32) E4M3 {
	u, sign := split(f)
	if u > f32Inf {
		return E4M3(sign | nanE4M3)
	}
	return E4M3(sign | uint8(min(layoutE4M3.round(u), nanE4M3)))
}

// E4M3Saturate returns the E4M3 nearest to f as [E4M3FromFloat32] does, except
// that what rounds beyond ±448, infinities included, becomes ±448.
func E4M3Saturate(f float32) E4M3 {
	u, sign := split(f)
	if u > f32Inf {
		return E4M3(sign | nanE4M3)
	}
	return E4M3(sign | uint8(min(layoutE4M3.round(u), uint32(MaxE4M3))))
}

// E4M3FromBits returns the numbers with the representations in s, such as the bytes of
// a file, without a copy: the result is the memory of s. One number is E4M3(u).
func E4M3FromBits[T ~uint8](s []T) []E4M3 { return fromBits[E4M3](s) }

// NaNE4M3 returns the positive NaN.
func NaNE4M3() E4M3 { return nanE4M3 }

// Bits returns the representation of e.
func (e E4M3) Bits() uint8 { return uint8(e) }

// Float32 returns e as a float32, exactly. A NaN becomes a quiet NaN of the
// same sign.
func (e E4M3) Float32() float32 { return math.Float32frombits(decodeE4M3[e]) }

// IsNaN reports whether e is a NaN.
func (e E4M3) IsNaN() bool { return e&^signMask == nanE4M3 }

// IsInf returns false: the format has no infinities. It is there for code that
// handles both formats.
func (e E4M3) IsInf(sign int) bool { return false }

// Signbit reports whether e is negative or negative zero. It is the sign bit
// that counts, of a NaN too.
func (e E4M3) Signbit() bool { return e&signMask != 0 }

// Abs returns e with the sign bit cleared.
func (e E4M3) Abs() E4M3 { return e &^ signMask }

// Neg returns e with the sign bit inverted.
func (e E4M3) Neg() E4M3 { return e ^ signMask }

// String returns the shortest decimal that is e again when parsed as a float32
// and rounded to E4M3, and of several equally short the nearest to e; or "NaN".
func (e E4M3) String() string {
	return decimal.Shortest(e.Float32(), func(f float32) bool { return E4M3FromFloat32(f) == e })
}
