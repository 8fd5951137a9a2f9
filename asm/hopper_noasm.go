//go:build !amd64 || purego

package asm

// assembleHopper leaves k as it is.
func assembleHopper(k *Kernel) {}
