//go:build !amd64 || purego

package asm

import "unsafe"

func widenRows(t Type, dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int) {
	widenGeneric(t, dst, ldd, src, lds, rows, n)
}
