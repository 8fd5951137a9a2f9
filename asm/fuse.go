package asm

import "unsafe"

// A FuseFunc packs a panel of B from rows of K and multiplies it by one panel of A while it passes by: it does what
// [Kernel.PackB] does to panel with NR columns of k elements, whose rows lie stride bytes apart from b on, and then what
// [Kernel.Mul] does with a single tile. k is a positive multiple of KPack.
//
// Packing costs nothing then, as long as B arrives: FuseFunc prefetches all rows but the first [FuseAhead].
type FuseFunc func(k int, a, b unsafe.Pointer, stride int, panel, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int)

// FuseAhead is the number of rows of K that a FuseFunc expects to find in a cache.
const FuseAhead = 64

// Fuse returns the kernel's FuseFunc for B of type t, or nil if it has none.
func (k *Kernel) Fuse(t Type) FuseFunc {
	if !k.Accepts(t) {
		return nil
	}
	return k.fuse[t]
}

// fuseGeneric is the twin of the fused kernels of kern, whose Mul or Ref is mul.
func fuseGeneric(kern *Kernel, mul KernelFunc, t Type) FuseFunc {
	return func(k int, a, b unsafe.Pointer, stride int, panel, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
		packGeneric(t, kern.KPack, kern.NR, false, panel, b, stride, kern.NR, k)
		mul(k/kern.KPack, 1, a, panel, src, lds, dst, ldd)
	}
}
