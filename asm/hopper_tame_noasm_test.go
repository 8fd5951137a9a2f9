//go:build !amd64 || purego

package asm

import "unsafe"

// isTame finds no assembly in this build.
func isTame(k *Kernel, src unsafe.Pointer, lds int) (tame, ok bool) { return false, false }

// wideOf finds none either.
func wideOf(k *Kernel) (mul, mulF16 KernelFunc) { return k.Mul, k.MulF16 }
