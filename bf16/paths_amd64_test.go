//go:build amd64 && !purego

package bf16

import "iter"

// paths goes through the ways the conversions can take on this architecture. It
// yields the name of each and whether this processor can take it; if so they all
// do, until the loop goes on, whatever they would choose by themselves.
func paths() iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		has512, has2, hasF16C := useAVX512, useAVX2, useF16C
		defer func() { useAVX512, useAVX2, useF16C = has512, has2, hasF16C }()

		useAVX512, useAVX2, useF16C = has512, has2, hasF16C
		if !yield("avx512", has512) {
			return
		}
		useAVX512, useAVX2, useF16C = false, has2, hasF16C
		if !yield("avx2", has2 && hasF16C) {
			return
		}
		useAVX512, useAVX2, useF16C = false, false, false
		yield("go", true)
	}
}
