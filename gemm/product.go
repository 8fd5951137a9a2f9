package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
)

// product is one validated C = alpha·A·B + beta·C with a row-major C.
type product struct {
	c, a, b     view
	m, n, k     int
	kernel      *asm.Kernel
	alpha, beta float32
}

// words returns the depth in words of k elements in the kernel's panels.
func (p *product) words(k int) int { return (k + p.kernel.KPack - 1) / p.kernel.KPack }

// direct reports whether accumulators are C's elements as they are.
func (p *product) direct() bool { return p.c.elem == asm.F32 && p.alpha == 1 && p.beta == 0 }

// strip is a piece of C one panel of B wide: rows x cols elements from
// (row, col), with its accumulators in acc, tile after tile of MR x NR.
type strip struct {
	row, col, rows, cols int
	acc                  unsafe.Pointer
}

// multiply adds the product of A's panels and one panel of B, both words deep,
// to the strip's accumulators, which start at zero if first. If last, the result
// goes to C.
func (p *product) multiply(s *strip, words int, a, b unsafe.Pointer, first, last bool) {
	k := p.kernel
	panels := (s.rows + k.MR - 1) / k.MR
	pitch := k.NR * 4
	src := s.acc
	if first {
		src = nil
	}
	if !last {
		p.mul(words, panels, a, b, src, pitch, s.acc, pitch)
		return
	}
	done := 0
	if p.direct() && s.cols == k.NR {
		// Whole tiles go from the accumulators straight to C.
		if full := s.rows / k.MR; full > 0 {
			p.mul(words, full, a, b, src, pitch, p.c.at(s.row, s.col), p.c.stride*4)
			done = full
		}
		if done == panels {
			return
		}
		a = unsafe.Add(a, done*k.MR*words*4)
		if src != nil {
			src = unsafe.Add(src, done*k.MR*pitch)
		}
	}
	p.mul(words, panels-done, a, b, src, pitch, s.acc, pitch)
	p.epilogue(s.acc, s.row+done*k.MR, s.col, s.rows-done*k.MR, s.cols)
}

// callFlops bounds one call of the microkernel, which cannot be preempted: it
// is about 100 µs at the speed of AVX2.
const callFlops = 16 << 20

// mul calls the microkernel for m tiles, a bounded number at a time.
func (p *product) mul(words, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	k := p.kernel
	most := max(1, callFlops/(2*k.KPack*k.MR*k.NR*max(1, words)))
	for ; m > most; m -= most {
		k.Mul(words, most, a, b, src, lds, dst, ldd)
		a = unsafe.Add(a, most*k.MR*words*4)
		dst = unsafe.Add(dst, most*k.MR*ldd)
		if src != nil {
			src = unsafe.Add(src, most*k.MR*lds)
		}
	}
	k.Mul(words, m, a, b, src, lds, dst, ldd)
}
