package tf32_test

import (
	"fmt"

	"example.com/leafhopper/tf32"
)

// What becomes of a float32 on its way into a product depends on who drops the low bits.
func ExampleRound() {
	x := float32(1 + 1.75*tf32.Epsilon)
	fmt.Println(tf32.Round(x))    // a copy through a TFloat32 map, cuBLAS, package gemm
	fmt.Println(tf32.Truncate(x)) // wgmma
	// Output:
	// 1.0019531
	// 1.0009766
}
