package gemm

import (
	"context"
	"fmt"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/internal/ended"
	"example.com/leafhopper/internal/plan"
	"github.com/x448/float16"
)

// maxNR bounds the width of a panel of B in every kernel.
const maxNR = 64

// epilogue writes rows x cols accumulators, which are overwritten, to C at (row, col): alpha·acc + beta·C, rounded once
// more if C has 16 bits.
func (p *product) epilogue(acc lines, row, col, rows, cols int) {
	for j := 0; j < cols; j += maxNR {
		to, from := p.c.at(row, col+j), lines{unsafe.Add(acc.at, j*p.Kernel.Word), acc.pitch}
		n := min(cols-j, maxNR)
		if p.c.trans { // as only a packed B leaves it: the operands could not change places
			p.storeTransposed(to, from, rows, n)
		} else {
			p.store(to, from, rows, n)
		}
	}
}

// storeTransposed is store for the transpose of rows x cols accumulators.
func (p *product) storeTransposed(to unsafe.Pointer, acc lines, rows, cols int) {
	const pitch = asm.TransposeBytes
	var turned [maxNR * pitch]byte
	width := pitch / p.Kernel.Word
	for i := 0; i < rows; i += width {
		n := min(width, rows-i)
		asm.Transpose(p.Kernel.Sum, unsafe.Pointer(&turned), acc.row(i), acc.pitch, n, cols)
		p.store(unsafe.Add(to, i*p.c.elem.Size()), lines{unsafe.Pointer(&turned), pitch}, cols, n)
	}
}

// oldRows is how many rows of an old C of 16 bits are widened at once.
const oldRows = 16

// store writes rows x cols accumulators, at most maxNR to a row, to rows of C's memory at to. They are overwritten.
func (p *product) store(to unsafe.Pointer, acc lines, rows, cols int) {
	ldc := p.c.pitch()
	switch {
	case p.c.elem == p.Kernel.Sum:
		p.complete(to, lines{to, ldc}, acc, rows, cols)
	case p.beta != 0:
		p.storeOnOld(to, acc, rows, cols)
	default:
		if !p.Plain {
			p.complete(to, acc, acc, rows, cols)
		}
		asm.RoundRows(p.c.elem, to, ldc, acc.at, acc.pitch, rows, cols, p.past)
	}
}

// storeOnOld is store to a C of 16 bits if beta is not 0.
func (p *product) storeOnOld(to unsafe.Pointer, acc lines, rows, cols int) {
	// Outside the loop, because they are cleared where they are declared.
	var short [oldRows * maxNR]uint16
	var wide [oldRows * maxNR]float32
	ldc, width := p.c.pitch(), plan.RoundUp(cols, 16)
	stored, sums := unsafe.Pointer(&short), lines{unsafe.Pointer(&wide), width * 4}
	for i := 0; i < rows; i += oldRows {
		to, n := unsafe.Add(to, i*ldc), min(rows-i, oldRows)
		asm.CopyRows(stored, width*2, to, ldc, n, 2*cols)
		if old := wide[:n*width]; p.c.elem == asm.BF16 {
			bf16.Decode(old, unsafe.Slice((*bf16.BF16)(stored), len(old)))
		} else {
			bf16.DecodeFloat16(old, unsafe.Slice((*float16.Float16)(stored), len(old)))
		}
		p.complete(to, sums, lines{acc.row(i), acc.pitch}, n, cols)
		asm.RoundRows(p.c.elem, to, ldc, sums.at, sums.pitch, n, cols, false)
	}
}

// withoutK computes the product of matrices with K = 0, alpha·0 + beta·C, unless ctx, which may be nil, ends.
func (p *product) withoutK(ctx context.Context) error {
	return ended.Walk(ctx, p.M, p.N, oldRows, p.Kernel.NR, func(row, rows, col, cols int) {
		var zeros [oldRows * maxNR]float32
		p.epilogue(lines{unsafe.Pointer(&zeros), maxNR * 4}, row, col, rows, cols)
	})
}

// setFinish makes the finish of a product whose operands have taken their places, if it has as many rows and columns
// as there are values.
func (p *product) setFinish(asked *finishing) error {
	if *asked == (finishing{any: true}) { // nothing, after all
		return nil
	}
	if p.Elem == asm.F64 {
		return fmt.Errorf("gemm: scales, biases and activations are applied to sums in float32; the operands hold %v",
			p.Elem)
	}
	f := finishes.Get()
	*f = finish{scales: f.scales[:0], activation: asked.activation, first: p.c.ptr, pitch: p.c.pitch()}
	p.finish, p.finishesInC = f, p.c.elem == asm.F32 && p.alpha == 1 && p.beta == 0 && !p.c.trans
	for i, v := range &asked.vectors {
		of, size := &vectorsOf[i], p.c.cols
		if of.rows != p.transposed {
			size = p.c.rows
		}
		if v.at != nil && v.n != size && !(i <= scalesA && v.n == 1) {
			return fmt.Errorf("gemm: %s: %d values for the %d %s", of.option, v.n, size, of.of)
		}
		f.vectors[i].At = unsafe.Pointer(v.at)
		if p.c.overlaps(&view{ptr: f.vectors[i].At, cols: v.n, stride: v.n, len: v.n, rows: 1, elem: asm.F32}) {
			return fmt.Errorf("gemm: %s: the %d values share memory with C", of.option, v.n)
		}
		switch inRow := of.rows == (p.transposed != p.c.trans); {
		case v.n == 1: // for all of C, or of its rows, or columns, there is one
		case inRow:
			f.vectors[i].Col = 4
		default:
			f.vectors[i].Row = 4
		}
	}
	if a, b := asked.vectors[scalesA], asked.vectors[scalesB]; a.n > 0 && b.n == 1 {
		// A row has the same bits alone, where its scale cannot be told from one for all of A.
		for _, s := range unsafe.Slice(a.at, a.n) {
			f.scales = append(f.scales, s*(*b.at))
		}
		f.vectors[scalesB].At, f.vectors[scalesA].At = nil, unsafe.Pointer(&f.scales[0])
	}
	return nil
}

// complete sets dst to all that becomes of rows x cols sums before they are rounded to the elements of C from to on,
// where dst is what they were, if beta asks for that: scales, alpha, beta, biases and activation, of which each step
// is rounded to float32. dst may be acc, which is overwritten.
func (p *product) complete(to unsafe.Pointer, dst, acc lines, rows, cols int) {
	f := p.finish
	if f == nil {
		p.combine(dst, acc, rows, cols)
		return
	}
	// Whatever way the sums took, where they go says which they are.
	at := int(uintptr(to) - uintptr(f.first))
	row, col := at/f.pitch, at%f.pitch/p.c.elem.Size()
	for i := scalesB; i <= scalesA; i++ {
		if v := f.vector(i, row, col); v.At != nil {
			asm.Scale(acc.at, acc.pitch, acc.at, acc.pitch, rows, cols, v)
		}
	}
	if p.alpha != 1 || p.beta != 0 {
		p.combine(dst, acc, rows, cols)
		acc = dst
	}
	bias := f.vector(biasCols, row, col)
	if f.vectors[biasRows].At != nil {
		if bias.At != nil {
			asm.Activate(dst.at, dst.pitch, acc.at, acc.pitch, rows, cols, bias, asm.Identity)
			acc = dst
		}
		bias = f.vector(biasRows, row, col)
	}
	if p.Kernel.Arithmetic == asm.Hopper {
		asm.ActivateHopper(dst.at, dst.pitch, acc.at, acc.pitch, rows, cols, bias, f.activation)
		return
	}
	asm.Activate(dst.at, dst.pitch, acc.at, acc.pitch, rows, cols, bias, f.activation)
}

// combine applies alpha and beta, in the product's arithmetic.
func (p *product) combine(dst, acc lines, rows, cols int) {
	if p.Kernel.Arithmetic == asm.Hopper {
		asm.CombineHopper(p.c.elem, dst.at, dst.pitch, acc.at, acc.pitch, rows, cols, float32(p.alpha), float32(p.beta))
		return
	}
	asm.Combine(p.Kernel.Sum, dst.at, dst.pitch, acc.at, acc.pitch, rows, cols, p.alpha, p.beta)
}
