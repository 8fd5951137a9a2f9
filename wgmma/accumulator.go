package wgmma

import (
	"fmt"
	"math"

	"github.com/x448/float16"

	"example.com/leafhopper/internal/enum"
	"example.com/leafhopper/internal/hopper"
)

// AccumulatorType is the element type of C and D.
type AccumulatorType uint8

// The accumulator types.
const (
	F32 AccumulatorType = iota
	F16
	S32
)

// String returns the type as PTX writes it.
func (t AccumulatorType) String() string {
	return enum.Name("AccumulatorType", []string{"f32", "f16", "s32"}, t)
}

// An Accumulator is the registers of a warpgroup that hold C and then D: 64 rows
// of N elements, N/2 of them in each thread. See [AccumulatorCoord].
//
// Elements are read and written by place in the matrix (At, Bits) or by thread
// and register (Register). While an instruction on it is pending its registers
// must not be touched: without checks the reader sees the values of before, in
// checked mode the methods panic with a [*Misuse].
//
// An Accumulator, like a register, belongs to one goroutine. [NewAccumulator] makes
// one, which must not be copied: a copy would have the same registers, but would not
// know what is pending on them. The zero Accumulator has no columns, and fits no Op.
type Accumulator struct {
	typ     AccumulatorType
	n       int
	pitch   int      // n, or more for the sake of kernels
	elem    []uint32 // M rows of n representations, pitch apart; f16 as the same number in f32
	touched stamp
	pending int // instructions that have not written it
	checked bool

	// The instruction last issued, for the rule that only those of one shape
	// may follow each other without a fence.
	last   Shape
	issued stamp
}

// NewAccumulator returns zeroed accumulators for instructions of a type and n
// columns.
func NewAccumulator(typ AccumulatorType, n int) (*Accumulator, error) {
	if typ > S32 {
		return nil, fmt.Errorf("wgmma: accumulator type %v, must be f32, f16 or s32", typ)
	}
	if err := checkN(typ == S32, n, typ); err != nil {
		return nil, err
	}
	pitch := typ.pitch(n)
	return &Accumulator{typ: typ, n: n, pitch: pitch, elem: make([]uint32, M*pitch), touched: now()}, nil
}

// Type returns the element type.
func (d *Accumulator) Type() AccumulatorType { return d.typ }

// N returns the number of columns.
func (d *Accumulator) N() int { return d.n }

// At returns an element, exactly.
func (d *Accumulator) At(row, col int) float64 {
	d.touch("At")
	u := *d.at(row, col)
	if d.typ == S32 {
		return float64(int32(u))
	}
	return float64(math.Float32frombits(u))
}

// Set sets an element to v, rounded to nearest even; s32 clamps, and takes 0
// for a NaN.
func (d *Accumulator) Set(row, col int, v float64) {
	d.touch("Set")
	*d.at(row, col) = d.typ.stored(d.typ.encode(v))
}

// encode returns the representation of v.
func (t AccumulatorType) encode(v float64) uint32 {
	switch t {
	case F16:
		// Rounding to odd on the way keeps the second rounding correct.
		return uint32(float16.Fromfloat32(roundToOdd(v)).Bits())
	case S32:
		if v != v {
			return 0
		}
		return uint32(int32(min(max(math.RoundToEven(v), math.MinInt32), math.MaxInt32)))
	}
	return math.Float32bits(float32(v))
}

// roundToOdd narrows v such that what it cuts off leaves a trace in the last
// bit.
func roundToOdd(v float64) float32 {
	f := float32(v)
	if float64(f) == v || v != v {
		return f
	}
	u := math.Float32bits(f)
	if math.Abs(float64(f)) > math.Abs(v) {
		u-- // toward zero, from infinity too
	}
	return math.Float32frombits(u | 1)
}

// Bits returns the representation of an element, for f16 in the lower half.
func (d *Accumulator) Bits(row, col int) uint32 {
	d.touch("Bits")
	return d.typ.bits(*d.at(row, col))
}

// SetBits sets the representation of an element.
func (d *Accumulator) SetBits(row, col int, u uint32) {
	d.touch("SetBits")
	*d.at(row, col) = d.typ.stored(u)
}

// stored returns what an Accumulator has for the representation u: the same, or the
// f32 of an f16.
func (t AccumulatorType) stored(u uint32) uint32 {
	if t != F16 {
		return u
	}
	return hopper.FromF16(u)
}

// bits is the inverse of stored.
func (t AccumulatorType) bits(u uint32) uint32 {
	if t != F16 {
		return u
	}
	return hopper.ToF16(u)
}

// Registers returns the number of 32-bit registers of a thread: N/2, or N/4 for
// f16, which packs two elements in one.
func (d *Accumulator) Registers() int {
	if d.typ == F16 {
		return d.n / 4
	}
	return d.n / 2
}

// Register returns register i, 0 to Registers()-1, of a thread, 0 to 127. Like
// SetRegister it panics if there is none.
func (d *Accumulator) Register(thread, i int) uint32 {
	d.touch("Register")
	checkRegister(thread, i, d.Registers())
	if d.typ == F16 {
		return F16.bits(*d.ofThread(thread, 2*i)) | F16.bits(*d.ofThread(thread, 2*i+1))<<16
	}
	return *d.ofThread(thread, i)
}

// Float32 returns the value of element i of a thread, at [AccumulatorCoord] of them,
// rounded to nearest even if it is an s32. It panics if there is none: i is 0 to
// N/2-1, thread 0 to 127.
func (d *Accumulator) Float32(thread, i int) float32 {
	d.touch("Float32")
	checkElement(thread, i, d.n/2)
	u := *d.ofThread(thread, i)
	if d.typ == S32 {
		return float32(int32(u))
	}
	return math.Float32frombits(u)
}

// SetRegister sets register i of a thread.
func (d *Accumulator) SetRegister(thread, i int, v uint32) {
	d.touch("SetRegister")
	checkRegister(thread, i, d.Registers())
	if d.typ == F16 {
		*d.ofThread(thread, 2*i) = F16.stored(v & 0xffff)
		*d.ofThread(thread, 2*i+1) = F16.stored(v >> 16)
		return
	}
	*d.ofThread(thread, i) = v
}

func (d *Accumulator) at(row, col int) *uint32 {
	if uint(row) >= M || uint(col) >= uint(d.n) {
		noPlace(row, col, d.n)
	}
	return &d.elem[row*d.pitch+col]
}

func noPlace(row, col, columns int) {
	panic(fmt.Sprintf("wgmma: accumulator element (%d, %d), have %d rows and %d columns", row, col, M, columns))
}

// ofThread returns element i of a thread, both in range.
func (d *Accumulator) ofThread(thread, i int) *uint32 {
	row, col := hopper.Place(2, 2, uint(thread)%32, uint(i)) // not placeOf, so as to be inlined
	return &d.elem[int(uint(thread)/32*16+row)*d.pitch+int(col)]
}

// checkRegister panics unless each thread has more than i registers.
func checkRegister(thread, i, registers int) {
	if uint(thread) >= Threads || uint(i) >= uint(registers) {
		panic(fmt.Sprintf("wgmma: register %d of thread %d, have %d registers in each of %d threads",
			i, thread, registers, Threads))
	}
}

// touch records an access to the registers. It is small enough to be part of what
// an epilogue calls for every element.
func (d *Accumulator) touch(method string) {
	if d.pending > 0 {
		d.checkPending(method)
	}
	d.touched = now()
}

func (d *Accumulator) checkPending(method string) {
	if d.checked {
		const format = "Accumulator.%s: %d instructions on it are pending, CommitGroup and WaitGroup must cover them first"
		panic(misuse(RulePending, format, method, d.pending))
	}
}
