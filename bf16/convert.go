package bf16

import (
	"fmt"

	"github.com/x448/float16"
)

// maxCall bounds the elements that are converted in a call, which the scheduler cannot interrupt where it is assembly,
// but before the next: so many take about 12 µs from memory and 3 µs from cache.
const maxCall = 1 << 16

// Encode sets dst[i] to FromFloat32(src[i]) for every element of src. It panics,
// before it writes anything, if dst is shorter than src; elements of dst beyond
// len(src) are left alone. The memory of dst and src must not overlap.
func Encode(dst []BF16, src []float32) {
	checkLen("Encode", len(dst), len(src))
	for ; len(src) > maxCall; dst, src = dst[maxCall:], src[maxCall:] {
		encode(dst[:maxCall], src[:maxCall])
	}
	encode(dst[:len(src)], src)
}

// Decode sets dst[i] to src[i].Float32() for every element of src. It panics,
// before it writes anything, if dst is shorter than src; elements of dst beyond
// len(src) are left alone. The memory of dst and src must not overlap.
func Decode(dst []float32, src []BF16) {
	checkLen("Decode", len(dst), len(src))
	for ; len(src) > maxCall; dst, src = dst[maxCall:], src[maxCall:] {
		decode(dst[:maxCall], src[:maxCall])
	}
	decode(dst[:len(src)], src)
}

// EncodeFloat16 sets dst[i] to float16.Fromfloat32(src[i]) for every element of
// src: rounded to nearest, ties to even, subnormals included; a NaN keeps its
// sign and the upper 10 bits of its payload and becomes quiet. It panics, before
// it writes anything, if dst is shorter than src; elements of dst beyond len(src)
// are left alone. The memory of dst and src must not overlap.
func EncodeFloat16(dst []float16.Float16, src []float32) {
	checkLen("EncodeFloat16", len(dst), len(src))
	for ; len(src) > maxCall; dst, src = dst[maxCall:], src[maxCall:] {
		encodeFloat16(dst[:maxCall], src[:maxCall])
	}
	encodeFloat16(dst[:len(src)], src)
}

// DecodeFloat16 sets dst[i] to src[i].Float32() for every element of src. That is
// exact, but that a signalling NaN becomes quiet, as it does not in [Decode]. It
// panics, before it writes anything, if dst is shorter than src; elements of dst
// beyond len(src) are left alone. The memory of dst and src must not overlap.
func DecodeFloat16(dst []float32, src []float16.Float16) {
	checkLen("DecodeFloat16", len(dst), len(src))
	for ; len(src) > maxCall; dst, src = dst[maxCall:], src[maxCall:] {
		decodeFloat16(dst[:maxCall], src[:maxCall])
	}
	decodeFloat16(dst[:len(src)], src)
}

// checkLen panics if the destination of the function called name is too short.
func checkLen(name string, dst, src int) {
	if dst < src {
		panicLen(name, dst, src)
	}
}

// panicLen is apart from checkLen to keep the check small enough to inline.
func panicLen(name string, dst, src int) {
	panic(fmt.Sprintf("bf16: %s: dst has %d elements, src has %d", name, dst, src))
}
