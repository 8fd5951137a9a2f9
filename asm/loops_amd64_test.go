//go:build amd64 && !purego

package asm

// setLoop chooses a loop over K for the kernels that have two, and returns what takes that back.
func setLoop(folds bool) (restore func()) {
	was := foldsWords
	foldsWords = folds
	return func() { foldsWords = was }
}

// loops returns how many loops over K k has.
func loops(k *Kernel) int {
	if k.strips == stripsAVX512 {
		return 2
	}
	return 1
}
