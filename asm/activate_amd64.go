//go:build amd64 && !purego

package asm

import "unsafe"

var hasAVX512, hasAVX2 = machine().lacks(isaAVX512) == nil, machine().lacks(isaAVX2) == nil

// applyVectors is applyGeneric, in assembly, if there is any.
func applyVectors(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, cols int, v Vector, how pass) bool {
	switch {
	case hasAVX512:
		applyAVX512(dst, ldd, src, lds, rows, cols, v.At, v.Row, v.Col, int(how))
	case hasAVX2:
		applyAVX2(dst, ldd, src, lds, rows, cols, v.At, v.Row, v.Col, int(how))
	default:
		return false
	}
	return true
}
