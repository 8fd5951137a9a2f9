package gemm

import (
	"fmt"
	"math"
	"unsafe"

	"example.com/leafhopper/asm"
)

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

func (o *Option) vector(i int) vector { return vector{o.vectors[i], o.n[i]} }

// checkVectors reports whether the vectors have as many values as a product needs that has m rows and n columns.
func (s *settings) checkVectors(m, n int) error {
	if !s.finishes {
		return nil
	}
	for i, v := range &s.vectors {
		option, size, of := "WithBias", n, "columns of C"
		switch i {
		case scalesB:
			option, of = "WithScales", "columns of B, or one"
		case scalesA:
			option, size, of = "WithScales", m, "rows of A, or one"
		case biasRows:
			option, size, of = "WithRowBias", m, "rows of C"
		}
		if v.at != nil && v.n != size && !(i <= scalesA && v.n == 1) {
			return fmt.Errorf("gemm: %s: %d values for the %d %s", option, v.n, size, of)
		}
	}
	return nil
}

// finish is what happens to sums on their way to C besides alpha and beta. Vectors are along C as it lies in memory.
type finish struct {
	vectors [numVectors]unsafe.Pointer
	per     [numVectors]per
	any     bool
	inC     bool    // sums that are elements of C have only to be completed there, while a cache has them
	both    bool    // scales are one value each,
	scale   float32 // and this is their product
	f       Activation
	first   unsafe.Pointer // element of C
	pitch   int            // bytes between rows of C
}

// per says what of C a vector has a value for.
type per uint8

const (
	perMatrix per = iota
	perColumn
	perRow
)

// setFinish makes the finish of a product whose operands have taken their places.
func (p *product) setFinish(s *settings) {
	if !s.finishes || s.activation == Identity && s.vectors == [numVectors]vector{} {
		return
	}
	f := &p.finish
	*f = finish{any: true, f: s.activation, first: p.c.ptr, pitch: p.c.pitch()}
	f.inC = p.c.elem == asm.F32 && p.alpha == 1 && p.beta == 0 && !p.c.trans
	if rows, _ := p.c.stored(); rows == 1 {
		f.pitch = math.MaxInt // which its stride does not say
	}
	for i, v := range &s.vectors {
		f.vectors[i] = unsafe.Pointer(v.at)
		switch ofCols := i == scalesB || i == biasCols; {
		case i <= scalesA && v.n == 1:
		case ofCols == (p.turned == p.c.trans):
			f.per[i] = perColumn
		default:
			f.per[i] = perRow
		}
	}
	if a, b := s.vectors[scalesA], s.vectors[scalesB]; a.n == 1 && b.n == 1 {
		f.both, f.scale, f.vectors[scalesA] = true, *a.at**b.at, nil
	}
}

// vector returns what a vector has for the elements of C from row and col on, as they lie in memory.
func (f *finish) vector(i, row, col int) asm.Vector {
	switch at := f.vectors[i]; {
	case f.both && i == scalesB:
		return asm.Vector{At: unsafe.Pointer(&f.scale)}
	case at == nil || f.per[i] == perMatrix:
		return asm.Vector{At: at}
	case f.per[i] == perColumn:
		return asm.Vector{At: unsafe.Add(at, col*4), Col: 4}
	default:
		return asm.Vector{At: unsafe.Add(at, row*4), Row: 4}
	}
}

// complete sets dst to all that becomes of rows x cols sums before they are rounded to the elements of C from to on,
// where dst is what they were, if beta asks for that: scales, alpha, beta, biases and activation, of which each step
// is rounded to float32. dst may be acc, which is overwritten.
func (p *product) complete(to, dst unsafe.Pointer, ldd int, acc unsafe.Pointer, pitch, rows, cols int) {
	f := &p.finish
	if !f.any {
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
	if f.vectors[biasRows] != nil {
		if bias.At != nil {
			asm.Activate(dst, ldd, acc, pitch, rows, cols, bias, Identity)
			acc, pitch = dst, ldd
		}
		bias = f.vector(biasRows, row, col)
	}
	if p.kernel.Arithmetic == asm.Hopper {
		asm.ActivateHopper(dst, ldd, acc, pitch, rows, cols, bias, f.f)
		return
	}
	asm.Activate(dst, ldd, acc, pitch, rows, cols, bias, f.f)
}

// combine applies alpha and beta, in the product's arithmetic.
func (p *product) combine(dst unsafe.Pointer, ldd int, acc unsafe.Pointer, pitch, rows, cols int) {
	if p.kernel.Arithmetic == asm.Hopper {
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
