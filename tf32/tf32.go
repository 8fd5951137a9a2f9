package tf32

import (
	"fmt"
	"math"
)

// Epsilon is the distance from 1 to the next larger tf32 number, 2**-10.
const Epsilon = 1.0 / (1 << 10)

const (
	drop = 13 // fraction bits that a float32 has and a tf32 has not
	low  = 1<<drop - 1
	nan  = 0x7fffe000
	inf  = 0xff << 23
	sign = 1 << 31

	pair = 1<<32 | 1 // times a word: that word in both halves
)

// Round returns the tf32 number nearest to f, and of two equally near the one
// whose last bit is zero. Subnormals and infinities stay, values too large
// become infinities, and every NaN becomes the one with the bits 0x7fffe000, as
// on an H200.
func Round(f float32) float32 {
	return math.Float32frombits(RoundBits(math.Float32bits(f)))
}

// RoundBits is Round of the float32 with the bits w.
func RoundBits(w uint32) uint32 {
	if w&^sign > inf {
		return nan
	}
	return (w + low>>1 + w>>drop&1) &^ low
}

// RoundPair is RoundBits of both halves of w.
func RoundPair(w uint64) uint64 {
	if (w&^(pair*sign)+pair*(sign-1-inf))&(pair*sign) != 0 {
		return uint64(RoundBits(uint32(w>>32)))<<32 | uint64(RoundBits(uint32(w)))
	}
	// Neither half is a NaN, so each is at most -Inf, 0xff800000, and rounding
	// cannot carry out of it into the other.
	return (w + pair*(low>>1) + w>>drop&pair) &^ (pair * low)
}

// Truncate returns f without the bits that wgmma ignores in an operand. A NaN
// whose payload lies in them alone becomes an infinity.
func Truncate(f float32) float32 {
	return math.Float32frombits(math.Float32bits(f) &^ low)
}

// RoundSlice sets dst[i] to Round(src[i]) for every element of src; dst may be
// src. It panics, before it writes anything, if dst is shorter than src.
func RoundSlice(dst, src []float32) {
	if len(dst) < len(src) {
		panic(fmt.Sprintf("tf32: RoundSlice: dst has %d elements, src has %d", len(dst), len(src)))
	}
	for i, f := range src {
		dst[i] = Round(f)
	}
}
