package gonumblas_test

import (
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"example.com/leafhopper/gonumblas"
)

// After Use, the matrices of gonum's package mat, which are float64, are multiplied and factorized faster.
func Example() {
	blas64.Use(gonumblas.Implementation{})

	a := mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6})
	b := mat.NewDense(3, 2, []float64{1, 0, 0, 1, 1, 1})
	var c mat.Dense
	c.Mul(a, b)
	fmt.Println(mat.Formatted(&c))
	// Output:
	// ⎡ 4   5⎤
	// ⎣10  11⎦
}

// For float32 there is blas32.
func Example_float32() {
	blas32.Use(gonumblas.Implementation{})

	a := blas32.General{Rows: 2, Cols: 3, Stride: 3, Data: []float32{1, 2, 3, 4, 5, 6}}
	b := blas32.General{Rows: 3, Cols: 2, Stride: 2, Data: []float32{1, 0, 0, 1, 1, 1}}
	c := blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: make([]float32, 4)}
	blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, a, b, 0, c)
	fmt.Println(c.Data)
	// Output: [4 5 10 11]
}
