package mma

import (
	"encoding/binary"
	"math"

	"github.com/x448/float16"

	"example.com/leafhopper/internal/hopper"
)

// multiplyBytes multiplies elements of 8 bits. For floats of that size compute capability 9.0 has no instruction of a
// warp: they become f16, and an instruction two, the first with what has an even k/2, from zero, the second with the
// rest. Then C is added. Of integers that is exact. Of a sparse A k counts what is stored: the first instruction has
// the even chunks.
func (m *memory) multiplyBytes(op Op) {
	m.d, m.c = m.c, m.d
	clear(m.d)
	sum := op.D
	if sum == S32 {
		sum = F32
	}
	for half := range 2 {
		widen(m.wideA[:op.Shape.M()], m.a[:], op.A, half, 2)
		if op.Sparse {
			widen(m.wideLong[:], m.long[:], op.B, half, 4)
			for i := range m.half {
				m.half[i] = halfOf(&m.selected[i], half)
			}
			m.multiplySparse(F16, sum, &m.wideA, &m.wideLong, &m.half)
			continue
		}
		widen(m.wideB[:], m.b[:], op.B, half, 2)
		m.multiply(F16, sum, &m.wideA, &m.wideB)
	}
	for j := range N {
		c := m.c[j*m.pitch:][:op.Shape.M()]
		for i, x := range m.d[j*m.pitch:][:len(c)] {
			c[i] = op.add(x, c[i])
		}
	}
	m.d, m.c = m.c, m.d
}

// widen makes f16 of every second run of elements of 8 bits, 2 or 4, the second ones if half is 1.
func widen(dst, src []hopper.Row, t Type, half, run int) {
	wide := &halves[t]
	for i := range dst {
		to, from := &dst[i], src[i][run*half:]
		for k := 0; k < len(to)/2; k += 2 {
			at := k + k&^(run-1)
			binary.LittleEndian.PutUint16(to[2*k:], wide[from[at]])
			binary.LittleEndian.PutUint16(to[2*k+2:], wide[from[at+1]])
		}
	}
}

// halfOf returns what is left of s if only every second chunk is stored, the second ones if half is 1, and nothing else
// of B is there.
func halfOf(s *hopper.Selection, half int) (h hopper.Selection) {
	for k := range words {
		chunk := k / 2
		h[k] = uint8(4*chunk) + s[2*(2*chunk+half)+k%2]%4
	}
	return h
}

// halves are the f16 of each byte, by its type.
var halves = func() (h [U8 + 1][256]uint16) {
	for t := E4M3; t <= U8; t++ {
		for u := range h[t] {
			h[t][u] = uint16(F16.bits(t.value(uint64(u))))
		}
	}
	return h
}()

// add adds c to a sum of products of elements of 8 bits: floats are rounded to nearest even.
func (op Op) add(x, c uint32) uint32 {
	switch op.D {
	case S32:
		sum := int64(math.Float32frombits(x)) + int64(int32(c))
		if op.Saturate {
			sum = min(max(sum, math.MinInt32), math.MaxInt32)
		}
		return uint32(sum)
	case F32:
		sum := math.Float32frombits(x) + math.Float32frombits(c)
		if sum != sum {
			return 0x7fffffff
		}
		return math.Float32bits(sum)
	}
	// float32 has more than twice the bits, so that rounding twice is rounding once.
	sum := math.Float32frombits(hopper.FromF16(x)) + math.Float32frombits(hopper.FromF16(c))
	if sum != sum {
		return 0x7fff
	}
	return uint32(float16.Fromfloat32(sum))
}

// multiplyBits multiplies bits, and adds the products.
func (m *memory) multiplyBits(op Op) {
	spec := hopper.IntSpec{Bits: hopper.BitOp(op.BitOp)}
	spec.Multiply(m.d, m.pitch, m.b[:], m.a[:op.Shape.M()])
}

// multiplyDoubles multiplies elements of 64 bits: a chain of fused multiply-adds, k ascending.
func multiplyDoubles(fa, fb, fd Fragment, d, a, b [][Lanes]uint32) {
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
