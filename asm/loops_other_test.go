//go:build !amd64 || purego

package asm

// setLoop chooses a loop over K for the kernels that have two; here none has.
func setLoop(folds bool) (restore func()) { return func() {} }

// loops returns how many loops over K k has.
func loops(k *Kernel) int { return 1 }
