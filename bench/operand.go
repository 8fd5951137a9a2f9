package bench

import (
	"context"
	"encoding/binary"
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
	raw        []byte // the elements
	// pack returns the view in the layout of a kernel.
	pack func(...gemm.Option) (gemm.AnyMatrix, error)

	// What the i-th stored element is, and those from there on become, or are made of.
	value  func(i int) float64
	widen  func(dst []float64, i int)
	encode func(i int, src []float64)
}

func newOperand(t asm.Type, rows, cols int, trans bool) *operand {
	o := &operand{rows: rows, cols: cols, trans: trans, elem: t}
	switch t {
	case asm.BF16:
		setElements(o, by32(bf16.BF16.Float32, bf16.Decode, bf16.Encode))
	case asm.F16:
		setElements(o, by32(float16.Float16.Float32, bf16.DecodeFloat16, bf16.EncodeFloat16))
	case asm.E4M3:
		setElements(o, by32(fp8.E4M3.Float32, fp8.DecodeE4M3, fp8.EncodeE4M3))
	case asm.E5M2:
		setElements(o, by32(fp8.E5M2.Float32, fp8.DecodeE5M2, fp8.EncodeE5M2))
	case asm.F64:
		setElements(o, conversion[float64]{itself[float64], copySlice[float64], copySlice[float64]})
	default:
		setElements(o, by32(itself[float32], copySlice[float32], copySlice[float32]))
	}
	return o
}

// setElements gives o elements of its type.
func setElements[T gemm.Element](o *operand, by conversion[T]) {
	rows, cols := o.stored()
	m := gemm.NewMatrix[T](rows, cols)
	all := m.Data
	o.raw = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(all))), len(all)*o.elem.Size())
	if o.trans {
		m = m.T()
	}
	o.view = m
	o.pack = func(opts ...gemm.Option) (gemm.AnyMatrix, error) { return gemm.Pack(m, opts...) }
	o.value = func(i int) float64 { return by.value(all[i]) }
	o.widen = func(dst []float64, i int) { by.widen(dst, all[i:i+len(dst)]) }
	o.encode = func(i int, src []float64) { by.narrow(all[i:i+len(src)], src) }
}

// A conversion is how elements become float64, and are made of it.
type conversion[T any] struct {
	value  func(T) float64
	widen  func(dst []float64, src []T)
	narrow func(dst []T, src []float64)
}

// by32 is a conversion by way of float32.
func by32[T any](value func(T) float32, widen func([]float32, []T), narrow func([]T, []float32)) conversion[T] {
	return conversion[T]{
		func(x T) float64 { return float64(value(x)) },
		func(dst []float64, src []T) {
			for buf := make([]float32, min(len(src), narrowed)); len(src) > 0; {
				part := buf[:min(len(src), len(buf))]
				widen(part, src[:len(part)])
				for i, v := range part {
					dst[i] = float64(v)
				}
				dst, src = dst[len(part):], src[len(part):]
			}
		},
		func(dst []T, src []float64) {
			for buf := make([]float32, min(len(src), narrowed)); len(src) > 0; {
				part := buf[:min(len(src), len(buf))]
				for i := range part {
					part[i] = float32(src[i])
				}
				narrow(dst[:len(part)], part)
				dst, src = dst[len(part):], src[len(part):]
			}
		},
	}
}

// narrowed is how many elements pass through float32 at a time.
const narrowed = 256

func itself[T any](x T) T { return x }

func copySlice[T any](dst, src []T) { copy(dst, src) }

// stored returns the rows and columns as they lie in memory.
func (o *operand) stored() (rows, cols int) {
	if o.trans {
		return o.cols, o.rows
	}
	return o.rows, o.cols
}

// decode widens the elements lo <= j < hi of stored row r to the front of dst.
func (o *operand) decode(dst []float64, r, lo, hi int) {
	_, cols := o.stored()
	o.widen(dst[:hi-lo], r*cols+lo)
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

// at returns element (i, j) of the view.
func (o *operand) at(i, j int) float64 { return o.value(o.index(i, j)) }

// bits returns the representation of element (i, j) of the view, which is no float64.
func (o *operand) bits(i, j int) uint32 {
	size := o.elem.Size()
	at := o.raw[o.index(i, j)*size:]
	switch size {
	case 1:
		return uint32(at[0])
	case 2:
		return uint32(binary.NativeEndian.Uint16(at))
	}
	return binary.NativeEndian.Uint32(at)
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
	round := func(v float64) float64 { return float64(tf32.Round(float32(v))) }
	t.value = func(i int) float64 { return round(o.value(i)) }
	t.widen = func(dst []float64, i int) {
		o.widen(dst, i)
		for j, v := range dst {
			dst[j] = round(v)
		}
	}
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
