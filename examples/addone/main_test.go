package main

import (
	"testing"

	"example.com/leafhopper/examples/internal/course"
)

func reference() []course.Output {
	data := course.Ints(4096, 1)
	for i := 1024; i < 2048; i++ {
		data[i]++
	}
	return []course.Output{{Name: "addone.data", Data: data}}
}

func TestKernel(t *testing.T) {
	if err := course.Check(t.Context(), run, recorded, reference()); err != nil {
		t.Fatal(err)
	}
}

func Example() {
	main()
	// Output:
	// addone.data bytes=16384 crc32=749af8f0
	// As on an H100: a barrier counted the bytes of the load, a bulk group of thread 0 those of the store.
}
