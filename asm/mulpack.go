package asm

import "unsafe"

// A Packing is a panel of B that is packed while another is multiplied, so that packing costs nothing: what
// [Kernel.PackB] does to Panel with NR columns of K elements, whose rows lie Stride bytes apart from B on. K is a multiple of
// KPack, and 0 for nothing to do. No other operand may overlap the panel.
//
// B should be in a cache. What will be packed later is brought closer meanwhile: a chunk of [AheadChunk] bytes for every 4 bytes
// that a column has, from Next on, Pitch bytes apart. Rows of 16-bit elements are half a chunk long in one panel, so that
// half as many chunks serve two. Like what an [Ahead] fetches they need not exist.
type Packing struct {
	B      unsafe.Pointer
	Stride int
	K      int
	Panel  unsafe.Pointer
	Next   unsafe.Pointer
	Pitch  int
}

// PackSteps is how many steps of K a word of K of a [Packing] takes: what is left of it when the tiles end takes time of its own.
const PackSteps = 2

// Packs reports whether MulPack packs elements of type t behind its products.
func (k *Kernel) Packs(t Type) bool {
	if k.strips == stripsAVX512BF16 {
		return t == BF16
	}
	return k.Ahead() && k.Accepts(t)
}

// MulPack is Mul, and packs a panel of B of type t meanwhile, or afterwards if the kernel cannot do both at once.
func (k *Kernel) MulPack(t Type, words, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, pack *Packing) {
	if !k.mulPack(t, words, m, a, b, src, lds, dst, ldd, pack) {
		mulPackGeneric(k, k.Mul, t, words, m, a, b, src, lds, dst, ldd, pack)
	}
}

// mulPackGeneric is the twin of the kernels of kern that pack; mul is the kernel's Mul or Ref.
func mulPackGeneric(kern *Kernel, mul KernelFunc, t Type, words, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, pack *Packing) {
	mul(words, m, a, b, src, lds, dst, ldd)
	if pack.K > 0 {
		kern.PackB(t, false)(pack.Panel, pack.B, pack.Stride, kern.NR, pack.K)
	}
}
