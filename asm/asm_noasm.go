//go:build !amd64 || purego

package asm

import "unsafe"

// assembled says that this build has none.
const assembled = false

// assemble leaves k as it is.
func assemble(k *Kernel) {}

// mulStrips reports that k has no strip kernel.
func (k *Kernel) mulStrips(how way, words, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, next *Ahead) bool {
	return false
}

// mulPack reports that k has no kernel that packs.
func (k *Kernel) mulPack(t Type, words, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, pack *Packing) bool {
	return false
}
