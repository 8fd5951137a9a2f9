package bench

import (
	"context"
	"math"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/fp8"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/tf32"
	"github.com/x448/float16"
)

// An operand is a matrix of one of the element types, stored without gaps.
type operand struct {
	view       gemm.AnyMatrix
	rows, cols int // of the view
	trans      bool
	elem       asm.Type
	tf32       bool // f32 elements are read as tf32
	// pack returns the view in the layout of a kernel.
	pack func(...gemm.Option) (gemm.AnyMatrix, error)
	raw  []byte // the elements; one of these is them, too
	bf   []bf16.BF16
	f16  []float16.Float16
	f32  []float32
	e4m3 []fp8.E4M3
	e5m2 []fp8.E5M2
}

func newOperand(t asm.Type, rows, cols int, trans bool) *operand {
	o := &operand{rows: rows, cols: cols, trans: trans, elem: t}
	switch t {
	case asm.BF16:
		o.bf = newElements[bf16.BF16](o)
	case asm.F16:
		o.f16 = newElements[float16.Float16](o)
	case asm.E4M3:
		o.e4m3 = newElements[fp8.E4M3](o)
	case asm.E5M2:
		o.e5m2 = newElements[fp8.E5M2](o)
	default:
		o.f32 = newElements[float32](o)
	}
	return o
}

// newElements gives o elements of its type.
func newElements[T gemm.Element](o *operand) []T {
	rows, cols := o.stored()
	m := gemm.NewMatrix[T](rows, cols)
	o.raw = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(m.Data))), rows*cols*o.elem.Size())
	if o.trans {
		m = m.T()
	}
	o.view = m
	o.pack = func(opts ...gemm.Option) (gemm.AnyMatrix, error) { return gemm.Pack(m, opts...) }
	return m.Data
}

// stored returns the rows and columns as they lie in memory.
func (o *operand) stored() (rows, cols int) {
	if o.trans {
		return o.cols, o.rows
	}
	return o.rows, o.cols
}

// decode widens the elements lo <= j < hi of stored row r to the front of dst.
func (o *operand) decode(dst []float32, r, lo, hi int) {
	_, cols := o.stored()
	lo, hi = r*cols+lo, r*cols+hi
	switch o.elem {
	case asm.BF16:
		bf16.Decode(dst, o.bf[lo:hi])
	case asm.F16:
		bf16.DecodeFloat16(dst, o.f16[lo:hi])
	case asm.E4M3:
		fp8.DecodeE4M3(dst, o.e4m3[lo:hi])
	case asm.E5M2:
		fp8.DecodeE5M2(dst, o.e5m2[lo:hi])
	default:
		copy(dst, o.f32[lo:hi])
		if o.tf32 {
			for i, v := range o.f32[lo:hi] {
				dst[i] = tf32.Round(v)
			}
		}
	}
}

// encode narrows src into the elements from the i-th stored one on.
func (o *operand) encode(i int, src []float32) {
	switch o.elem {
	case asm.BF16:
		bf16.Encode(o.bf[i:i+len(src)], src)
	case asm.F16:
		bf16.EncodeFloat16(o.f16[i:i+len(src)], src)
	case asm.E4M3:
		fp8.EncodeE4M3(o.e4m3[i:], src)
	case asm.E5M2:
		fp8.EncodeE5M2(o.e5m2[i:], src)
	default:
		copy(o.f32[i:], src)
	}
}

// at returns element (i, j) of the view.
func (o *operand) at(i, j int) float64 {
	i = o.index(i, j)
	switch o.elem {
	case asm.BF16:
		return float64(o.bf[i].Float32())
	case asm.F16:
		return float64(o.f16[i].Float32())
	case asm.E4M3:
		return float64(o.e4m3[i].Float32())
	case asm.E5M2:
		return float64(o.e5m2[i].Float32())
	}
	if o.tf32 {
		return float64(tf32.Round(o.f32[i]))
	}
	return float64(o.f32[i])
}

// bits returns the representation of element (i, j) of the view.
func (o *operand) bits(i, j int) uint32 {
	i = o.index(i, j)
	switch o.elem {
	case asm.BF16:
		return uint32(o.bf[i])
	case asm.F16:
		return uint32(o.f16[i])
	case asm.E4M3:
		return uint32(o.e4m3[i])
	case asm.E5M2:
		return uint32(o.e5m2[i])
	}
	return math.Float32bits(o.f32[i])
}

// index returns the place of element (i, j) of the view in memory.
func (o *operand) index(i, j int) int {
	if o.trans {
		i, j = j, i
	}
	_, cols := o.stored()
	return i*cols + j
}

// asTF32 returns o, whose elements are f32, as it is multiplied in Hopper's
// arithmetic: rounded to tf32. It shares memory with o.
func (o *operand) asTF32() *operand {
	t := *o
	t.tf32 = true
	return &t
}

// fill gives o values uniform in [-1, 1) that depend on the seed and the place. It stops when ctx is done.
func (o *operand) fill(ctx context.Context, seed uint64) {
	o.generate(ctx, func(dst []float32, first int) {
		for i := range dst {
			dst[i] = float32(int64(mix(seed, first+i))>>40) * 0x1p-23
		}
	})
}

// poison makes every element NaN. It stops when ctx is done.
func (o *operand) poison(ctx context.Context) {
	nan := float32(math.NaN())
	o.generate(ctx, func(dst []float32, _ int) {
		for i := range dst {
			dst[i] = nan
		}
	})
}

// generate stores what next writes for the stored elements from first on, until ctx is done.
func (o *operand) generate(ctx context.Context, next func(dst []float32, first int)) {
	parallel(o.rows*o.cols, 1<<15, func(lo, hi int) {
		buf := make([]float32, min(hi-lo, 1<<12))
		for ; lo < hi && ctx.Err() == nil; lo += len(buf) {
			buf = buf[:min(len(buf), hi-lo)]
			next(buf, lo)
			o.encode(lo, buf)
		}
	})
}

// clone returns a copy of o in memory of its own.
func (o *operand) clone() *operand {
	c := newOperand(o.elem, o.rows, o.cols, o.trans)
	copy(c.raw, o.raw)
	return c
}

// mix returns 64 random bits for place i: the finaliser of SplitMix64 (Steele,
// Lea and Flood, OOPSLA 2014), which needs no state and so can start anywhere.
func mix(seed uint64, i int) uint64 {
	z := seed + (uint64(i)+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
