package fp8_test

import (
	"fmt"
	"math"

	"example.com/leafhopper/fp8"
)

// E4M3 has more precision, E5M2 more range.
func Example() {
	values := []float32{0.1, -2.718282, 300, 5000}

	a := make([]fp8.E4M3, len(values))
	fp8.EncodeE4M3(a, values)
	b := make([]fp8.E5M2, len(values))
	fp8.EncodeE5M2(b, values)
	fmt.Println(a)
	fmt.Println(b)

	wide := make([]float32, len(values))
	fp8.DecodeE4M3(wide, a)
	fmt.Println(wide)
	// Output:
	// [0.1 -2.8 300 NaN]
	// [0.09 -2.5 300 5000]
	// [0.1015625 -2.75 288 NaN]
}

// The saturating conversions stay finite.
func ExampleE4M3Saturate() {
	inf := float32(math.Inf(1))
	fmt.Println(fp8.E4M3FromFloat32(inf), fp8.E4M3Saturate(inf), fp8.E4M3Saturate(-1e9).Float32())
	fmt.Println(fp8.E5M2FromFloat32(inf), fp8.E5M2Saturate(inf), fp8.E5M2Saturate(-1e9).Float32())
	// Output:
	// NaN 450 -448
	// +Inf 60000 -57344
}
