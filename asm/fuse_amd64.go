//go:build amd64 && !purego

package asm

import "unsafe"

// The fused kernels; see [FuseFunc]. Pairs, Words, BF16 and F16 say what B holds; 256 is for those of AVX2.

//go:noescape
func fusePairs(k int, a, b unsafe.Pointer, stride int, panel, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int)

//go:noescape
func fuseWords(k int, a, b unsafe.Pointer, stride int, panel, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int)

//go:noescape
func fuseBF16(k int, a, b unsafe.Pointer, stride int, panel, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int)

//go:noescape
func fuseF16(k int, a, b unsafe.Pointer, stride int, panel, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int)

//go:noescape
func fuse256Words(k int, a, b unsafe.Pointer, stride int, panel, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int)

//go:noescape
func fuse256BF16(k int, a, b unsafe.Pointer, stride int, panel, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int)

//go:noescape
func fuse256F16(k int, a, b unsafe.Pointer, stride int, panel, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int)

// The same with A in rows; see [FuseRowsFunc].

//go:noescape
func fuseRowsPairs(k int, a, b unsafe.Pointer, stride int, panel, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, lda int)

//go:noescape
func fuseRowsWords(k int, a, b unsafe.Pointer, stride int, panel, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, lda int)

//go:noescape
func fuse256RowsWords(k int, a, b unsafe.Pointer, stride int, panel, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, lda int)

// assembleFuse gives k the fused kernels that fit its panels.
func assembleFuse(k *Kernel) {
	switch k.Name {
	case "avx512bf16":
		k.fuse[BF16], k.fuseRows[BF16] = fusePairs, fuseRowsPairs
	case "avx512":
		k.fuse[F32], k.fuse[BF16], k.fuse[F16] = fuseWords, fuseBF16, fuseF16
		k.fuseRows[F32] = fuseRowsWords
	case "avx2":
		k.fuse[F32], k.fuse[BF16], k.fuse[F16] = fuse256Words, fuse256BF16, fuse256F16
		k.fuseRows[F32] = fuse256RowsWords
	}
}
