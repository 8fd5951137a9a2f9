package gemm

import (
	"fmt"
	"sync"
	"unsafe"

	"example.com/leafhopper/asm"
)

// finishing is what options ask to happen to sums besides alpha and beta.
type finishing struct {
	any        bool
	vectors    [numVectors]vector
	activation asm.Activation
}

// The vectors of a product, in the order in which they are applied.
const (
	scalesB = iota
	scalesA
	biasCols
	biasRows
	numVectors
)

// vector is the values of an option.
type vector struct {
	at *float32 // nil if there is none
	n  int
}

// vectorsOf says of vectors which option they are of, and what there is a value for.
var vectorsOf = [numVectors]struct {
	option, of string
	rows       bool // of A and C, or columns of B and C
}{
	scalesB:  {"WithScales", "columns of B, or one", false},
	scalesA:  {"WithScales", "rows of A, or one", true},
	biasCols: {"WithBias", "columns of C", false},
	biasRows: {"WithRowBias", "rows of C", true},
}

// finish is what happens to sums on their way to C besides alpha and beta.
type finish struct {
	vectors [numVectors]asm.Vector // along C as it lies in memory, for its first element
	scales  []float32              // products of A's and B's, if B has one
	f       asm.Activation
	first   unsafe.Pointer // element of C
	pitch   int            // bytes between rows of C
}

// finishes are for products that workers share, too, and so cannot lie on a stack. Few products have one, and all
// would have to make room for it.
var finishes = sync.Pool{New: func() any { return new(finish) }}

// setFinish makes the finish of a product whose operands have taken their places, if it has as many rows and columns
// as there are values.
func (p *product) setFinish(asked *finishing) error {
	if *asked == (finishing{any: true}) { // nothing, after all
		return nil
	}
	f := finishes.Get().(*finish)
	*f = finish{scales: f.scales[:0], f: asked.activation, first: p.c.ptr, pitch: p.c.pitch()}
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

// release gives the finish back, without what it points to.
func (f *finish) release() {
	*f = finish{scales: f.scales}
	finishes.Put(f)
}

// vector returns what a vector has for the elements of C from row and col on, as they lie in memory.
func (f *finish) vector(i, row, col int) asm.Vector {
	v := f.vectors[i]
	v.At = forward(v.At, row*v.Row+col*v.Col)
	return v
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
		asm.ActivateHopper(dst.at, dst.pitch, acc.at, acc.pitch, rows, cols, bias, f.f)
		return
	}
	asm.Activate(dst.at, dst.pitch, acc.at, acc.pitch, rows, cols, bias, f.f)
}

// combine applies alpha and beta, in the product's arithmetic.
func (p *product) combine(dst, acc lines, rows, cols int) {
	if p.Kernel.Arithmetic == asm.Hopper {
		asm.CombineHopper(p.c.elem, dst.at, dst.pitch, acc.at, acc.pitch, rows, cols, p.alpha, p.beta)
		return
	}
	asm.Combine(dst.at, dst.pitch, acc.at, acc.pitch, rows, cols, p.alpha, p.beta)
}
