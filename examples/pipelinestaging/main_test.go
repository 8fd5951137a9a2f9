package main

import (
	"testing"

	"example.com/leafhopper/examples/internal/course"
)

func reference() []course.Output {
	in := course.Ints(batches*blocks*threads, 1)
	out, printed := make([]int32, len(in)), make([]int32, len(in))
	for i := 0; i < len(in); i += threads {
		for t := range threads {
			out[i+t] = 3*in[i+t] + in[i+threads-1-t]
		}
	}
	const batch = blocks * threads
	copy(printed[batch:], out[:(batches-1)*batch]) // one batch late
	copy(printed[(batches-1)*batch:], out[(batches-1)*batch:])
	return []course.Output{{Name: "pipelinestaging.out", Data: out},
		{Name: "pipelinestaging.as_printed", Data: printed}}
}

func TestKernel(t *testing.T) {
	if err := course.Check(t.Context(), run, recorded, reference()); err != nil {
		t.Fatal(err)
	}
}

func Example() {
	main()
	// Output:
	// pipelinestaging.out bytes=5120 crc32=1270e523
	// pipelinestaging.as_printed bytes=5120 crc32=bb16d137
	// As on an H100: a batch is copied while the one before is computed; as printed, results are a batch late.
}
