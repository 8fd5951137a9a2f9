package fp8

import (
	"fmt"
	"unsafe"
)

// EncodeE4M3 sets dst[i] to E4M3FromFloat32(src[i]) for every element of src. It
// panics, before it writes anything, if dst is shorter than src; elements of dst
// beyond len(src) are left alone.
func EncodeE4M3(dst []E4M3, src []float32) {
	checkLen("EncodeE4M3", len(dst), len(src))
	for i, f := range src {
		dst[i] = E4M3FromFloat32(f)
	}
}

// EncodeE4M3Saturate is [EncodeE4M3] with [E4M3Saturate].
func EncodeE4M3Saturate(dst []E4M3, src []float32) {
	checkLen("EncodeE4M3Saturate", len(dst), len(src))
	for i, f := range src {
		dst[i] = E4M3Saturate(f)
	}
}

// DecodeE4M3 sets dst[i] to src[i].Float32() for every element of src. It panics,
// before it writes anything, if dst is shorter than src; elements of dst beyond
// len(src) are left alone.
func DecodeE4M3(dst []float32, src []E4M3) {
	checkLen("DecodeE4M3", len(dst), len(src))
	for i, e := range src {
		dst[i] = e.Float32()
	}
}

// EncodeE5M2 sets dst[i] to E5M2FromFloat32(src[i]) for every element of src. It
// panics, before it writes anything, if dst is shorter than src; elements of dst
// beyond len(src) are left alone.
func EncodeE5M2(dst []E5M2, src []float32) {
	checkLen("EncodeE5M2", len(dst), len(src))
	for i, f := range src {
		dst[i] = E5M2FromFloat32(f)
	}
}

// EncodeE5M2Saturate is [EncodeE5M2] with [E5M2Saturate].
func EncodeE5M2Saturate(dst []E5M2, src []float32) {
	checkLen("EncodeE5M2Saturate", len(dst), len(src))
	for i, f := range src {
		dst[i] = E5M2Saturate(f)
	}
}

// DecodeE5M2 sets dst[i] to src[i].Float32() for every element of src. It panics,
// before it writes anything, if dst is shorter than src; elements of dst beyond
// len(src) are left alone.
func DecodeE5M2(dst []float32, src []E5M2) {
	checkLen("DecodeE5M2", len(dst), len(src))
	for i, e := range src {
		dst[i] = e.Float32()
	}
}

// checkLen panics if the destination of the function called name is too short.
func checkLen(name string, dst, src int) {
	if dst < src {
		panic(fmt.Sprintf("fp8: %s: dst has %d elements, src has %d", name, dst, src))
	}
}

// fromBits returns the memory of s as numbers.
func fromBits[F E4M3 | E5M2, T ~uint8](s []T) []F {
	return unsafe.Slice((*F)(unsafe.Pointer(unsafe.SliceData(s))), cap(s))[:len(s)]
}
