package gemm

import (
	"fmt"
	"math"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/tile"
)

// Operand is what [Multiply] takes as B: a [Matrix], or a [*Packed] made from one.
type Operand[T Element] interface {
	AnyMatrix
	operand(T)
}

func (m Matrix[T]) operand(T)  {}
func (p *Packed[T]) operand(T) {}

// Packed is a matrix B in the layout that a kernel reads. Multiply takes it
// wherever it takes B, gives the same bits, and is spared copying B: worth it for
// weights that are multiplied many times, most of all by few rows at a time.
//
// A Packed is immutable and may be used by several goroutines at once; B may
// change after it was packed. Its memory is Size bytes. With the rows of B rounded
// up to the step of the kernel and the columns to its NR, an element takes as much
// as in B, and in Hopper's arithmetic 5 or 6 bytes. A single column is kept as it is.
type Packed[T Element] struct {
	p packing
}

// packing is a Packed without its type parameter.
type packing struct {
	kernel *asm.Kernel // nil in a zero Packed
	elem   asm.Type
	k, n   int    // of B
	first  int    // element of K that counts as the first
	bk     int    // elements of K in a stage
	data   []byte // [stage of K][stored panel], or the elements of a single column
}

// Pack copies b into the layout of the kernel that Multiply would choose, or
// that [WithKernel] and [WithArithmetic] name; other options are checked and have no
// effect. It is an error if b is malformed, an option is out of its range, or there
// is no such kernel here for its type. On 64-bit systems only memory limits the size;
// on 32-bit ones more bytes than an int counts are an error, too.
func Pack[T Element](b Matrix[T], opts ...Option) (*Packed[T], error) {
	s := settings{alpha: 1}
	if err := s.apply(opts); err != nil {
		return nil, err
	}
	v := b.view()
	if err := v.check("B"); err != nil {
		return nil, err
	}
	k, err := s.kernelFor(v.elem)
	if err != nil {
		return nil, err
	}
	p := &Packed[T]{packing{kernel: k, elem: v.elem, k: v.rows, n: v.cols, bk: stageElements(k, v.elem)}}
	if most := int64(math.MaxInt - tile.SlotAlign); p.p.size() > most {
		return nil, fmt.Errorf("gemm: Pack: B of %dx%d takes %d bytes for kernel %q, more than %d", v.rows, v.cols, p.p.size(), k.Name, most)
	}
	p.p.fill(v)
	return p, nil
}

// Rows returns the rows of B: K of the product.
func (p *Packed[T]) Rows() int { return p.p.k }

// Cols returns the columns of B: N of the product.
func (p *Packed[T]) Cols() int { return p.p.n }

// Kernel returns the name of the kernel that can read p, and so multiplies it, also
// where LEAFHOPPER_KERNEL pins another.
func (p *Packed[T]) Kernel() string {
	if p.p.kernel == nil {
		return ""
	}
	return p.p.kernel.Name
}

// Size returns the bytes of memory that the packed elements take.
func (p *Packed[T]) Size() int { return len(p.p.data) }

func (p *Packed[T]) view() (v view) {
	p.viewTo(&v)
	return v
}

// viewTo is view for a v that is zero, as that of a [Matrix] is.
func (p *Packed[T]) viewTo(v *view) {
	v.elem, v.packed = elementType[T](), true
	if p != nil {
		v.rows, v.cols = p.p.k, p.p.n
	}
}

// packing returns a copy: were the call to keep p itself, every matrix that is
// passed as an Operand would have to lie in the heap.
func (p *Packed[T]) packing() packing {
	if p == nil {
		return packing{}
	}
	return p.p
}

// fill packs b.
func (p *packing) fill(b view) {
	p.data = tile.HeapSlots(int(p.size()))
	switch {
	case len(p.data) == 0:
		return // no elements, however many rows or columns
	case p.n == 1 && !b.trans:
		asm.CopyRows(p.column().ptr, p.elem.Size(), b.ptr, b.pitch(), p.k, p.elem.Size())
		return
	case p.n == 1:
		copy(p.data, unsafe.Slice((*byte)(b.ptr), len(p.data)))
		return
	}
	for k0 := 0; k0 < p.k; k0 += p.bk {
		p.kernel.StoreB(p.elem, b.trans)(p.at(k0, 0), b.at(k0, 0), b.pitch(), p.n, min(p.bk, p.k-k0))
	}
}

// column returns the only column, which is never multiplied as a panel: that would be as wide as the kernel's.
func (p *packing) column() view {
	return view{ptr: unsafe.Pointer(unsafe.SliceData(p.data)), rows: p.k, cols: 1, stride: 1, len: p.k, elem: p.elem}
}

// size returns the bytes of all panels. It cannot overflow: an element, of which B has them
// all, takes 16 KB at most.
func (p *packing) size() int64 {
	if p.n == 1 {
		return int64(p.k) * int64(p.elem.Size())
	}
	strip := int64(p.k/p.bk) * int64(p.panel(p.bk))
	if rest := p.k % p.bk; rest > 0 {
		strip += int64(p.panel(rest))
	}
	return int64(ceilDiv(p.n, p.kernel.NR)) * strip
}

// offset returns where the panel of column col begins in the stage of element
// k0 of K. A small product notices every division.
func (p *packing) offset(k0, col int) int {
	n := 0
	if k0 += p.first; k0 > 0 {
		panels, whole := ceilDiv(p.n, p.kernel.NR), k0/p.bk
		n = whole * panels * p.panel(p.bk)
		if rest := k0 - whole*p.bk; rest > 0 {
			n += rest * p.kernel.NR * p.elem.Size() // in a narrow panel
		}
	}
	if col > 0 {
		n += col / p.kernel.NR * p.pitch(k0-p.first)
	}
	return n
}

// pitch returns the bytes from a panel of the stage of element k0 of K to the next.
func (p *packing) pitch(k0 int) int {
	if k0 += p.first; k0 >= p.bk {
		k0 -= k0 % p.bk
	} else {
		k0 = 0
	}
	return p.panel(min(p.bk, p.k-k0))
}

// panel returns the bytes of a panel n elements of K deep.
func (p *packing) panel(n int) int { return p.kernel.StoredB(p.elem, n) }

// at returns the panel of column col in the stage of element k0 of K.
func (p *packing) at(k0, col int) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(p.data[p.offset(k0, col):]))
}
