package mma

import (
	"encoding/binary"
	"fmt"
	"sync"

	"example.com/leafhopper/internal/hopper"
)

// Sync is mma.sync by a warp: D = A·B + C, where d holds C before and D after. r[i][lane] is register i of a lane in d,
// a and b, which have as many as op's fragments and may be the same. It returns an error, and leaves d as it is, if op
// is not valid or an operand has another number of registers.
func Sync(op Op, d, a, b [][Lanes]uint32) error {
	if err := op.Validate(); err != nil {
		return err
	}
	fa, fb, fd := op.FragmentA(), op.FragmentB(), op.FragmentD()
	for _, x := range [...]struct {
		name string
		Fragment
		have int
	}{{"A", fa, len(a)}, {"B", fb, len(b)}, {"C and D", fd, len(d)}} {
		if x.have != x.Registers() {
			return fmt.Errorf("mma: %v: %d registers of %s, want %d", op, x.have, x.name, x.Registers())
		}
	}
	if op.D == F64 {
		doubles(fa, fb, fd, d, a, b)
		return nil
	}
	m := memories.Get().(*memory)
	defer memories.Put(m)
	fa.gather(m.a[:], a)
	fb.gather(m.b[:], b)
	for i := range fd.Elements() {
		for lane := range Lanes {
			*m.at(fd, lane, i) = uint32(fd.Bits(d, lane, i))
		}
	}
	switch {
	case op.D == S32:
		spec := hopper.IntSpec{SignedA: op.A == S8, SignedB: op.B == S8, Saturate: op.Saturate}
		spec.Multiply(m.d[:], N, m.a[:fa.Rows], m.b[:])
	case types[op.A].size == 1:
		m.eights(op)
	default:
		m.multiply(op.A, op.D, m.a[:fa.Rows], m.b[:])
	}
	for i := range fd.Elements() {
		for lane := range Lanes {
			fd.SetBits(d, lane, i, uint64(*m.at(fd, lane, i)))
		}
	}
	return nil
}

// A memory is what an instruction works in: rows of A, columns of B, and C and then D, row by row. What an instruction
// has less of K is zero, which adds nothing to the sum of wgmma.
type memory struct {
	a, wideA [16]hopper.Row
	b, wideB [N]hopper.Row
	d        [16 * N]uint32
	pa, pb   hopper.Panel
}

var memories = sync.Pool{New: func() any { return new(memory) }}

// at returns element i of a lane.
func (m *memory) at(fd Fragment, lane, i int) *uint32 {
	row, col := fd.coord(lane, i)
	return &m.d[row*N+col]
}

// gather fills rows of A, or columns of B, whose elements have 32 bits at most.
func (f Fragment) gather(rows []hopper.Row, r [][Lanes]uint32) {
	clear(rows)
	size := types[f.Type].size
	for i := range r {
		for lane, v := range r[i] {
			outer, inner := f.coord(lane, i*4/size)
			binary.LittleEndian.PutUint32(rows[outer][inner*size:], v)
		}
	}
}

// multiply is the rule of wgmma with operands of one type.
func (m *memory) multiply(in, sum Type, a, b []hopper.Row) {
	spec := hopper.SpecOf(types[in].format, types[in].format, types[sum].format)
	m.pa.PackRows(spec.A, a, false)
	m.pb.PackRows(spec.B, b, false)
	spec.Multiply(m.d[:], N, &m.pa, &m.pb)
}
