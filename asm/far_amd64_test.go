//go:build amd64 && !purego

package asm

import "slices"

// fars returns how many ways k has to prefetch rows of K of type t, or rows along K.
func fars(k *Kernel, t Type, kContiguous bool) int {
	if t.is8() {
		return 1
	}
	if slices.Contains(streaming, k.Name) && (k.Name != "avx512" || t == F32 || !kContiguous) {
		return 2
	}
	return 1
}

// setFar says whether rows are prefetched to the second-level cache, and returns what takes that back.
func setFar(far bool) (restore func()) {
	was := streamTuned.far
	streamTuned.far = far
	return func() { streamTuned.far = was }
}

// setVBMI says whether there is AVX512-VBMI, if there is, and returns whether there was.
func setVBMI(on bool) (was bool) {
	was = hasVBMI
	hasVBMI = on && machine().lacks(isaVBMI) == nil
	return was
}
