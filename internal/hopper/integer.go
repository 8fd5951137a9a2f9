package hopper

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// An IntSpec is the arithmetic of one kind of instruction with 8-bit integer
// operands, or bits, and s32 accumulators.
type IntSpec struct {
	SignedA, SignedB bool
	Saturate         bool  // clamp the final sum; otherwise it wraps
	Bits             BitOp // the operands are bits, of whose products those that are 1 are counted
}

// A BitOp is the product of two bits. The zero value is none.
type BitOp uint8

// The products of bits.
const (
	And BitOp = 1 + iota
	Xor
)

// Multiply adds A·B to the accumulators d: the element of row i of a and row j
// of b (that is column j of B) is d[i*stride+j], an s32. It panics if d is too
// short.
func (s *IntSpec) Multiply(d []uint32, stride int, a, b []Row) {
	for i := range a {
		row := d[i*stride:][:len(b)]
		if s.Bits != 0 {
			for j := range b {
				row[j] += s.Bits.count(&a[i], &b[j])
			}
			continue
		}
		x := widen(&a[i], s.SignedA)
		for j := range b {
			y := widen(&b[j], s.SignedB)
			sum := int64(int32(row[j]))
			for k := range x {
				sum += int64(x[k]) * int64(y[k])
			}
			if s.Saturate {
				sum = min(max(sum, math.MinInt32), math.MaxInt32)
			}
			row[j] = uint32(sum)
		}
	}
}

// count returns how many products of the bits of two rows are 1.
func (op BitOp) count(a, b *Row) (n uint32) {
	if op == Xor {
		for k := 0; k < len(a); k += 8 {
			n += uint32(bits.OnesCount64(binary.LittleEndian.Uint64(a[k:]) ^ binary.LittleEndian.Uint64(b[k:])))
		}
		return n
	}
	for k := 0; k < len(a); k += 8 {
		n += uint32(bits.OnesCount64(binary.LittleEndian.Uint64(a[k:]) & binary.LittleEndian.Uint64(b[k:])))
	}
	return n
}

func widen(row *Row, signed bool) (w [len(Row{})]int16) {
	for k, v := range row {
		w[k] = int16(v)
		if signed {
			w[k] = int16(int8(v))
		}
	}
	return w
}
