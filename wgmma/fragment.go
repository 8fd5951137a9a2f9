package wgmma

import (
	"fmt"

	"example.com/leafhopper/internal/hopper"
)

// Threads is the number of threads of a warpgroup.
const Threads = 128

// AccumulatorCoord returns the row, 0 to 63, and the column, 0 to 255, of the
// accumulator element i, 0 to 127, of a thread, 0 to 127 (PTX 9.7.15.5, matrix
// fragments for wgmma.mma_async). An instruction with N columns has the first
// N/2 elements of each thread. In f32 and s32 element i is register i; in f16
// register i holds the elements 2i and 2i+1, the first in its lower half. It
// panics if there is no such thread or element.
func AccumulatorCoord(thread, i int) (row, col int) {
	checkElement(thread, i, maxN/2)
	return placeOf(2, thread, i)
}

// checkElement panics unless each thread has more than i elements.
func checkElement(thread, i, elements int) {
	if uint(thread) >= Threads || uint(i) >= uint(elements) {
		panic(fmt.Sprintf("wgmma: accumulator element %d of thread %d, have %d elements in each of %d threads",
			i, thread, elements, Threads))
	}
}

// placeOf returns where element i of a thread lies in a matrix of 64 rows, of which each warp has 16, and a thread runs
// of so many neighbours.
func placeOf(run, thread, i int) (row, at int) {
	r, a := hopper.Place(2, uint(run), uint(thread)%32, uint(i))
	return int(uint(thread)/32*16 + r), int(a)
}

// elementOf is the inverse of placeOf.
func elementOf(run, row, at int) (thread, i int) {
	lane, e := hopper.Element(2, uint(run), uint(row)%16, uint(at))
	return row/16*32 + int(lane), int(e)
}

// AccumulatorIndex is the inverse of AccumulatorCoord. It panics if row is not
// 0 to 63 or col not 0 to 255.
func AccumulatorIndex(row, col int) (thread, i int) {
	if row < 0 || row >= M || col < 0 || col >= maxN {
		noPlace(row, col, maxN)
	}
	return elementOf(2, row, col)
}

// FragmentCoord returns the row, 0 to 63, and the k, 0 to 32/size-1, of element
// i, 0 to 16/size-1, of a thread, 0 to 127, for A in registers with elements of
// size bytes, 1, 2 or 4 (PTX 9.7.15.5, as for AccumulatorCoord). The elements
// lie in four 32-bit registers, the first in the lowest bits. It panics if there
// is no such size, thread or element.
func FragmentCoord(size, thread, i int) (row, k int) {
	checkSize(size)
	if thread < 0 || thread >= Threads || i < 0 || i >= 16/size {
		panic(fmt.Sprintf("wgmma: fragment element %d of thread %d, have %d elements in each of %d threads",
			i, thread, 16/size, Threads))
	}
	return placeOf(4/size, thread, i)
}

// FragmentIndex is the inverse of FragmentCoord. It panics if size is not 1, 2
// or 4, row not 0 to 63, or k not 0 to 32/size-1.
func FragmentIndex(size, row, k int) (thread, i int) {
	checkSize(size)
	checkFragmentElement(size, row, k)
	return elementOf(4/size, row, k)
}

func checkSize(size int) {
	if size != 1 && size != 2 && size != 4 {
		panic(fmt.Sprintf("wgmma: fragment elements of %d bytes, must be 1, 2 or 4", size))
	}
}

func checkFragmentElement(size, row, k int) {
	if row < 0 || row >= M || k < 0 || k >= RowBytes/size {
		panic(fmt.Sprintf("wgmma: fragment element (%d, %d), have %d rows and %d columns", row, k, M, RowBytes/size))
	}
}

// A Fragment is the operand A in registers: 64 rows of 32 bytes, in four
// registers of each thread. [NewFragment] makes one; a zero Fragment has registers
// but no kind, and Bits and SetBits panic. A copy of a Fragment has the same
// registers.
//
// A Fragment, like a register, belongs to one goroutine.
type Fragment struct{ r *registers }

// registers are those of a Fragment.
type registers struct {
	size    int // of an element, 0 without a kind
	reg     [Threads][4]uint32
	touched stamp
	pending int // instructions that have not read it
	checked bool
}

// NewFragment returns zeroed registers for the operand A of a kind. It panics if
// kind is not valid.
func NewFragment(kind Kind) *Fragment {
	if !kind.Valid() {
		panic(fmt.Sprintf("wgmma: NewFragment: %v is not a kind", kind))
	}
	return &Fragment{&registers{size: kind.ElementSize(), touched: now()}}
}

// registers returns the registers, which a zero Fragment gets now.
func (f *Fragment) registers() *registers {
	if f.r == nil {
		f.r = &registers{touched: now()}
	}
	return f.r
}

// Register returns register i, 0 to 3, of a thread, 0 to 127. Like SetRegister
// it panics if there is none.
func (f *Fragment) Register(thread, i int) uint32 {
	r := f.touch("Register")
	checkRegister(thread, i, len(r.reg[0]))
	return r.reg[thread][i]
}

// SetRegister sets register i, 0 to 3, of a thread.
func (f *Fragment) SetRegister(thread, i int, v uint32) {
	r := f.touch("SetRegister")
	checkRegister(thread, i, len(r.reg[0]))
	r.reg[thread][i] = v
}

// Bits returns the representation of an element, row from 0 to 63 and k from 0
// to 31, 15 or 7. Like SetBits it panics if there is none.
func (f *Fragment) Bits(row, k int) uint32 {
	r, shift, mask := f.touch("Bits").locate(row, k)
	return *r >> shift & mask
}

// SetBits sets the representation of an element. Bits beyond its size are
// ignored.
func (f *Fragment) SetBits(row, k int, v uint32) {
	r, shift, mask := f.touch("SetBits").locate(row, k)
	*r = *r&^(mask<<shift) | v&mask<<shift
}

// touch returns the registers for an access to them.
func (f *Fragment) touch(method string) *registers {
	r := f.registers()
	if r.pending > 0 && r.checked {
		panic(misuse(RulePending, "Fragment.%s: %d instructions that read it are pending, "+
			"CommitGroup and WaitGroup must cover them first", method, r.pending))
	}
	r.touched = now()
	return r
}

// locate returns the register of an element and where in it.
func (r *registers) locate(row, k int) (reg *uint32, shift int, mask uint32) {
	if r.size == 0 {
		panic(fmt.Sprintf("wgmma: fragment element (%d, %d) of a zero Fragment: NewFragment must make it", row, k))
	}
	checkFragmentElement(r.size, row, k)
	per := 4 / r.size
	thread, i := elementOf(per, row, k)
	return &r.reg[thread][i/per], i % per * 8 * r.size, uint32(1<<(8*r.size) - 1)
}
