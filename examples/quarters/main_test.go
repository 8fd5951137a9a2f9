package main

import (
	"testing"

	"example.com/leafhopper/examples/internal/course"
)

func reference() []course.Output {
	var matrix []int32
	for i := range uint32(64 * 32) {
		block, row := i/(16*32), i/32%16
		matrix = append(matrix, int32(2*course.Element(i, 1)+1000*block+row))
	}
	return []course.Output{{Name: "quarters.matrix", Data: matrix}, {Name: "quarters.parities", Data: []int32{
		0, 1, // after init
		0, 1, // after arrive.expect_tx
		1, 0, // after the first tile landed
		1, 0, // after arrive.expect_tx
		0, 1, // after the second tile landed
	}}}
}

func TestKernels(t *testing.T) {
	if err := course.Check(t.Context(), run, recorded, reference()); err != nil {
		t.Fatal(err)
	}
}

func Example() {
	main()
	// Output:
	// quarters.matrix bytes=8192 crc32=11cb0961
	// quarters.parities bytes=40 crc32=ead887ea
	// As on an H100: parity 1 passes on a barrier whose tile has not landed, and waits on one whose tile has.
	// # after init 1           parity 0: 0  parity 1: 1
	// # after arrive.expect_tx parity 0: 0  parity 1: 1
	// # after bytes landed     parity 0: 1  parity 1: 0
	// # after arrive.expect_tx parity 0: 1  parity 1: 0
	// # after bytes landed     parity 0: 0  parity 1: 1
}
