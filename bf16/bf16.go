package bf16

import (
	"math"
	"unsafe"
)

// A BF16 is a bfloat16 number, held as its bits: BF16(u) has the representation u, and
// [FromBits] makes a slice of BF16 of a slice of representations.
//
// The operators of Go see those bits, not the number: == finds -0 and 0
// different and a NaN equal to itself, and < orders no negative numbers. Compare
// and calculate with [BF16.Float32].
type BF16 uint16

// Values at the limits of the format.
const (
	Max             BF16 = 0x7f7f // (2 - 2**-7) * 2**127, the largest finite value, about 3.39e38
	SmallestNormal  BF16 = 0x0080 // 2**-126, the smallest positive value of full precision
	SmallestNonzero BF16 = 0x0001 // 2**-133, the smallest positive value
	Epsilon         BF16 = 0x3c00 // 2**-7, the distance from 1 to the next larger value
)

const (
	signMask = 0x8000
	infinity = 0x7f80 // also the mask of the exponent
	quietBit = 0x0040
)

// FromFloat32 returns the BF16 nearest to f, and of two equally near the one
// whose last bit is zero. Values too large become infinities. A NaN keeps its
// sign and the upper 7 bits of its payload and becomes quiet.
func FromFloat32(f float32) BF16 {
	u := math.Float32bits(f)
	if f != f {
		return BF16(u>>16 | quietBit)
	}
	return BF16((u + 0x7fff + u>>16&1) >> 16)
}

// FromBits returns the numbers with the bfloat16 representations in s, such as those of
// another library's type, without a copy: the result is the memory of s. The package
// comment says how bytes become such a slice.
func FromBits[T ~uint16](s []T) []BF16 {
	return unsafe.Slice((*BF16)(unsafe.Pointer(unsafe.SliceData(s))), cap(s))[:len(s)]
}

// Inf returns positive infinity if sign >= 0, negative infinity if sign < 0.
func Inf(sign int) BF16 {
	if sign >= 0 {
		return infinity
	}
	return signMask | infinity
}

// NaN returns a quiet NaN, the one FromFloat32 makes of float32(math.NaN()).
func NaN() BF16 { return infinity | quietBit }

// Bits returns the bfloat16 representation of b. BF16(b.Bits()) == b.
func (b BF16) Bits() uint16 { return uint16(b) }

// Float32 returns b as a float32, exactly. The bits of a NaN, the quiet bit
// among them, are kept.
func (b BF16) Float32() float32 { return math.Float32frombits(uint32(b) << 16) }

// IsNaN reports whether b is a NaN.
func (b BF16) IsNaN() bool { return b&^signMask > infinity }

// IsInf reports whether b is an infinity of the given sign: positive if
// sign > 0, negative if sign < 0, either if sign == 0.
func (b BF16) IsInf(sign int) bool {
	return sign >= 0 && b == infinity || sign <= 0 && b == signMask|infinity
}

// Signbit reports whether b is negative or negative zero. It is the sign bit
// that counts, of a NaN too.
func (b BF16) Signbit() bool { return b&signMask != 0 }

// Abs returns b with the sign bit cleared.
func (b BF16) Abs() BF16 { return b &^ signMask }

// Neg returns b with the sign bit inverted.
func (b BF16) Neg() BF16 { return b ^ signMask }
