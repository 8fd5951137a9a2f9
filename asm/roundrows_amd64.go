//go:build amd64 && !purego

package asm

import "unsafe"

// roundRowsBF16 is roundRowsGeneric in AVX2; rows and n are positive, and n is a multiple of PastLine/2 to go past
// the caches.
//
//go:noescape
func roundRowsBF16(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int, past bool)

// roundRowsF16 is the same to F16, in F16C.
//
//go:noescape
func roundRowsF16(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int, past bool)

// fence is SFENCE.
func fence()
