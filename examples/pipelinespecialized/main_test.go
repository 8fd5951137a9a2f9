package main

import (
	"testing"

	"example.com/leafhopper/examples/internal/course"
)

func reference() []course.Output {
	var out []int32
	for i := range uint32(7 * 4 * 32) {
		out = append(out, int32(3*course.Element(i, 1)+1))
	}
	return []course.Output{
		{Name: "pipelinespecialized.stages2", Data: out},
		{Name: "pipelinespecialized.stages3", Data: out},
	}
}

func TestKernel(t *testing.T) {
	if err := course.Check(t.Context(), run, recorded, reference()); err != nil {
		t.Fatal(err)
	}
}

func Example() {
	main()
	// Output:
	// pipelinespecialized.stages2 bytes=3584 crc32=328d16d6
	// pipelinespecialized.stages3 bytes=3584 crc32=328d16d6
	// As on an H100: producers ran ahead of consumers by as many batches as there are stages.
}
