//go:build amd64 && !purego

package asm

import "unsafe"

// The kernels that pack a panel of B as they multiply another; see [Packing]. Pairs, Words, BF16 and F16 say what B holds; 256 is for
// those of AVX2, T for a B whose columns lie along K.

// mulPack calls the kernel that packs elements of type t as it multiplies, and reports whether there is one; see PackDepth and mulStrips.
func (k *Kernel) mulPack(t Type, words, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, pack *Packing) bool {
	switch {
	case k.strips == stripsAVX512BF16 && t == BF16 && pack.KContiguous:
		mulPackTPairs(words, m, a, b, src, lds, dst, ldd, pack)
	case k.strips == stripsAVX512 && t == F32 && pack.KContiguous:
		mulPackTWords(words, m, a, b, src, lds, dst, ldd, pack)
	case k.strips == stripsAVX512 && t == BF16 && pack.KContiguous:
		mulPackTBF16(words, m, a, b, src, lds, dst, ldd, pack)
	case k.strips == stripsAVX512 && t == F16 && pack.KContiguous:
		mulPackTF16(words, m, a, b, src, lds, dst, ldd, pack)
	case k.strips == stripsAVX512BF16 && t == BF16:
		mulPackPairs(words, m, a, b, src, lds, dst, ldd, pack)
	case k.strips == stripsAVX512 && t == F32:
		mulPackWords(words, m, a, b, src, lds, dst, ldd, pack)
	case k.strips == stripsAVX512 && t == BF16:
		mulPackBF16(words, m, a, b, src, lds, dst, ldd, pack)
	case k.strips == stripsAVX512 && t == F16:
		mulPackF16(words, m, a, b, src, lds, dst, ldd, pack)
	case k.strips == stripsAVX2 && t == F32:
		mulPack256Words(words, m, a, b, src, lds, dst, ldd, pack)
	case k.strips == stripsAVX2 && t == BF16:
		mulPack256BF16(words, m, a, b, src, lds, dst, ldd, pack)
	case k.strips == stripsAVX2 && t == F16:
		mulPack256F16(words, m, a, b, src, lds, dst, ldd, pack)
	default:
		return false
	}
	return true
}
