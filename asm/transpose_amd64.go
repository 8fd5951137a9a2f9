//go:build amd64 && !purego

package asm

import "unsafe"

var transposes = machine().lacks(isaAVX512) == nil

// transpose transposes with the packer of panels as wide, if this processor can.
func transpose(dst, src unsafe.Pointer, stride, rows, n int) bool {
	if transposes {
		packAlong512Wordsx32(dst, src, stride, rows, n)
	}
	return transposes
}
