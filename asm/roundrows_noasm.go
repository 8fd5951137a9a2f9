//go:build !amd64 || purego

package asm

import "unsafe"

func roundRowsBF16(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int, past bool) {
	roundRowsGeneric(BF16, dst, ldd, src, lds, rows, n)
}

func roundRowsF16(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int, past bool) {
	roundRowsGeneric(F16, dst, ldd, src, lds, rows, n)
}

func fence() {}
