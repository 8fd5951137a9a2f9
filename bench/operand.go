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
	f64  []float64
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
	case asm.F64:
		o.f64 = newElements[float64](o)
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

// narrowed is how many elements pass through float32 at a time.
const narrowed = 256

// decode widens the elements lo <= j < hi of stored row r to the front of dst.
func (o *operand) decode(dst []float64, r, lo, hi int) {
	_, cols := o.stored()
	lo, hi = r*cols+lo, r*cols+hi
	if o.elem == asm.F64 {
		copy(dst, o.f64[lo:hi])
		return
	}
	var buf [narrowed]float32
	for lo < hi {
		part := buf[:min(hi-lo, len(buf))]
		o.decode32(part, lo)
		for i, v := range part {
			dst[i] = float64(v)
		}
		lo, dst = lo+len(part), dst[len(part):]
	}
}

// column widens column j of the view to dst.
func (o *operand) column(dst []float64, j int) {
	if o.trans {
		o.decode(dst, j, 0, o.rows)
		return
	}
	for i := range dst {
		dst[i] = o.at(i, j)
	}
}

// decode32 widens the elements from the i-th stored one on, which are no float64s, to dst.
func (o *operand) decode32(dst []float32, i int) {
	end := i + len(dst)
	switch o.elem {
	case asm.BF16:
		bf16.Decode(dst, o.bf[i:end])
	case asm.F16:
		bf16.DecodeFloat16(dst, o.f16[i:end])
	case asm.E4M3:
		fp8.DecodeE4M3(dst, o.e4m3[i:end])
	case asm.E5M2:
		fp8.DecodeE5M2(dst, o.e5m2[i:end])
	default:
		copy(dst, o.f32[i:end])
		if o.tf32 {
			for i, v := range dst {
				dst[i] = tf32.Round(v)
			}
		}
	}
}

// encode narrows src into the elements from the i-th stored one on, by way of float32 if they are no float64s.
func (o *operand) encode(i int, src []float64) {
	if o.elem == asm.F64 {
		copy(o.f64[i:], src)
		return
	}
	var buf [narrowed]float32
	for len(src) > 0 {
		part := buf[:min(len(src), len(buf))]
		for j := range part {
			part[j] = float32(src[j])
		}
		o.encode32(i, part)
		i, src = i+len(part), src[len(part):]
	}
}

func (o *operand) encode32(i int, src []float32) {
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
	case asm.F64:
		return o.f64[i]
	}
	if o.tf32 {
		return float64(tf32.Round(o.f32[i]))
	}
	return float64(o.f32[i])
}

// bits returns the representation of element (i, j) of the view, which is no float64.
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

// fill gives o values uniform in [-1, 1) that depend on the seed and the place: multiples of 2^-23 that are rounded to
// o's type, or those of 2^-53, for which a float64 needs all its bits. It stops when ctx is done.
func (o *operand) fill(ctx context.Context, seed uint64) {
	shift, unit := 40, 0x1p-23
	if o.elem == asm.F64 {
		shift, unit = 10, 0x1p-53
	}
	o.generate(ctx, func(dst []float64, first int) {
		for i := range dst {
			dst[i] = float64(int64(mix(seed, first+i))>>shift) * unit
		}
	})
}

// poison makes every element NaN. It stops when ctx is done.
func (o *operand) poison(ctx context.Context) {
	o.generate(ctx, func(dst []float64, _ int) {
		for i := range dst {
			dst[i] = math.NaN()
		}
	})
}

// generate stores what next writes for the stored elements from first on, until ctx is done.
func (o *operand) generate(ctx context.Context, next func(dst []float64, first int)) {
	parallel(o.rows*o.cols, 1<<15, func(lo, hi int) {
		buf := make([]float64, min(hi-lo, 1<<12))
		for ; lo < hi && ctx.Err() == nil; lo += len(buf) {
			buf = buf[:min(len(buf), hi-lo)]
			next(buf, lo)
			o.encode(lo, buf)
		}
	})
}

// views returns the views of operands.
func views(operands []*operand) (all []gemm.AnyMatrix) {
	for _, o := range operands {
		all = append(all, o.view)
	}
	return all
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
