//go:build amd64 && !purego

package asm

// fars returns how many ways k has to prefetch rows of K of type t, or rows along K.
func fars(k *Kernel, t Type, kContiguous bool) int {
	if k.Name == "avx512bf16" || k.Name == "avx512" && (t == F32 || !kContiguous) {
		return 2
	}
	return 1
}

// setFar says whether rows are prefetched to the second-level cache, and returns what takes that back.
func setFar(far bool) (restore func()) {
	was := farB
	farB = far
	return func() { farB = was }
}
