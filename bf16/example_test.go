package bf16_test

import (
	"fmt"

	"example.com/leafhopper/bf16"
)

// Weights kept as bf16 take half the memory, at about two correct decimals.
func Example() {
	weights := []float32{0.1, -2.718282, 1e-40, 3.4e38}

	packed := make([]bf16.BF16, len(weights))
	bf16.Encode(packed, weights)
	fmt.Println(packed)

	widened := make([]float32, len(packed))
	bf16.Decode(widened, packed)
	fmt.Println(widened)

	// Output:
	// [0.1 -2.72 9e-41 +Inf]
	// [0.100097656 -2.71875 9.1835e-41 +Inf]
}

// Another library's bfloat16 numbers, a defined type of uint16 too, are these without a copy.
func ExampleFromBits() {
	type BFloat16 uint16 // theirs
	theirs := []BFloat16{0x3f80, 0xc000}

	ours := bf16.FromBits(theirs)
	fmt.Println(ours)

	ours[0] = bf16.FromFloat32(3)
	fmt.Printf("%#04x\n", theirs)
	// Output:
	// [1 -2]
	// [0x4040 0xc000]
}

// Halfway between two values, FromFloat32 takes the one with an even last bit.
func ExampleFromFloat32() {
	for _, f := range []float32{256, 257, 258, 259, 260} {
		fmt.Println(f, bf16.FromFloat32(f).Float32())
	}
	// Output:
	// 256 256
	// 257 256
	// 258 258
	// 259 260
	// 260 260
}
