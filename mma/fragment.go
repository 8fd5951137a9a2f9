package mma

import (
	"fmt"
	"math"

	"github.com/x448/float16"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/fp8"
	"example.com/leafhopper/internal/hopper"
	"example.com/leafhopper/tf32"
)

// Lanes is the number of lanes of a warp.
const Lanes = 32

// A Fragment is how an operand lies in the registers of a warp (PTX 9.7.14.5.2 to 9.7.14.5.13, and 9.7.14.6.2).
// r[i][lane] is register i of a lane, as ldmatrix loads them; an element of 64 bits takes two, the low half first, and
// smaller ones share one, the first in its lowest bits. A lane has the same number of elements as any other.
//
// Methods panic if there is no such lane or element, or if r has fewer registers.
type Fragment struct {
	Type       Type
	Rows, Cols int // M and K of A, or half of K if A is sparse, K and N of B, M and N of C and D

	columns bool // side by side are the elements of a column, as in B
	run     int  // as many of which a lane has; see hopper.Place
}

// FragmentA returns how A lies in registers, of a sparse A what is stored. Like FragmentB and FragmentD it panics if op
// is not valid.
func (op Op) FragmentA() Fragment {
	op.check()
	k := op.Shape.K()
	if op.Sparse {
		k /= 2
	}
	return Fragment{Type: op.A, Rows: op.Shape.M(), Cols: k, run: max(1, 32/types[op.A].width)}
}

// FragmentB returns how B lies in registers.
func (op Op) FragmentB() Fragment {
	op.check()
	return Fragment{Type: op.B, Rows: op.Shape.K(), Cols: N, columns: true, run: max(1, 32/types[op.B].width)}
}

// FragmentD returns how C and D lie in registers.
func (op Op) FragmentD() Fragment {
	op.check()
	return Fragment{Type: op.D, Rows: op.Shape.M(), Cols: N, run: 2}
}

func (op Op) check() {
	if err := op.Validate(); err != nil {
		panic(err.Error())
	}
}

// Elements returns the number of elements of a lane.
func (f Fragment) Elements() int { return f.Rows * f.Cols / Lanes }

// Registers returns the number of 32-bit registers of a lane.
func (f Fragment) Registers() int { return f.Elements() * types[f.Type].width / 32 }

// Make returns zeroed registers.
func (f Fragment) Make() [][Lanes]uint32 { return make([][Lanes]uint32, f.Registers()) }

// Coord returns the row and the column of element i of a lane.
func (f Fragment) Coord(lane, i int) (row, col int) {
	f.check(lane, i)
	outer, inner := f.coord(lane, i)
	if f.columns {
		return inner, outer
	}
	return outer, inner
}

// coord returns the row of A or D, or the column of B, and the place in it, of an element in range.
func (f Fragment) coord(lane, i int) (outer, inner int) {
	o, in := hopper.Place(f.groups(), uint(f.run), uint(lane), uint(i))
	return int(o), int(in)
}

// groups returns how many groups of eight rows A and D have, or of eight columns B.
func (f Fragment) groups() uint {
	if f.columns {
		return N / 8
	}
	return uint(f.Rows / 8)
}

// Index is the inverse of Coord. It panics if there is no such place.
func (f Fragment) Index(row, col int) (lane, i int) {
	if uint(row) >= uint(f.Rows) || uint(col) >= uint(f.Cols) {
		panic(fmt.Sprintf("mma: element (%d, %d) of %d rows and %d columns", row, col, f.Rows, f.Cols))
	}
	if f.columns {
		row, col = col, row
	}
	l, e := hopper.Element(f.groups(), uint(f.run), uint(row), uint(col))
	return int(l), int(e)
}

func (f Fragment) check(lane, i int) {
	if uint(lane) >= Lanes || uint(i) >= uint(f.Elements()) {
		panic(fmt.Sprintf("mma: element %d of lane %d, have %d elements in each of %d lanes", i, lane, f.Elements(), Lanes))
	}
}

// Bits returns the representation of element i of a lane.
func (f Fragment) Bits(r [][Lanes]uint32, lane, i int) uint64 {
	f.check(lane, i)
	width := types[f.Type].width
	if width == 64 {
		return uint64(r[2*i+1][lane])<<32 | uint64(r[2*i][lane])
	}
	return uint64(r[i*width/32][lane] >> (i * width % 32) & (1<<width - 1))
}

// SetBits sets the representation of element i of a lane. Bits beyond its size are ignored.
func (f Fragment) SetBits(r [][Lanes]uint32, lane, i int, v uint64) {
	f.check(lane, i)
	width := types[f.Type].width
	if width == 64 {
		r[2*i][lane], r[2*i+1][lane] = uint32(v), uint32(v>>32)
		return
	}
	mask, shift := uint32(1<<width-1), i*width%32
	p := &r[i*width/32][lane]
	*p = *p&^(mask<<shift) | uint32(v)&mask<<shift
}

// Float32 returns the value of element i of a lane, rounded to nearest even if it is an S32 or an F64.
func (f Fragment) Float32(r [][Lanes]uint32, lane, i int) float32 {
	return f.Type.value(f.Bits(r, lane, i))
}

// value is the inverse of bits, for the representation that Bits returns.
func (t Type) value(u uint64) float32 {
	switch t {
	case BF16:
		return bf16.BF16(u).Float32()
	case F16:
		return float16.Frombits(uint16(u)).Float32()
	case TF32:
		return tf32.Truncate(math.Float32frombits(uint32(u)))
	case E4M3:
		return fp8.E4M3(u).Float32()
	case E5M2:
		return fp8.E5M2(u).Float32()
	case S8:
		return float32(int8(u))
	case U8, B1:
		return float32(u)
	case S32:
		return float32(int32(u))
	case F64:
		return float32(math.Float64frombits(u))
	}
	return math.Float32frombits(uint32(u))
}

// SetFloat32 sets element i of a lane to v, rounded to nearest even; integers clamp, and take 0 for a NaN.
func (f Fragment) SetFloat32(r [][Lanes]uint32, lane, i int, v float32) {
	f.SetBits(r, lane, i, f.Type.bits(v))
}

// bits returns the representation of v, for SetBits.
func (t Type) bits(v float32) uint64 {
	switch t {
	case BF16:
		return uint64(bf16.FromFloat32(v))
	case F16:
		return uint64(float16.Fromfloat32(v))
	case TF32:
		return uint64(math.Float32bits(tf32.Round(v)))
	case E4M3:
		return uint64(fp8.E4M3FromFloat32(v))
	case E5M2:
		return uint64(fp8.E5M2FromFloat32(v))
	case S8:
		return clamp(v, math.MinInt8, math.MaxInt8)
	case U8:
		return clamp(v, 0, math.MaxUint8)
	case B1:
		return clamp(v, 0, 1)
	case S32:
		return clamp(v, math.MinInt32, math.MaxInt32)
	case F64:
		return math.Float64bits(float64(v))
	}
	return uint64(math.Float32bits(v))
}

func clamp(v float32, low, high float64) uint64 {
	if v != v {
		return 0
	}
	return uint64(int64(min(max(math.RoundToEven(float64(v)), low), high)))
}
