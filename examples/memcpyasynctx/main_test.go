package main

import (
	"testing"

	"example.com/leafhopper/examples/internal/course"
)

func reference() []course.Output {
	var ints []int32
	var doubles []float64
	for t := range uint32(1024) {
		ints = append(ints, int32(course.Element(t, 1)+1))
		doubles = append(doubles, 2*(float64(int32(course.Element(1023-t, 2)))*0.5)+float64(t))
	}
	return []course.Output{{Name: "memcpyasynctx.ints", Data: ints}, {Name: "memcpyasynctx.doubles", Data: doubles}}
}

func TestKernel(t *testing.T) {
	if err := course.Check(t.Context(), run, recorded, reference()); err != nil {
		t.Fatal(err)
	}
}

func Example() {
	main()
	// Output:
	// memcpyasynctx.ints bytes=4096 crc32=61da85d9
	// memcpyasynctx.doubles bytes=8192 crc32=ba335294
	// As on an H100: the phase was over when 1024 threads had arrived and the bytes of both copies had landed.
}
