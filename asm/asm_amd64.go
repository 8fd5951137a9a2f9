//go:build amd64 && !purego

package asm

import "unsafe"

// The strip kernels; see [KernelFunc].

//go:noescape
func mulAVX512BF16(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int)

//go:noescape
func mulAVX512(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int)

//go:noescape
func mulAVX2(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int)

// The loops that measure peaks; see [Kernel.Peak].

func peakAVX512BF16(n int)
func peakAVX512(n int)
func peakAVX2(n int)

// Flops in a turn of a peak loop: accumulators × lanes × 2, and twice that for pairs.
const (
	peakAVX512BF16Flops = 24 * 16 * 4
	peakAVX512Flops     = 24 * 16 * 2
	peakAVX2Flops       = 12 * 8 * 2
)

// assembled says that this build has assembly.
const assembled = true

// assemble gives k its assembly.
func assemble(k *Kernel) {
	switch k.Name {
	case "avx512bf16":
		k.Mul, k.Peak, k.PeakFlops = mulAVX512BF16, peakAVX512BF16, peakAVX512BF16Flops
	case "avx512":
		k.Mul, k.Peak, k.PeakFlops = mulAVX512, peakAVX512, peakAVX512Flops
	case "avx2":
		k.Mul, k.Peak, k.PeakFlops = mulAVX2, peakAVX2, peakAVX2Flops
	}
	assemblePackers(k)
	assembleStreams(k)
	if k.step == amxStep {
		assembleAMX(k)
	}
}
