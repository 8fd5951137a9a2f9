package gemm_test

import (
	"math"
	"testing"

	"example.com/leafhopper/gemm"
)

// view returns a rows x cols view of buf from element at on.
func view(buf []float32, at, rows, cols, stride int) matF32 {
	return matF32{Rows: rows, Cols: cols, Stride: stride, Data: buf[at:]}
}

// TestOverlap places C and an input in one buffer. Sharing an element is an
// error; lying between each other's rows is not.
func TestOverlap(t *testing.T) {
	for _, tc := range []struct {
		name    string
		c, x    func(buf []float32) matF32 // both 4x4
		refused bool
	}{
		{"the same", at(0, 10), at(0, 10), true},
		{"the same transposed", at(0, 10), func(b []float32) matF32 { return at(0, 10)(b).T() }, true},
		{"one row on", at(0, 10), at(10, 10), true},
		{"a corner", at(0, 10), at(33, 10), true},
		{"the other corner", at(33, 10), at(0, 10), true},
		{"one column", at(0, 10), at(3, 10), true},
		{"one column, rows later", at(0, 10), at(23, 10), true},
		{"around the end of a row", at(0, 10), at(7, 10), true},
		{"C around the end of a row", at(7, 10), at(0, 10), true},
		{"last element", at(0, 4), at(15, 4), true},
		{"other pitch", at(0, 10), at(2, 7), true},
		{"left and right half", at(0, 8), at(4, 8), false},
		{"right and left half", at(4, 8), at(0, 8), false},
		{"halves, rows apart", at(0, 8), at(12, 8), false},
		{"with a gap", at(0, 10), at(5, 10), false},
		{"in the gap, transposed", at(0, 10), func(b []float32) matF32 { return at(5, 10)(b).T() }, false},
		{"below each other", at(0, 4), at(16, 4), false},
		{"above each other", at(16, 4), at(0, 4), false},
		{"beyond the last row's end", at(0, 10), at(34, 10), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			buf := make([]float32, 100)
			for i := range buf {
				buf[i] = canary[float32]()
			}
			other := gemm.NewMatrix[float32](4, 4)
			for i := range 4 {
				other.Set(i, i, 1)
			}
			c, x := tc.c(buf), tc.x(buf)
			for i, try := range []func() error{
				func() error { return gemm.Multiply(c, x, other) },
				func() error { return gemm.Multiply(c, other, x) },
				func() error { return gemm.Multiply(c.T(), x, other) },
			} {
				if !tc.refused {
					fill(x, func() float32 { return float32(i) })
				}
				err := try()
				if tc.refused {
					checkError(t, err, "C (4x4) shares memory with "+string("ABA"[i]))
					untouched(t, buf)
				} else if err != nil {
					t.Error(err)
				} else if got := c.At(1, 2); got != float32(i) {
					t.Errorf("C holds %v, want %d", got, i)
				}
			}
		})
	}
}

func at(offset, stride int) func([]float32) matF32 {
	return func(buf []float32) matF32 { return view(buf, offset, 4, 4, stride) }
}

// TestValuesOverlap: scales and biases that lie in C are refused, those behind it are not.
func TestValuesOverlap(t *testing.T) {
	buf := make([]float32, 24)
	for i := range buf {
		buf[i] = canary[float32]()
	}
	a, b, c := gemm.NewMatrix[float32](4, 2), gemm.NewMatrix[float32](2, 5), gemm.Of(4, 5, buf)
	one := []float32{1}
	for name, with := range map[string]func(v []float32) gemm.Option{
		"WithBias":          func(v []float32) gemm.Option { return gemm.WithBias(v) },
		"WithRowBias":       func(v []float32) gemm.Option { return gemm.WithRowBias(v[:4]) },
		"WithScales":        func(v []float32) gemm.Option { return gemm.WithScales(v[:1], one) },
		"WithScales: the 5": func(v []float32) gemm.Option { return gemm.WithScales(one, v) },
	} {
		for _, at := range []int{0, 3, 19} {
			v := buf[at : at+5]
			checkError(t, gemm.Multiply(c, a, b, with(v)), name, "share memory with C")
			checkError(t, gemm.Multiply(gemm.Of(5, 4, buf).T(), a, b, with(v)), name, "share memory with C")
			untouched(t, buf)
		}
	}
	for i := range buf[20:] {
		buf[20+i] = float32(i)
	}
	if err := gemm.Multiply(c, a, b, gemm.WithRowBias(buf[20:])); err != nil || buf[5] != 1 || buf[15] != 3 {
		t.Errorf("a bias behind C: %v, C is %v", err, c.Data)
	}
}

// TestInputsMayOverlap multiplies a matrix by its own transpose.
func TestInputsMayOverlap(t *testing.T) {
	a := gemm.NewMatrix[float32](3, 5)
	for i := range a.Data {
		a.Data[i] = float32(i)
	}
	c := gemm.NewMatrix[float32](3, 3)
	if err := gemm.Multiply(c, a, a.T()); err != nil {
		t.Fatal(err)
	}
	if c.At(0, 0) != 30 || c.At(1, 2) != c.At(2, 1) || c.At(0, 1) != 80 {
		t.Errorf("A·A' = %v", c.Data)
	}
}

// TestOverlapOfLongStrides places single rows in one buffer. Their strides say
// nothing and may be so large that a pitch in bytes overflows.
func TestOverlapOfLongStrides(t *testing.T) {
	for _, stride := range []int{4, math.MaxInt, math.MaxInt/2 + 1, math.MaxInt/4 + 1, math.MaxInt/4 + 2} {
		buf := make([]float32, 8)
		c := matF32{Rows: 1, Cols: 4, Stride: stride, Data: buf}
		for from, refused := range map[int]bool{0: true, 3: true, 4: false} {
			a := matF32{Rows: 1, Cols: 4, Stride: stride, Data: buf[from:]}
			if err := gemm.Multiply(c, a, gemm.NewMatrix[float32](4, 4)); (err != nil) != refused {
				t.Errorf("stride %d, A from element %d on: error %v, want one: %v", stride, from, err, refused)
			}
		}
	}
}
