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

// wideOf returns the assembly for all operands, or for a kernel without it what there is.
func wideOf(k *Kernel) (mul, mulF16 KernelFunc) {
	if k.Name == "hopper-go" {
		return k.Mul, k.MulF16
	}
	c := hopperCode{hopperShape: k.hopper, zmm: k.Name == "hopper-avx512"}
	of := func(f16 bool) KernelFunc {
		return func(depth, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
			c.wide(depth, m, a, b, src, lds, dst, ldd, f16)
		}
	}
	return of(false), of(true)
}
