package gemm

import (
	"fmt"
	"math"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/fp8"
	"github.com/x448/float16"
)

// Element is the set of types a [Matrix] may hold.
type Element interface {
	bf16.BF16 | float16.Float16 | float32 | float64 | fp8.E4M3 | fp8.E5M2
}

// Output is the set of types that C may hold.
type Output interface {
	bf16.BF16 | float16.Float16 | float32 | float64
}

// Matrix is a row-major view of Rows x Cols elements: element (i, j) is Data[i*Stride+j]. Stride counts elements and
// is at least Cols; a literal must name it, [Of] and [NewMatrix] set it. The view shares Data with its owner; copying
// a Matrix copies no elements. What encodes the exported fields, such as gob, loses whether a view is transposed.
type Matrix[T Element] struct {
	Rows, Cols, Stride int
	Data               []T

	// trans says that Data holds the transpose: element (i, j) is Data[j*Stride+i] and Stride is at least Rows.
	trans bool

	// To a multiple of 16 bytes: a copy, which is made in vectors, would otherwise end
	// with two that overlap, and the next copy wait for both. A small product notices.
	_ [15]byte
}

// NewMatrix returns a zeroed rows x cols matrix with Stride = cols. Like make, it panics if there is no such slice.
func NewMatrix[T Element](rows, cols int) Matrix[T] {
	if !fits(rows, cols, math.MaxInt) {
		panic(fmt.Sprintf("gemm: NewMatrix: there is no slice of %d x %d elements", rows, cols))
	}
	return Matrix[T]{Rows: rows, Cols: cols, Stride: cols, Data: make([]T, rows*cols)}
}

// Of returns the rows x cols matrix whose rows lie one after the other in data, with Stride = cols. It shares data,
// of which it leaves out what follows the last row. Of panics if rows or cols is negative or data is too short.
func Of[T Element](rows, cols int, data []T) Matrix[T] {
	if !fits(rows, cols, len(data)) {
		panic(fmt.Sprintf("gemm: Of: there are no %d x %d elements in a slice of %d", rows, cols, len(data)))
	}
	return Matrix[T]{Rows: rows, Cols: cols, Stride: cols, Data: data[:rows*cols]}
}

// fits reports whether there are rows x cols elements among n.
func fits(rows, cols, n int) bool { return min(rows, cols) >= 0 && (cols == 0 || rows <= n/cols) }

// T returns the transposed view: element (i, j) of m.T() is element (j, i) of m. A column-major matrix with leading
// dimension ld is therefore Matrix[T]{Rows: cols, Cols: rows, Stride: ld, Data: data}.T().
func (m Matrix[T]) T() Matrix[T] {
	m.Rows, m.Cols = m.Cols, m.Rows
	m.trans = !m.trans
	return m
}

// At returns element (i, j). Like a slice index, it panics out of range; and it panics
// if Stride is too small, as in a literal without one.
func (m Matrix[T]) At(i, j int) T { return m.Data[m.index(i, j)] }

// Set stores v in element (i, j), and panics where [Matrix.At] does.
func (m Matrix[T]) Set(i, j int, v T) { m.Data[m.index(i, j)] = v }

func (m Matrix[T]) index(i, j int) int {
	if min(i, j) < 0 || i >= m.Rows || j >= m.Cols {
		panic(fmt.Sprintf("gemm: element (%d, %d) is outside a %dx%d matrix", i, j, m.Rows, m.Cols))
	}
	cols := m.Cols
	if m.trans {
		i, j, cols = j, i, m.Rows
	}
	if m.Stride < cols {
		panic(fmt.Sprintf("gemm: a %dx%d matrix has stride %d, less than its %d stored columns",
			m.Rows, m.Cols, m.Stride, cols))
	}
	return i*m.Stride + j
}

// AnyMatrix is a [Matrix], or as B a [*Packed], of any element type.
type AnyMatrix interface{ view() view }

func (m Matrix[T]) view() (v view) {
	m.viewTo(&v)
	return v
}

// viewTo is view for a v that is zero. A small product notices what it costs to copy a view that has just been written.
func (m *Matrix[T]) viewTo(v *view) {
	v.ptr = unsafe.Pointer(unsafe.SliceData(m.Data))
	v.rows, v.cols, v.stride, v.len = m.Rows, m.Cols, m.Stride, len(m.Data)
	v.trans, v.elem = m.trans, elementType[T]()
}

// elementType returns the type of T's elements. Their size tells most types apart, and costs a small product nothing.
func elementType[T Element]() asm.Type {
	var z T
	switch unsafe.Sizeof(z) {
	case 4:
		return asm.F32
	case 8:
		return asm.F64
	case 2:
		if _, is := any(z).(bf16.BF16); is {
			return asm.BF16
		}
		return asm.F16
	}
	if _, is := any(z).(fp8.E4M3); is {
		return asm.E4M3
	}
	return asm.E5M2
}
