//go:build amd64 && !purego

package asm

func assemble(k *Kernel) {}
