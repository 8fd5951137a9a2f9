//go:build !amd64 || purego

package asm

// fars returns how many ways k has to prefetch rows of K of type t, or rows along K.
func fars(k *Kernel, t Type, kContiguous bool) int { return 1 }

// setFar says where rows are prefetched to, for the kernels that have a choice; here none has.
func setFar(far bool) (restore func()) { return func() {} }

// setVBMI has no effect: there is no assembly.
func setVBMI(bool) bool { return false }
