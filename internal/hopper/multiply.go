package hopper

import (
	"fmt"
	"math"
)

// Multiply adds A·B, of L products an element, to the accumulators d: the element of
// row i of a and row j of b (that is column j of B) is d[i*stride+j], in the
// representation of s.Acc.
//
// It panics if a panel is of another L, or if d is too short.
func (s *Spec) Multiply(d []uint32, stride int, a, b *Panel) {
	if a.per*block != s.L || b.per*block != s.L {
		panic(fmt.Sprintf("hopper: panels of %d and %d elements of K, want %d", a.per*block, b.per*block, s.L))
	}
	if a.rows == 0 || b.rows == 0 {
		return
	}
	if stride < b.rows || len(d) < (a.rows-1)*stride+b.rows {
		panic(fmt.Sprintf("hopper: %d accumulators with stride %d for %d by %d", len(d), stride, a.rows, b.rows))
	}
	per := a.per
	for i := range a.rows {
		x, xe := a.value[i*per:][:per], a.exp[i*per:][:per]
		row, at := d[i*stride:][:b.rows], 0
		for j, acc := range row {
			row[j] = s.dot(acc, x, xe, b.value[at:at+per], b.exp[at:at+per])
			at += per
		}
	}
}

// dot is Step on decoded operands.
func (s *Spec) dot(acc uint32, x [][block]float64, xe [][block]int32, y [][block]float64, ye [][block]int32) uint32 {
	floor := int32(-126)
	if s.Acc == F16 {
		acc, floor = F16.widen(acc), -14
	}
	c, largest := float64(math.Float32frombits(acc)), exponent(acc, floor, 2*expBias)
	xe, y, ye = xe[:len(x)], y[:len(x)], ye[:len(x)]
	for n := range x {
		p, q := &xe[n], &ye[n]
		e0 := max(p[0]+q[0], p[1]+q[1])
		e1 := max(p[2]+q[2], p[3]+q[3])
		e2 := max(p[4]+q[4], p[5]+q[5])
		e3 := max(p[6]+q[6], p[7]+q[7])
		largest = max(largest, max(e0, e1), max(e2, e3))
	}
	if largest >= sumSpecial {
		return s.infinite(c, x, y)
	}
	if largest < sumNonzero {
		return 0
	}
	unit := int(largest) - 2*expBias - s.F
	scale := math.Float64frombits(uint64(1023-unit) << 52)
	// A term is below 2^(F+2), so a block of them fits 32 bits, to which every processor converts.
	sum := int64(int32(c * scale))
	for n := range x {
		p, q := &x[n], &y[n]
		s0 := int32(p[0]*q[0]*scale) + int32(p[1]*q[1]*scale)
		s1 := int32(p[2]*q[2]*scale) + int32(p[3]*q[3]*scale)
		s2 := int32(p[4]*q[4]*scale) + int32(p[5]*q[5]*scale)
		s3 := int32(p[6]*q[6]*scale) + int32(p[7]*q[7]*scale)
		sum += int64(s0 + s1 + (s2 + s3))
	}
	if s.Acc == F32 {
		// Where the sum is a normal float32 its conversion to float64, which is
		// exact, has the bits of the result, and some more.
		u := math.Float64bits(float64(sum))
		if field := int(u>>52&0x7ff) + unit - 1023 + 127; sum != 0 && field >= 1 && field <= 254 {
			return uint32(u>>63)<<31 | uint32(field)<<23 | uint32(u>>29)&(1<<23-1)&^(1<<(23-s.Frac)-1)
		}
	}
	return s.round(sum, unit)
}

// infinite is dot when a term is not finite. IEEE arithmetic decides the same
// way whether the sum is a NaN or which infinity; finite terms cannot overflow
// a float64.
func (s *Spec) infinite(sum float64, x, y [][block]float64) uint32 {
	for n := range x {
		for k := range x[n] {
			sum += x[n][k] * y[n][k]
		}
	}
	if sum != sum {
		return s.nan()
	}
	return s.inf(sum < 0)
}
