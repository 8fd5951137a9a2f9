//go:build amd64 && !purego

package asm

import "unsafe"

// Candidates for the AMX kernel; amxVariants describes them.

//go:noescape
func mulAMXSquareA2(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int)

//go:noescape
func mulAMXSquareA4(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int)

//go:noescape
func mulAMXSquareNext(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int)

//go:noescape
func mulAMXSquareT1(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int)

//go:noescape
func mulAMXSnake(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int)

//go:noescape
func mulAMXWide(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int)

//go:noescape
func mulAMXWideA2(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int)

//go:noescape
func mulAMXWideA8(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int)

//go:noescape
func mulAMXWideNext(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int)

//go:noescape
func mulAMXWiderA4(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int)
