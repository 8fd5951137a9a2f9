package hopper

// Place returns where element i of a lane lies in a matrix that a warp has in registers: in
// which row, and where in it. Rows come in groups of eight, one or two, of each of which a
// lane has row lane/4, and in that every fourth run of so many neighbours. It is so of A, of
// B by its columns, and of C and D, in mma.sync (PTX ISA 9.1, section 9.7.14.5) and for each
// warp of wgmma (9.7.15.5).
func Place(groups, run, lane, i uint) (row, at uint) {
	n := i / run
	return lane/4 + n%groups*8, (n/groups*4+lane%4)*run + i%run
}

// Element is the inverse of Place.
func Element(groups, run, row, at uint) (lane, i uint) {
	n := at / run
	return row%8*4 + n%4, (n/4*groups+row/8)*run + at%run
}
