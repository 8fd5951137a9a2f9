//go:build !amd64 || purego

package bf16

import "github.com/x448/float16"

func encode(dst []BF16, src []float32) { encodeGeneric(dst, src) }
func decode(dst []float32, src []BF16) { decodeGeneric(dst, src) }

func encodeFloat16(dst []float16.Float16, src []float32) { encodeFloat16Generic(dst, src) }
func decodeFloat16(dst []float32, src []float16.Float16) { decodeFloat16Generic(dst, src) }
