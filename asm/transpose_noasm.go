//go:build !amd64 || purego

package asm

import "unsafe"

func transpose(dst, src unsafe.Pointer, stride, rows, n int) bool { return false }
