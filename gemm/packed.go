package gemm

import (
	"cmp"
	"fmt"
	"math"

	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/tile"
)

// Operand is what [Multiply] takes as B: a [Matrix], or a [*Packed] made from one.
type Operand[T Element] interface {
	AnyMatrix
	operand(T)
}

func (m Matrix[T]) operand(T)  {}
func (p *Packed[T]) operand(T) {}

// Packed is a matrix B in the layout that a kernel reads. Multiply takes it wherever it takes B, gives the same bits,
// and is spared copying B: worth it for weights that are multiplied many times, most of all by few rows at a time.
//
// A Packed is immutable and may be used by several goroutines at once; B may change after it was packed. Its memory
// is Size bytes. With the rows of B rounded up to the step of the kernel and the columns to its NR, an element takes
// as much as in B, and in Hopper's arithmetic 5 or 6 bytes. A single column is kept as it is, and so are, in native
// arithmetic, up to 8 with at least 4,096 rows for each of them, or 8,192 of bfloat16 and fp8. Other columns of at
// least 256 bfloat16, up to 16, lie beside panels of pairs, too.
type Packed[T Element] struct {
	b view // whose kernel is nil in a zero Packed
}

// Pack copies b into the layout of the kernel that Multiply would choose, or that [WithKernel] and [WithArithmetic]
// name: weights in fp8 that wider operands are to be multiplied by need theirs, which [Packed.Kernel] tells of any that
// was packed of that type. If the context of [WithContext] ends, Pack returns its error, as Multiply does; it looks
// before it allocates and then every millisecond or sooner. Other options are checked and have no effect. It is an
// error if b is malformed, an option is out of its range, two options exclude each other, or there is no such kernel
// here for b's type, or, where an int has 32 bits, if it cannot count the bytes.
func Pack[T Element](b Matrix[T], opts ...Option) (*Packed[T], error) {
	s := settings{alpha: 1}
	if err := cmp.Or(s.apply(opts), s.checkParts()); err != nil {
		return nil, err
	}
	v := b.view()
	if err := v.check("B"); err != nil {
		return nil, err
	}
	if race.Enabled {
		v.tell(race.Read)
	}
	k, err := s.selectKernel(v.elem, nil)
	if err != nil {
		return nil, fmt.Errorf("gemm: %w", err)
	}
	p := &Packed[T]{panelsFor(k, v.elem, v.rows, v.cols)}
	if most, wants := int64(math.MaxInt-tile.SlotAlign), p.b.wants()+int64(p.b.spreads()); wants > most {
		return nil, fmt.Errorf("gemm: Pack: B of %dx%d takes %d bytes for kernel %q, more than %d",
			v.rows, v.cols, wants, k.Name, most)
	}
	if err := p.b.fill(s.ctx, &v); err != nil {
		return nil, err
	}
	return p, nil
}

// Rows returns the rows of B: K of the product. A nil or zero Packed has none, nor columns, a kernel, bytes.
func (p *Packed[T]) Rows() int { return p.view().rows }

// Cols returns the columns of B: N of the product.
func (p *Packed[T]) Cols() int { return p.view().cols }

// Kernel returns the name of the kernel that can read p, and so multiplies it, also where LEAFHOPPER_KERNEL pins
// another; "" of a zero Packed.
func (p *Packed[T]) Kernel() string {
	if k := p.view().kernel; k != nil {
		return k.Name
	}
	return ""
}

// Size returns the bytes of memory that the packed elements take.
func (p *Packed[T]) Size() int {
	v := p.view()
	return v.len*v.elem.Size() + v.spreads()
}

func (p *Packed[T]) view() (v view) {
	p.viewTo(&v)
	return v
}

// viewTo is view for a v that is zero, as that of a [Matrix] is.
func (p *Packed[T]) viewTo(v *view) {
	if p == nil || p.b.kernel == nil {
		v.elem, v.packed = elementType[T](), true
	} else {
		*v = p.b
	}
}
