package main

import (
	"fmt"
	"log"

	"example.com/leafhopper/gemm"
)

func main() {
	a := gemm.Matrix[float32]{Rows: 2, Cols: 3, Stride: 3, Data: []float32{1, 2, 3, 4, 5, 6}} // a literal needs its Stride
	b := gemm.Matrix[float32]{Rows: 3, Cols: 2, Stride: 2, Data: []float32{1, 0, 0, 1, 1, 1}}
	c := gemm.NewMatrix[float32](2, 2)
	if err := gemm.Multiply(c, a, b); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Data) // [4 5 10 11]
}
