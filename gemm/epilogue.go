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
	pitch := p.kernel.NR * 4
	if p.c.trans {
		// Only a packed B leaves C transposed: the operands could not change places.
		for i := range rows {
			for j := range cols {
				p.storeRow(p.c.at(row+i, col+j), unsafe.Slice((*float32)(unsafe.Add(acc, i*pitch+j*4)), 1))
			}
		}
		return
	}
	if p.c.elem == asm.F32 {
		asm.Combine(p.c.at(row, col), p.c.stride*4, acc, pitch, rows, cols, p.alpha, p.beta)
		return
	}
	for i := range rows {
		p.storeRow(p.c.at(row+i, col), unsafe.Slice((*float32)(unsafe.Add(acc, i*pitch)), cols))
	}
}

// storeRow writes one row of accumulators to contiguous elements of C at to.
func (p *product) storeRow(to unsafe.Pointer, acc []float32) {
	var old [maxNR]float32
	sum, n := unsafe.Pointer(&acc[0]), len(acc)
	if p.c.elem == asm.F32 {
		asm.Combine(to, 0, sum, 0, 1, n, p.alpha, p.beta)
		return
	}
	switch {
	case p.beta != 0:
		if p.c.elem == asm.BF16 {
			bf16.Decode(old[:n], unsafe.Slice((*bf16.BF16)(to), n))
		} else {
			bf16.DecodeFloat16(old[:n], unsafe.Slice((*float16.Float16)(to), n))
		}
		asm.Combine(unsafe.Pointer(&old), 0, sum, 0, 1, n, p.alpha, p.beta)
		acc = old[:n]
	case p.alpha != 1:
		asm.Combine(sum, 0, sum, 0, 1, n, p.alpha, 0)
	}
	if p.c.elem == asm.BF16 {
		bf16.Encode(unsafe.Slice((*bf16.BF16)(to), n), acc)
	} else {
		bf16.EncodeFloat16(unsafe.Slice((*float16.Float16)(to), n), acc)
	}
}

// withoutK computes the product of matrices with K = 0: alpha·0 + beta·C.
func (p *product) withoutK() {
	for i := range p.m {
		for j := 0; j < p.n; j += p.kernel.NR {
			var zeros [maxNR]float32
			p.epilogue(unsafe.Pointer(&zeros), i, j, 1, min(p.kernel.NR, p.n-j))
		}
	}
}
