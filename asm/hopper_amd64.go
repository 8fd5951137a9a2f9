//go:build amd64 && !purego

package asm

// assembleHopper gives k its assembly.
func assembleHopper(k *Kernel) {}
