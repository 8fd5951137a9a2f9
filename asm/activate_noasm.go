//go:build !amd64 || purego

package asm

import "unsafe"

func applyVectors(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, cols int, v Vector, how pass) bool {
	return false
}
