package bf16

import "github.com/x448/float16"

// The functions in this file define what the assembly of the same name computes.
// Their slices have the same length.

func encodeGeneric(dst []BF16, src []float32) {
	dst = dst[:len(src)]
	for i, f := range src {
		dst[i] = FromFloat32(f)
	}
}

func decodeGeneric(dst []float32, src []BF16) {
	dst = dst[:len(src)]
	for i, b := range src {
		dst[i] = b.Float32()
	}
}

func encodeFloat16Generic(dst []float16.Float16, src []float32) {
	dst = dst[:len(src)]
	for i, f := range src {
		dst[i] = float16.Fromfloat32(f)
	}
}

func decodeFloat16Generic(dst []float32, src []float16.Float16) {
	dst = dst[:len(src)]
	for i, h := range src {
		dst[i] = h.Float32()
	}
}
