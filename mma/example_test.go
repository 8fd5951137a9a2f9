package mma_test

import (
	"fmt"
	"strings"

	"example.com/leafhopper/mma"
)

// One instruction multiplies 16 rows of A by 8 columns of B. Element (i, j) of A is i-j, and B selects every second
// column of it.
func Example() {
	op, err := mma.Parse("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
	if err != nil {
		fmt.Println(err)
		return
	}
	a, b, d := op.FragmentA(), op.FragmentB(), op.FragmentD()
	ra, rb, rd := a.Make(), b.Make(), d.Make() // D begins as C, which is zero
	for lane := range mma.Lanes {
		for i := range a.Elements() {
			row, col := a.Coord(lane, i)
			a.SetFloat32(ra, lane, i, float32(row-col))
		}
		for i := range b.Elements() {
			if k, col := b.Coord(lane, i); k == 2*col {
				b.SetFloat32(rb, lane, i, 1)
			}
		}
	}
	var w mma.Warp
	if err := w.MMA(op, rd, ra, rb); err != nil {
		fmt.Println(err)
		return
	}
	var last [8]float32
	for col := range last {
		lane, i := d.Index(15, col)
		last[col] = d.Float32(rd, lane, i)
	}
	lane, i := d.Index(15, 7)
	fmt.Println("row 15 is", last)
	fmt.Println("element (15, 7) is register", i, "of lane", lane)
	// Output:
	// row 15 is [15 13 11 9 7 5 3 1]
	// element (15, 7) is register 3 of lane 31
}

// Of four neighbours in a row of A two are stored, and two bits for each say which.
func ExampleCompress() {
	op, err := mma.Parse("mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
	if err != nil {
		fmt.Println(err)
		return
	}
	a := make([]int8, 16*32)
	copy(a, []int8{0, 5, 0, 7, 1, 0, 2, 0})
	stored, meta, err := mma.Compress(op, a, 32)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("row 0 begins with", stored[:4])
	for chunk := range 2 {
		lane, i := op.MetadataIndex(0, 0, chunk)
		places := meta[0][lane] >> (4 * i)
		fmt.Println("chunk", chunk, "has the elements", places&3, "and", places>>2&3)
	}

	a[0] = 9
	_, _, err = mma.Compress(op, a, 32)
	_, where, _ := strings.Cut(err.Error(), "s32: ")
	fmt.Println(where)
	// Output:
	// row 0 begins with [5 7 1 2]
	// chunk 0 has the elements 1 and 3
	// chunk 1 has the elements 0 and 2
	// row 0, columns 0 to 3: [9 5 0 7], must have at most 2 other than 0
}
