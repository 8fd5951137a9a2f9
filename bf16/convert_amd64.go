//go:build amd64 && !purego

package bf16

import (
	"github.com/x448/float16"
	"golang.org/x/sys/cpu"

	"example.com/leafhopper/internal/race"
)

var (
	useAVX2   = cpu.X86.HasAVX && cpu.X86.HasAVX2
	useF16C   = useAVX2 && cpu.X86.HasF16C
	useAVX512 = useAVX2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL
)

// blockAVX2 is the least that the AVX2 routines convert. AVX-512 has masks for what is left, AVX2 leaves it to Go.
const blockAVX2 = 16

// None of these is inlined: the scheduler stops a goroutine where a function begins. The race detector does not see
// into assembly.

//go:noinline
func encode(dst []BF16, src []float32) {
	race.Converts(dst, src)
	if n := len(src) &^ (blockAVX2 - 1); n > 0 && useAVX2 && !useAVX512 {
		encodeAVX2(&dst[0], &src[0], n)
		dst, src = dst[n:], src[n:]
	}
	switch {
	case len(src) == 0:
	case useAVX512:
		encodeAVX512(&dst[0], &src[0], len(src))
	default:
		encodeGeneric(dst, src)
	}
}

//go:noinline
func decode(dst []float32, src []BF16) {
	race.Converts(dst, src)
	if n := len(src) &^ (blockAVX2 - 1); n > 0 && useAVX2 && !useAVX512 {
		decodeAVX2(&dst[0], &src[0], n)
		dst, src = dst[n:], src[n:]
	}
	switch {
	case len(src) == 0:
	case useAVX512:
		decodeAVX512(&dst[0], &src[0], len(src))
	default:
		decodeGeneric(dst, src)
	}
}

//go:noinline
func encodeFloat16(dst []float16.Float16, src []float32) {
	race.Converts(dst, src)
	if n := len(src) &^ (blockAVX2 - 1); n > 0 && useF16C && !useAVX512 {
		encodeFloat16F16C(&dst[0], &src[0], n)
		dst, src = dst[n:], src[n:]
	}
	switch {
	case len(src) == 0:
	case useAVX512:
		encodeFloat16AVX512(&dst[0], &src[0], len(src))
	default:
		encodeFloat16Generic(dst, src)
	}
}

//go:noinline
func decodeFloat16(dst []float32, src []float16.Float16) {
	race.Converts(dst, src)
	if n := len(src) &^ (blockAVX2 - 1); n > 0 && useF16C && !useAVX512 {
		decodeFloat16F16C(&dst[0], &src[0], n)
		dst, src = dst[n:], src[n:]
	}
	switch {
	case len(src) == 0:
	case useAVX512:
		decodeFloat16AVX512(&dst[0], &src[0], len(src))
	default:
		decodeFloat16Generic(dst, src)
	}
}

// The AVX-512 routines take any n >= 0, the others a multiple of blockAVX2. They
// touch no memory outside the n elements.

//go:noescape
func encodeAVX512(dst *BF16, src *float32, n int)

//go:noescape
func encodeAVX2(dst *BF16, src *float32, n int)

//go:noescape
func decodeAVX512(dst *float32, src *BF16, n int)

//go:noescape
func decodeAVX2(dst *float32, src *BF16, n int)

//go:noescape
func encodeFloat16AVX512(dst *float16.Float16, src *float32, n int)

//go:noescape
func encodeFloat16F16C(dst *float16.Float16, src *float32, n int)

//go:noescape
func decodeFloat16AVX512(dst *float32, src *float16.Float16, n int)

//go:noescape
func decodeFloat16F16C(dst *float32, src *float16.Float16, n int)
