//go:build amd64 && !purego

package asm

import "unsafe"

// isTame runs the assembly's test of accumulators; ok is false for a kernel without one.
func isTame(k *Kernel, src unsafe.Pointer, lds int) (tame, ok bool) {
	wild := 0
	switch k.Name {
	case "hopper-avx512":
		tameHopper512(src, lds, k.MR, tameFrom, tameSpan, &wild)
	case "hopper-avx2":
		tameHopper256(src, lds, k.MR, tameFrom, tameSpan, &wild)
	default:
		return false, false
	}
	return wild == 0, true
}
