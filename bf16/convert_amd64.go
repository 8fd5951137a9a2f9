//go:build amd64 && !purego

package bf16

import (
	"github.com/x448/float16"
	"golang.org/x/sys/cpu"
)

var (
	useAVX2   = cpu.X86.HasAVX && cpu.X86.HasAVX2
	useF16C   = useAVX2 && cpu.X86.HasF16C
	useAVX512 = useAVX2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL
)

const (
	// maxCall bounds the elements of one call of assembly. The runtime cannot
	// preempt assembly, so the garbage collector waits for it; this many
	// elements take about 12 µs from memory and 3 µs from cache.
	maxCall = 1 << 16

	// blockAVX2 is the least that the AVX2 routines convert. AVX-512 has masks
	// for what is left, AVX2 leaves it to Go.
	blockAVX2 = 16
)

func encode(dst []BF16, src []float32) {
	if useAVX512 {
		for len(src) > 0 {
			n := min(len(src), maxCall)
			encodeAVX512(&dst[0], &src[0], n)
			dst, src = dst[n:], src[n:]
		}
		return
	}
	if useAVX2 {
		for len(src) >= blockAVX2 {
			n := min(len(src), maxCall) &^ (blockAVX2 - 1)
			encodeAVX2(&dst[0], &src[0], n)
			dst, src = dst[n:], src[n:]
		}
	}
	encodeGeneric(dst, src)
}

func decode(dst []float32, src []BF16) {
	if useAVX512 {
		for len(src) > 0 {
			n := min(len(src), maxCall)
			decodeAVX512(&dst[0], &src[0], n)
			dst, src = dst[n:], src[n:]
		}
		return
	}
	if useAVX2 {
		for len(src) >= blockAVX2 {
			n := min(len(src), maxCall) &^ (blockAVX2 - 1)
			decodeAVX2(&dst[0], &src[0], n)
			dst, src = dst[n:], src[n:]
		}
	}
	decodeGeneric(dst, src)
}

func encodeFloat16(dst []float16.Float16, src []float32) {
	if useAVX512 {
		for len(src) > 0 {
			n := min(len(src), maxCall)
			encodeFloat16AVX512(&dst[0], &src[0], n)
			dst, src = dst[n:], src[n:]
		}
		return
	}
	if useF16C {
		for len(src) >= blockAVX2 {
			n := min(len(src), maxCall) &^ (blockAVX2 - 1)
			encodeFloat16F16C(&dst[0], &src[0], n)
			dst, src = dst[n:], src[n:]
		}
	}
	encodeFloat16Generic(dst, src)
}

func decodeFloat16(dst []float32, src []float16.Float16) {
	if useAVX512 {
		for len(src) > 0 {
			n := min(len(src), maxCall)
			decodeFloat16AVX512(&dst[0], &src[0], n)
			dst, src = dst[n:], src[n:]
		}
		return
	}
	if useF16C {
		for len(src) >= blockAVX2 {
			n := min(len(src), maxCall) &^ (blockAVX2 - 1)
			decodeFloat16F16C(&dst[0], &src[0], n)
			dst, src = dst[n:], src[n:]
		}
	}
	decodeFloat16Generic(dst, src)
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
