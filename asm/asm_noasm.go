//go:build !amd64 || purego

package asm

// assemble leaves k without assembly: this build has none.
func assemble(k *Kernel) {}
