package main

import (
	"fmt"
	"log"

	"example.com/leafhopper/gemm"
)

func main() {
	a := gemm.Of(2, 3, []float32{1, 2, 3, 4, 5, 6}) // 2 rows, 3 columns
	b := gemm.Of(3, 2, []float32{1, 0, 0, 1, 1, 1})
	c := gemm.NewMatrix[float32](2, 2)
	if err := gemm.Multiply(c, a, b); err != nil {
		log.Fatal(err)
	}
	if _, err := fmt.Println(c.Data); err != nil { // [4 5 10 11]
		log.Fatal(err)
	}
}
