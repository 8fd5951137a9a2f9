package main

import (
	"slices"
	"testing"

	"example.com/leafhopper/examples/internal/course"
)

func reference() []course.Output {
	var data []uint32
	for t := range uint32(128) {
		data = append(data, course.Element(t, 1))
	}
	for i := range uint32(16) {
		published := slices.Clone(data)
		for t, v := range published {
			own := v*1664525 + 1013904223 + i
			data[t] = own ^ published[(t+1)%128]
		}
	}
	return []course.Output{{Name: "splitarrivewait.data", Data: data}}
}

func TestKernel(t *testing.T) {
	if err := course.Check(t.Context(), run, recorded, reference()); err != nil {
		t.Fatal(err)
	}
}

func Example() {
	main()
	// Output:
	// splitarrivewait.data bytes=512 crc32=0fc02491
	// As on an H100: what is written before an arrival is there after the wait for its token.
}
