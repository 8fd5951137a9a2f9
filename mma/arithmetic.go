package mma

import (
	"encoding/binary"
	"math"

	"github.com/x448/float16"

	"example.com/leafhopper/fp8"
	"example.com/leafhopper/internal/hopper"
)

// eights multiplies floats of 8 bits, for which compute capability 9.0 has no instruction of a warp: they become f16,
// and an instruction two, the first with what has an even k/2, from zero, the second with the rest. Then C is added.
func (m *memory) eights(op Op) {
	c, rows := m.d, op.Shape.M()
	clear(m.d[:])
	for half := range 2 {
		widen(m.wideA[:rows], m.a[:rows], op.A, half)
		widen(m.wideB[:], m.b[:], op.B, half)
		m.multiply(F16, op.D, m.wideA[:rows], m.wideB[:])
	}
	for i := range m.d {
		m.d[i] = op.D.add(m.d[i], c[i])
	}
}

// widen makes f16 of the floats of 8 bits of which k/2 is even, or odd if half is 1.
func widen(dst, src []hopper.Row, t Type, half int) {
	for i := range src {
		for k := range len(dst[i]) / 2 {
			u := src[i][k/2*4+half*2+k%2]
			v := fp8.E4M3(u).Float32()
			if t == E5M2 {
				v = fp8.E5M2(u).Float32()
			}
			binary.LittleEndian.PutUint16(dst[i][2*k:], float16.Fromfloat32(v).Bits())
		}
	}
}

// add returns the sum of two F32 or F16, rounded to nearest even.
func (t Type) add(x, y uint32) uint32 {
	if t == F32 {
		sum := math.Float32frombits(x) + math.Float32frombits(y)
		if sum != sum {
			return 0x7fffffff
		}
		return math.Float32bits(sum)
	}
	// float32 has more than twice the bits, so that rounding twice is rounding once.
	sum := float16.Frombits(uint16(x)).Float32() + float16.Frombits(uint16(y)).Float32()
	if sum != sum {
		return 0x7fff
	}
	return uint32(float16.Fromfloat32(sum))
}

// doubles multiplies elements of 64 bits: a chain of fused multiply-adds, k ascending.
func doubles(fa, fb, fd Fragment, d, a, b [][Lanes]uint32) {
	var rows [16][16]uint64
	var columns [N][16]uint64
	fa.gather64(rows[:], a)
	fb.gather64(columns[:], b)
	for i := range fd.Elements() {
		for lane := range Lanes {
			row, col := fd.coord(lane, i)
			sum := fd.Bits(d, lane, i)
			for k := range fa.Cols {
				sum = fma(rows[row][k], columns[col][k], sum)
			}
			fd.SetBits(d, lane, i, sum)
		}
	}
}

// gather64 fills rows of A, or columns of B, whose elements have 64 bits.
func (f Fragment) gather64(rows [][16]uint64, r [][Lanes]uint32) {
	for i := range f.Elements() {
		for lane := range Lanes {
			outer, inner := f.coord(lane, i)
			rows[outer][inner] = f.Bits(r, lane, i)
		}
	}
}

// fma returns a·b + c of f64. The NaN of b counts before that of c, and that before a's, each made quiet; the NaN of
// infinities is negative.
func fma(a, b, c uint64) uint64 {
	sum := math.FMA(math.Float64frombits(a), math.Float64frombits(b), math.Float64frombits(c))
	if sum == sum {
		return math.Float64bits(sum)
	}
	for _, x := range [...]uint64{b, c, a} {
		if x<<1 > infinity64*2 {
			return x | quiet64
		}
	}
	return 1<<63 | infinity64 | quiet64
}

const (
	infinity64 = 0x7ff << 52
	quiet64    = 1 << 51
)
