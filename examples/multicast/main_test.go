package main

import (
	"testing"

	"example.com/leafhopper/examples/internal/course"
	"example.com/leafhopper/gemm"
)

func TestKernel(t *testing.T) {
	want, err := reference(gemm.Hopper)
	if err != nil {
		t.Fatal(err)
	}
	recorded := want[0].String() + "\n" + want[1].String()
	if err := course.Check(t.Context(), run, recorded, want); err != nil {
		t.Fatal(err)
	}
}

func Example() {
	main()
	// Output:
	// 128x128x512 by 2 CTAs, 3 stages in each
	// the bits of gemm's with Hopper's arithmetic: true
	// the bits of float32 sums: false
	// bytes fetched: 262144, without multicast 393216
}
