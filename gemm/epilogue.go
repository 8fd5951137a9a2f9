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
	p.storeBlocks(row, col, acc, rows, cols)
}

// oldRows is how many rows of an old C of 16 bits are widened at once.
const oldRows = 16

// storeBlocks writes rows x cols accumulators, NR to a row, to a C of 16 bits at
// (row, col).
func (p *product) storeBlocks(row, col int, acc unsafe.Pointer, rows, cols int) {
	nr, to, ldc := p.kernel.NR, p.c.at(row, col), p.c.pitch()
	pitch := nr * 4
	if p.beta == 0 {
		if p.alpha != 1 {
			asm.Combine(acc, pitch, acc, pitch, rows, cols, p.alpha, 0)
		}
		asm.RoundRows(p.c.elem, to, ldc, acc, pitch, rows, cols, p.past)
		if p.past {
			asm.Fence()
		}
		return
	}
	// Outside the loop, because they are cleared where they are declared.
	var short [oldRows * maxNR]uint16
	var wide [oldRows * maxNR]float32
	stored, sums := unsafe.Pointer(&short), unsafe.Pointer(&wide)
	for i := 0; i < rows; i += oldRows {
		to, acc, some := unsafe.Add(to, i*ldc), unsafe.Add(acc, i*pitch), min(rows-i, oldRows)
		asm.CopyRows(stored, nr*2, to, ldc, some, 2*cols)
		p.decode(wide[:some*nr], stored)
		asm.Combine(sums, pitch, acc, pitch, some, cols, p.alpha, p.beta)
		asm.RoundRows(p.c.elem, to, ldc, sums, pitch, some, cols, false)
	}
}

// decode widens 16-bit elements of C's type.
func (p *product) decode(to []float32, from unsafe.Pointer) {
	if p.c.elem == asm.BF16 {
		bf16.Decode(to, unsafe.Slice((*bf16.BF16)(from), len(to)))
	} else {
		bf16.DecodeFloat16(to, unsafe.Slice((*float16.Float16)(from), len(to)))
	}
}

// encode rounds to 16-bit elements of C's type.
func (p *product) encode(to unsafe.Pointer, from []float32) {
	if p.c.elem == asm.BF16 {
		bf16.Encode(unsafe.Slice((*bf16.BF16)(to), len(from)), from)
	} else {
		bf16.EncodeFloat16(unsafe.Slice((*float16.Float16)(to), len(from)), from)
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
		p.decode(old[:n], to)
		asm.Combine(unsafe.Pointer(&old), 0, sum, 0, 1, n, p.alpha, p.beta)
		acc = old[:n]
	case p.alpha != 1:
		asm.Combine(sum, 0, sum, 0, 1, n, p.alpha, 0)
	}
	p.encode(to, acc)
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
