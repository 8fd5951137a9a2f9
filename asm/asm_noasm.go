//go:build !amd64 || purego

package asm

// assembled says that this build has none.
const assembled = false

// assemble leaves k as it is.
func assemble(k *Kernel) {}
