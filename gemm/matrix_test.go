package gemm_test

import (
	"fmt"
	"math"
	"math/bits"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/fp8"
	"example.com/leafhopper/gemm"
)

func TestViewOfNoRowsPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("At(0, 0) of a matrix of -1 rows did not panic")
		}
	}()
	gemm.Matrix[float32]{Rows: -1, Cols: 1, Stride: 1, Data: make([]float32, 1)}.At(0, 0)
}

// TestView checks At, Set and T against the elements as they lie in memory.
func TestView(t *testing.T) {
	m := gemm.Matrix[float32]{Rows: 2, Cols: 3, Stride: 4, Data: []float32{0, 1, 2, -1, 10, 11, 12}}
	v := m.T()
	if v.Rows != 3 || v.Cols != 2 {
		t.Errorf("the transpose is %dx%d, want 3x2", v.Rows, v.Cols)
	}
	for i := range 2 {
		for j := range 3 {
			if want := float32(10*i + j); m.At(i, j) != want || v.At(j, i) != want || v.T().At(i, j) != want {
				t.Errorf("element (%d, %d): %v, %v transposed, %v twice, want %v",
					i, j, m.At(i, j), v.At(j, i), v.T().At(i, j), want)
			}
		}
	}
	v.Set(2, 0, 7)
	if m.At(0, 2) != 7 || m.Data[3] != -1 {
		t.Errorf("after Set through the transpose: %v", m.Data)
	}
	n := gemm.NewMatrix[float32](3, 2)
	if n.Stride != 2 || len(n.Data) != 6 || n.At(2, 1) != 0 {
		t.Errorf("NewMatrix(3, 2) = %+v", n)
	}
}

func TestViewPanics(t *testing.T) {
	m := gemm.Matrix[float32]{Rows: 2, Cols: 3, Stride: 4, Data: make([]float32, 8)}
	for _, ij := range [][2]int{{-1, 0}, {0, -1}, {2, 0}, {0, 3}} {
		for name, f := range map[string]func(){
			"At":   func() { m.At(ij[0], ij[1]) },
			"Set":  func() { m.Set(ij[0], ij[1], 1) },
			"T.At": func() { m.T().At(ij[1], ij[0]) },
		} {
			func() {
				defer func() {
					if v := recover(); v == nil {
						t.Errorf("%s(%d, %d) of a 2x3 matrix did not panic", name, ij[0], ij[1])
					} else if name == "At" &&
						fmt.Sprint(v) != fmt.Sprintf("gemm: element (%d, %d) is outside a 2x3 matrix", ij[0], ij[1]) {
						t.Errorf("At panics with %q", v)
					}
				}()
				f()
			}()
		}
	}
}

// TestStridePanics reads and writes matrices whose rows would overlap, the first of which
// is what a literal without a Stride is.
func TestStridePanics(t *testing.T) {
	for _, m := range []gemm.Matrix[float32]{
		{Rows: 2, Cols: 3, Data: make([]float32, 6)},
		{Rows: 2, Cols: 3, Stride: 2, Data: make([]float32, 6)},
		{Rows: 2, Cols: 3, Stride: -3, Data: make([]float32, 6)},
	} {
		says := func(size string) string {
			return fmt.Sprintf("gemm: a %s matrix has stride %d, less than its 3 stored columns", size, m.Stride)
		}
		panics(t, says("2x3"), func() { m.At(0, 0) })
		panics(t, says("2x3"), func() { m.Set(1, 2, 1) })
		panics(t, says("3x2"), func() { m.T().At(2, 1) })
		panics(t, says("3x2"), func() { m.T().Set(0, 0, 1) })
		checkError(t, gemm.Multiply(gemm.NewMatrix[float32](2, 2), m, m.T()),
			fmt.Sprintf("A has stride %d, less than its 3 stored columns", m.Stride))
	}
}

// panics checks that f panics with want.
func panics(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := recover(); got != want {
			t.Errorf("panics with %v, want %q", got, want)
		}
	}()
	f()
}

func TestOf(t *testing.T) {
	data := []float32{1, 2, 3, 4, 5, 6, 7}
	m := gemm.Of(2, 3, data)
	if m.Rows != 2 || m.Cols != 3 || m.Stride != 3 || len(m.Data) != 6 || m.At(1, 0) != 4 {
		t.Errorf("Of(2, 3, %v) = %+v", data, m)
	}
	if m.Set(1, 2, 0); data[5] != 0 {
		t.Error("Of has copied the slice")
	}
	for _, size := range [][2]int{{0, 0}, {0, 3}, {3, 0}, {math.MaxInt, 0}} {
		m := gemm.Of[float32](size[0], size[1], nil)
		if m.Rows != size[0] || m.Cols != size[1] || m.Stride != size[1] || len(m.Data) != 0 {
			t.Errorf("Of(%d, %d, nil) = %+v", size[0], size[1], m)
		}
	}
	for _, size := range [][2]int{
		{-1, 3}, {3, -1}, {-1, -1}, {2, 4}, {8, 1}, {math.MaxInt, 2}, {2, math.MaxInt},
		{1 << (bits.UintSize / 2), 1 << (bits.UintSize / 2)},
	} {
		want := fmt.Sprintf("gemm: Of: there are no %d x %d elements in a slice of 7", size[0], size[1])
		panics(t, want, func() { gemm.Of(size[0], size[1], data) })
	}
}

// TestPointer passes pointers to matrices, which have the methods of matrices.
func TestPointer(t *testing.T) {
	a, b, c := gemm.NewMatrix[float32](1, 1), gemm.NewMatrix[float32](1, 1), gemm.NewMatrix[float32](1, 1)
	a.Data[0], b.Data[0] = 2, 3
	if err := gemm.Multiply(c, a, &b); err != nil || c.Data[0] != 6 {
		t.Errorf("by a pointer to B: C = %v, error %v, want 6", c.Data[0], err)
	}
	var none *matF32
	checkError(t, gemm.Multiply(c, a, none), "B is nil")
	for _, none := range []gemm.AnyMatrix{
		nil, none, (*matBF16)(nil), (*gemm.Matrix[float16.Float16])(nil),
		(*gemm.Matrix[fp8.E4M3])(nil), (*gemm.Matrix[fp8.E5M2])(nil),
	} {
		checkError(t, testEngine.Multiply(none, a, b), "C is nil")
		checkError(t, testEngine.Multiply(c, none, b), "A is nil")
		checkError(t, testEngine.Multiply(c, a, none), "B is nil")
	}
	checkError(t, gemm.Multiply(c, a, struct{ matF32 }{b}), "B is a struct", "neither a Matrix nor a Packed")
}

// TestNewMatrixPanics asks for matrices that cannot be.
func TestNewMatrixPanics(t *testing.T) {
	for _, size := range [][2]int{
		{-1, -1}, {-1, 0}, {0, -1}, {math.MaxInt, 2}, {1 << (bits.UintSize / 2), 1 << (bits.UintSize / 2)},
	} {
		panics(t, fmt.Sprintf("gemm: NewMatrix: there is no slice of %d x %d elements", size[0], size[1]), func() {
			gemm.NewMatrix[float32](size[0], size[1])
		})
	}
}

// TestStrideOfRow multiplies matrices of a single row in memory, whose stride may be anything from its columns
// on, even if its bytes are more than an int holds.
func TestStrideOfRow(t *testing.T) {
	filled := func(rows, cols int) gemm.Matrix[float32] {
		m := gemm.NewMatrix[float32](rows, cols)
		for i := range m.Data {
			m.Data[i] = float32(i%7 - 3)
		}
		return m
	}
	large := 4096
	if raceEnabled {
		large = 1024 // which workers share, too
	}
	for _, d := range [][3]int{
		{1, 1, 300}, {1, 5, 40_000}, {1, 300, 300}, {1, large, large}, {1, 1, 400_000},
		{700, 1, 1}, {1, 700, 1}, {300, 1, 300},
	} {
		for _, along := range []bool{false, true} {
			m, n, k := d[0], d[1], d[2]
			a, b := filled(m, k), filled(k, n)
			if along {
				b = filled(n, k).T()
			}
			for workers := range 5 {
				want, c, a, b := filled(m, n), filled(m, n), a, b
				if err := gemm.Multiply(want, a, b, gemm.WithWorkers(workers)); err != nil {
					t.Fatal(err)
				}
				for _, stride := range []int{math.MaxInt, math.MaxInt/2 + 1, math.MaxInt/4 + 1} {
					for _, x := range []*gemm.Matrix[float32]{&c, &a, &b} {
						if x.Stride >= len(x.Data) {
							x.Stride = stride
						}
					}
					if err := gemm.Multiply(c, a, b, gemm.WithWorkers(workers)); err != nil {
						t.Fatal(err)
					}
					same(t, c.Data, want.Data, n)
				}
			}
		}
	}
}
