package asm

import "unsafe"

// A Packing is a panel of B that is packed while another is multiplied, so that packing costs nothing: what
// [Kernel.PackB] does to Panel with NR columns of K elements. K is a multiple of KPack, and 0 for nothing to do. Rows
// of K lie Stride bytes apart from B on or, with KContiguous, columns. No other operand may overlap the panel.
//
// B should be in a cache. What will be packed later is brought closer meanwhile. Of rows of K that is a chunk of
// [PackChunk] bytes for as many bytes of a column as a word has, from Next on, Pitch bytes apart: rows of 16-bit
// elements are half a chunk long in one panel, so that half as many chunks serve two. Of columns it is as many as long
// as those of B, from Next on, Stride apart. It need not exist.
type Packing struct {
	B           unsafe.Pointer
	Stride      int            // bytes between rows of K, or columns
	KContiguous bool           // K runs along the rows of memory, which are columns
	K           int            // elements of K
	Panel       unsafe.Pointer // where to pack
	Next        unsafe.Pointer // what is brought closer
	Pitch       int            // bytes between its chunks
}

// PackChunk is the bytes that are brought closer of a row of K at a time.
const PackChunk = 128

// PackSteps is how many steps of K a kernel multiplies while it packs one word of K of a [Packing]. What is not
// packed when the tiles end is packed after them, and takes time of its own.
const PackSteps = 2

// transposeLine is the bytes of words of K that are transposed at a time behind products.
const transposeLine = 64

// PackDepth returns what K of a [Packing] of elements of type t must be a multiple of for MulPack to pack them behind
// its products, or 0 if the kernel cannot.
func (k *Kernel) PackDepth(t Type, kContiguous bool) int {
	switch {
	case !k.Accepts(t) || k.mulPack[t][packSlot(kContiguous)] == nil:
		return 0
	case kContiguous:
		return transposeLine / k.Word * k.KPack
	}
	return k.KPack
}

// MulPack is Mul, and packs a panel of B of type t meanwhile, or afterwards if the kernel cannot do both at once.
func (k *Kernel) MulPack(
	t Type, words, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, pack *Packing,
) {
	depth := k.PackDepth(t, pack.KContiguous)
	if depth == 0 || pack.K%depth != 0 {
		mulPackGeneric(k, k.Mul, t, words, m, a, b, src, lds, dst, ldd, pack)
		return
	}
	k.mulPack[t][packSlot(pack.KContiguous)](words, m, a, b, src, lds, dst, ldd, *pack)
}

// mulPackGeneric is the twin of the kernels of kern that pack; mul is the kernel's Mul or Ref.
func mulPackGeneric(
	kern *Kernel, mul KernelFunc, t Type,
	words, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, pack *Packing,
) {
	mul(words, m, a, b, src, lds, dst, ldd)
	if pack.K > 0 {
		kern.PackB(t, pack.KContiguous)(pack.Panel, pack.B, pack.Stride, kern.NR, pack.K)
	}
}
