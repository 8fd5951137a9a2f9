package main

import (
	"testing"

	"example.com/leafhopper/examples/internal/course"
)

func reference() (outputs []course.Output) {
	in := course.Ints(batches*blocks*threads, 1)
	out := make([]int32, len(in))
	for i := 0; i < len(in); i += threads {
		for t := range threads {
			out[i+t] = 3*in[i+t] + in[i+threads-1-t]
		}
	}
	for _, name := range []string{"without_memcpy_async", "with_memcpy_async", "with_barrier"} {
		outputs = append(outputs, course.Output{Name: "copysync." + name, Data: out})
	}
	return outputs
}

func TestKernels(t *testing.T) {
	if err := course.Check(t.Context(), run, recorded, reference()); err != nil {
		t.Fatal(err)
	}
}

func Example() {
	main()
	// Output:
	// copysync.without_memcpy_async bytes=5120 crc32=1270e523
	// copysync.with_memcpy_async bytes=5120 crc32=1270e523
	// copysync.with_barrier bytes=5120 crc32=1270e523
	// As on an H100: three ways to wait for a copy that all threads made, with one result.
}
