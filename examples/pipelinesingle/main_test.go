package main

import (
	"testing"

	"example.com/leafhopper/examples/internal/course"
)

func reference() []course.Output {
	in := course.Ints(batches*blocks*threads, 1)
	out := make([]int32, len(in))
	for i := 0; i < len(in); i += threads {
		for t := range threads {
			out[i+t] = 3*in[i+t] + in[i+threads-1-t]
		}
	}
	return []course.Output{{Name: "pipelinesingle.out", Data: out}}
}

func TestKernel(t *testing.T) {
	if err := course.Check(t.Context(), run, recorded, reference()); err != nil {
		t.Fatal(err)
	}
}

func Example() {
	main()
	// Output:
	// pipelinesingle.out bytes=5120 crc32=1270e523
	// As on an H100: acquire, copy, commit, wait, compute, release: with one stage nothing overlaps.
}
