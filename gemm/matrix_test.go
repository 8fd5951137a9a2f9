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
				t.Errorf("element (%d, %d): %v, %v transposed, %v twice, want %v", i, j, m.At(i, j), v.At(j, i), v.T().At(i, j), want)
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
					} else if name == "At" && fmt.Sprint(v) != fmt.Sprintf("gemm: element (%d, %d) is outside a 2x3 matrix", ij[0], ij[1]) {
						t.Errorf("At panics with %q", v)
					}
				}()
				f()
			}()
		}
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
	for _, none := range []gemm.AnyMatrix{nil, none, (*matBF16)(nil), (*gemm.Matrix[float16.Float16])(nil), (*gemm.Matrix[fp8.E4M3])(nil), (*gemm.Matrix[fp8.E5M2])(nil)} {
		checkError(t, testEngine.Multiply(none, a, b), "C is nil")
		checkError(t, testEngine.Multiply(c, none, b), "A is nil")
		checkError(t, testEngine.Multiply(c, a, none), "B is nil")
	}
	checkError(t, gemm.Multiply(c, a, struct{ matF32 }{b}), "B is a struct", "neither a Matrix nor a Packed")
}

// TestNewMatrixPanics asks for matrices that cannot be.
func TestNewMatrixPanics(t *testing.T) {
	for _, size := range [][2]int{{-1, -1}, {-1, 0}, {0, -1}, {math.MaxInt, 2}, {1 << (bits.UintSize / 2), 1 << (bits.UintSize / 2)}} {
		func() {
			defer func() {
				if want := fmt.Sprintf("gemm: NewMatrix: there is no slice of %d x %d elements", size[0], size[1]); recover() != want {
					t.Errorf("NewMatrix(%d, %d) does not panic with %q", size[0], size[1], want)
				}
			}()
			gemm.NewMatrix[float32](size[0], size[1])
		}()
	}
}
