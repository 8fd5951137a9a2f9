package main

import (
	"testing"

	"example.com/leafhopper/examples/internal/course"
)

func reference() []course.Output {
	var out []int32
	var ranks []uint32
	for b := range int32(4) {
		for t := range int32(32) {
			out = append(out, 1000*(b^1)+(31-t)+2)
		}
		ranks = append(ranks, uint32(b%2^1))
	}
	return []course.Output{{Name: "dsmem.out", Data: out}, {Name: "dsmem.ranks", Data: ranks}}
}

func TestKernel(t *testing.T) {
	if err := course.Check(t.Context(), run, recorded, reference()); err != nil {
		t.Fatal(err)
	}
}

func Example() {
	main()
	// Output:
	// dsmem.out bytes=512 crc32=592e8e99
	// dsmem.ranks bytes=16 crc32=8e79da5a
	// As on an H100: every thread found in its block's memory what its peer in the cluster had written there.
}
