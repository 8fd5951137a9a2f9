package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"github.com/x448/float16"
)

// maxNR bounds the width of a panel of B in every kernel.
const maxNR = 64

// epilogue writes rows x cols accumulators, which lie NR to a row and are
// overwritten, to C at (row, col): alpha·acc + beta·C, rounded once more if C has 16 bits.
func (p *product) epilogue(acc unsafe.Pointer, row, col, rows, cols int) {
	for i := range rows {
		p.storeRow(p.c.at(row+i, col), unsafe.Slice((*float32)(unsafe.Add(acc, i*p.kernel.NR*4)), cols))
	}
}

// storeRow writes one row of accumulators to the elements of C at to.
func (p *product) storeRow(to unsafe.Pointer, acc []float32) {
	var buf [maxNR]float32
	old := buf[:len(acc)]
	switch p.c.elem {
	case asm.BF16:
		c := unsafe.Slice((*bf16.BF16)(to), len(acc))
		if p.beta != 0 {
			bf16.Decode(old, c)
		}
		p.combine(acc, acc, old)
		bf16.Encode(c, acc)
	case asm.F16:
		c := unsafe.Slice((*float16.Float16)(to), len(acc))
		if p.beta != 0 {
			bf16.DecodeFloat16(old, c)
		}
		p.combine(acc, acc, old)
		bf16.EncodeFloat16(c, acc)
	default:
		c := unsafe.Slice((*float32)(to), len(acc))
		p.combine(c, acc, c)
	}
}

// combine sets dst to alpha·acc + beta·old; it does not read old if beta is 0.
// Every operation is rounded, so that no architecture fuses two of them.
func (p *product) combine(dst, acc, old []float32) {
	switch acc, old := acc[:len(dst)], old[:len(dst)]; {
	case p.beta != 0:
		for i := range dst {
			dst[i] = float32(p.alpha*acc[i]) + float32(p.beta*old[i])
		}
	case p.alpha != 1:
		for i := range dst {
			dst[i] = p.alpha * acc[i]
		}
	default:
		copy(dst, acc)
	}
}

// withoutK computes the product of matrices with K = 0: alpha·0 + beta·C.
func (p *product) withoutK() {
	var zeros [maxNR]float32
	for i := range p.m {
		for j := 0; j < p.n; j += maxNR {
			clear(zeros[:])
			p.storeRow(p.c.at(i, j), zeros[:min(maxNR, p.n-j)])
		}
	}
}
