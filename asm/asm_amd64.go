//go:build amd64 && !purego

package asm

import "unsafe"

// Flops in a turn of a peak loop: accumulators × lanes × 2, and twice that for pairs.
const (
	peakAVX512BF16Flops = 24 * 16 * 4
	peakAVX512Flops     = 24 * 16 * 2
	peakAVX2Flops       = 12 * 8 * 2
)

// foldsWords asks the kernels of stripsAVX512 for their loop with fewer instructions and more loads.
var foldsWords = machine().crowded()

// assembled says that this build has assembly.
const assembled = true

// assemble gives k its assembly.
func assemble(k *Kernel) {
	switch k.Name {
	case "avx512bf16":
		k.strips, k.Peak, k.PeakFlops = stripsAVX512BF16, peakAVX512BF16, peakAVX512BF16Flops
		k.rows[BF16], k.rowsPast[BF16] = rowsAVX512BF16, rowsPastAVX512BF16
		k.round[BF16] = rounders{rows: roundRowsBF16AVX512BF16, rowsPast: roundRowsPastBF16AVX512BF16}
	case "avx512":
		k.strips, k.Peak, k.PeakFlops = stripsAVX512, peakAVX512, peakAVX512Flops
		k.rows[F32], k.rowsPast[F32] = rowsAVX512, rowsPastAVX512
		k.round[BF16] = rounders{rows: roundRowsBF16AVX512, rowsPast: roundRowsPastBF16AVX512}
		k.round[F16] = rounders{rows: roundRowsF16AVX512, rowsPast: roundRowsPastF16AVX512}
	case "avx2":
		k.strips, k.Peak, k.PeakFlops = stripsAVX2, peakAVX2, peakAVX2Flops
		k.rows[F32] = rowsAVX2
	}
	if k.strips != stripsNone {
		kern := k
		k.Mul = func(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
			kern.mulStrips(wayAhead, k, m, a, b, src, lds, dst, ldd, nil)
		}
	}
	assemblePackers(k)
	assembleStreams(k)
	assembleEdge(k)
	assembleUnpacked(k)
	if k.step == amxStep {
		assembleAMX(k)
	}
}

// mulStrips calls the strip kernel of k for a way, and reports whether there is one. Calls by name, unlike those of a function
// value, let the compiler see that next does not escape.
func (k *Kernel) mulStrips(how way, words, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, next *Ahead) bool {
	switch {
	case k.strips == stripsAVX512BF16 && how == wayAhead:
		mulAVX512BF16(words, m, a, b, src, lds, dst, ldd, next)
	case k.strips == stripsAVX512BF16 && how == wayPast:
		pastAVX512BF16(words, m, a, b, src, lds, dst, ldd, next)
	case k.strips == stripsAVX512BF16 && how == wayRoundBF16:
		roundBF16AVX512BF16(words, m, a, b, src, lds, dst, ldd, next)
	case k.strips == stripsAVX512BF16 && how == wayRoundPastBF16:
		roundPastBF16AVX512BF16(words, m, a, b, src, lds, dst, ldd, next)
	case k.strips == stripsAVX512 && how == wayAhead:
		mulAVX512(words, m, a, b, src, lds, dst, ldd, next)
	case k.strips == stripsAVX512 && how == wayPast:
		pastAVX512(words, m, a, b, src, lds, dst, ldd, next)
	case k.strips == stripsAVX512 && how == wayRoundBF16:
		roundBF16AVX512(words, m, a, b, src, lds, dst, ldd, next)
	case k.strips == stripsAVX512 && how == wayRoundPastBF16:
		roundPastBF16AVX512(words, m, a, b, src, lds, dst, ldd, next)
	case k.strips == stripsAVX512 && how == wayRoundF16:
		roundF16AVX512(words, m, a, b, src, lds, dst, ldd, next)
	case k.strips == stripsAVX512 && how == wayRoundPastF16:
		roundPastF16AVX512(words, m, a, b, src, lds, dst, ldd, next)
	case k.strips == stripsAVX2 && how == wayAhead:
		mulAVX2(words, m, a, b, src, lds, dst, ldd, next)
	case k.strips == stripsAMX && how == wayPast:
		pastAMX(words, m, a, b, src, lds, dst, ldd)
	case k.strips == stripsAMX && how == wayRoundBF16:
		roundAMX(words, m, a, b, src, lds, dst, ldd)
	case k.strips == stripsAMX && how == wayRoundPastBF16:
		roundPastAMX(words, m, a, b, src, lds, dst, ldd)
	default:
		return false
	}
	return true
}
