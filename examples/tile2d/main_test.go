package main

import (
	"testing"

	"example.com/leafhopper/examples/internal/course"
)

func modified(name string, x, y int) []course.Output {
	matrix, sums := course.Ints(width*height, 1), make([]int32, tileWidth)
	for t := range min(tileWidth, width-x) {
		for row := range min(tileHeight, height-y) {
			sums[t] += matrix[(y+row)*width+x+t]
		}
		matrix[y*width+x+t] += int32(t)
	}
	return []course.Output{{Name: name, Data: matrix}, {Name: name + "_sums", Data: sums}}
}

func TestKernel(t *testing.T) {
	want := append(modified("tile2d.inside", 36, 21), modified("tile2d.edge", 100, 88)...)
	if err := course.Check(t.Context(), run, recorded, want); err != nil {
		t.Fatal(err)
	}
}

func Example() {
	main()
	// Output:
	// tile2d.inside bytes=49152 crc32=b0ff2a08
	// tile2d.inside_sums bytes=256 crc32=d0943c76
	// tile2d.edge bytes=49152 crc32=bbf0a52d
	// tile2d.edge_sums bytes=256 crc32=99b31690
	// As on an H100: over the edge the load brought zeros, and counted their bytes, and the store was cut.
}
