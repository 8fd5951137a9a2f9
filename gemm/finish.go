package gemm

import (
	"fmt"
	"math"
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

// check reports whether the vectors have as many values as a product needs that has m rows and n columns.
func (f *finishing) check(m, n int) error {
	for i, v := range &f.vectors {
		size := n
		if vectorsOf[i].rows {
			size = m
		}
		if v.at != nil && v.n != size && !(i <= scalesA && v.n == 1) {
			return fmt.Errorf("gemm: %s: %d values for the %d %s", vectorsOf[i].option, v.n, size, vectorsOf[i].of)
		}
	}
	return nil
}

// finish is what happens to sums on their way to C besides alpha and beta.
type finish struct {
	vectors [numVectors]asm.Vector // along C as it lies in memory, for its first element
	both    bool                   // scales are one value each,
	scale   float32                // and this is their product
	f       asm.Activation
	first   unsafe.Pointer // element of C
	pitch   int            // bytes between rows of C
}

// finishes are for products that workers share, too, and so cannot lie on a stack. Few products have one, and all
// would have to make room for it.
var finishes = sync.Pool{New: func() any { return new(finish) }}

// setFinish makes the finish of a product whose operands have taken their places.
func (p *product) setFinish(asked *finishing) {
	if asked.activation == asm.Identity && asked.vectors == [numVectors]vector{} {
		return
	}
	f := finishes.Get().(*finish)
	*f = finish{f: asked.activation, first: p.c.ptr, pitch: p.c.pitch()}
	p.finish, p.inC = f, p.c.elem == asm.F32 && p.alpha == 1 && p.beta == 0 && !p.c.trans
	if rows, _ := p.c.stored(); rows == 1 {
		f.pitch = math.MaxInt // which its stride does not say
	}
	for i, v := range &asked.vectors {
		f.vectors[i].At = unsafe.Pointer(v.at)
		switch alongRow := vectorsOf[i].rows == (p.turned != p.c.trans); {
		case v.n == 1: // for all of C, or of its rows, or columns, there is one
		case alongRow:
			f.vectors[i].Col = 4
		default:
			f.vectors[i].Row = 4
		}
	}
	if a, b := asked.vectors[scalesA], asked.vectors[scalesB]; a.n == 1 && b.n == 1 {
		f.both, f.scale, f.vectors[scalesA].At = true, *a.at**b.at, nil
	}
}

// release gives the finish back, without what it points to.
func (f *finish) release() {
	*f = finish{}
	finishes.Put(f)
}

// vector returns what a vector has for the elements of C from row and col on, as they lie in memory.
func (f *finish) vector(i, row, col int) asm.Vector {
	v := f.vectors[i]
	v.At = forward(v.At, row*v.Row+col*v.Col)
	if f.both && i == scalesB {
		v.At = unsafe.Pointer(&f.scale)
	}
	return v
}

// complete sets dst to all that becomes of rows x cols sums before they are rounded to the elements of C from to on,
// where dst is what they were, if beta asks for that: scales, alpha, beta, biases and activation, of which each step
// is rounded to float32. dst may be acc, which is overwritten.
func (p *product) complete(to, dst unsafe.Pointer, ldd int, acc unsafe.Pointer, pitch, rows, cols int) {
	f := p.finish
	if f == nil {
		p.combine(dst, ldd, acc, pitch, rows, cols)
		return
	}
	// Whatever way the sums took, where they go says which they are.
	at := int(uintptr(to) - uintptr(f.first))
	row, col := at/f.pitch, at%f.pitch/p.c.elem.Size()
	for i := scalesB; i <= scalesA; i++ {
		if v := f.vector(i, row, col); v.At != nil {
			asm.Scale(acc, pitch, acc, pitch, rows, cols, v)
		}
	}
	if p.alpha != 1 || p.beta != 0 {
		p.combine(dst, ldd, acc, pitch, rows, cols)
		acc, pitch = dst, ldd
	}
	bias := f.vector(biasCols, row, col)
	if f.vectors[biasRows].At != nil {
		if bias.At != nil {
			asm.Activate(dst, ldd, acc, pitch, rows, cols, bias, asm.Identity)
			acc, pitch = dst, ldd
		}
		bias = f.vector(biasRows, row, col)
	}
	if p.Kernel.Arithmetic == asm.Hopper {
		asm.ActivateHopper(dst, ldd, acc, pitch, rows, cols, bias, f.f)
		return
	}
	asm.Activate(dst, ldd, acc, pitch, rows, cols, bias, f.f)
}

// combine applies alpha and beta, in the product's arithmetic.
func (p *product) combine(dst unsafe.Pointer, ldd int, acc unsafe.Pointer, pitch, rows, cols int) {
	if p.Kernel.Arithmetic == asm.Hopper {
		asm.CombineHopper(p.c.elem, dst, ldd, acc, pitch, rows, cols, p.alpha, p.beta)
		return
	}
	asm.Combine(dst, ldd, acc, pitch, rows, cols, p.alpha, p.beta)
}

// finishRows is how many rows of C kernels store at most before they are completed: caches keep so many, though they
// are a power of two apart.
const finishRows = 32

// completeC completes rows x cols elements of C from to on.
func (p *product) completeC(to unsafe.Pointer, rows, cols int) {
	p.complete(to, to, p.c.pitch(), to, p.c.pitch(), rows, cols)
}
