package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/race"
)

// finishing is what options ask to happen to sums besides alpha and beta.
type finishing struct {
	any        bool
	vectors    [numVectors]vector
	activation asm.Activation
}

// The vectors of a product, in the order in which they are applied.
const (
	scalesB = iota
	scalesA
	biasCols
	biasRows
	numVectors
)

// vector is the values of an option.
type vector struct {
	at *float32 // nil if there is none
	n  int
}

// vectorsOf says of vectors which option they are of, and what there is a value for.
var vectorsOf = [numVectors]struct {
	option, of string
	rows       bool // of A and C, or columns of B and C
}{
	scalesB:  {"WithScales", "columns of B, or one", false},
	scalesA:  {"WithScales", "rows of A, or one", true},
	biasCols: {"WithBias", "columns of C", false},
	biasRows: {"WithRowBias", "rows of C", true},
}

// finish is what happens to sums on their way to C besides alpha and beta.
type finish struct {
	vectors    [numVectors]asm.Vector // along C as it lies in memory, for its first element
	scales     []float32              // products of A's and B's, if B has one
	activation asm.Activation
	first      unsafe.Pointer // element of C
	pitch      int            // bytes between rows of C
}

// finishes are for products that workers share, too, and so cannot lie on a stack. Few products have one, and all
// would have to make room for it.
var finishes race.Pool[finish]

// release gives the finish back, without what it points to.
func (f *finish) release() {
	*f = finish{scales: f.scales}
	finishes.Put(f)
}

// vector returns what a vector has for the elements of C from row and col on, as they lie in memory.
func (f *finish) vector(i, row, col int) asm.Vector {
	v := f.vectors[i]
	v.At = forward(v.At, row*v.Row+col*v.Col)
	return v
}
