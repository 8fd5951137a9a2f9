package mma

import (
	"encoding/binary"
	"fmt"

	"example.com/leafhopper/internal/hopper"
)

// A Warp issues instructions. It belongs to one goroutine, which stands for the 32 threads, and keeps the memory, some
// kilobytes, that they work in, which copies of it share. The zero value is ready.
type Warp struct{ memory *memory }

// MMA is mma.sync: D = A·B + C, where d holds C before and D after. r[i][lane] is register i of a lane in d, a and b,
// which have as many as op's fragments and may be the same. It returns an error, and leaves d as it is, if op is not
// valid or an operand has another number of registers.
func (w *Warp) MMA(op Op, d, a, b [][Lanes]uint32) error {
	if err := op.Validate(); err != nil {
		return err
	}
	if op.Sparse {
		return fmt.Errorf("mma: %v: MMASparse issues instructions with a sparse A, MMA those with a dense one", op)
	}
	fa, fb, fd := op.FragmentA(), op.FragmentB(), op.FragmentD()
	if err := op.checkRegisters(fa, fb, fd, len(a), len(b), len(d)); err != nil {
		return err
	}
	if op.D == F64 {
		multiplyDoubles(fa, fb, fd, d, a, b)
		return nil
	}
	m := w.working()
	fa.gather(m.a[:], a)
	fb.gather(m.b[:], b)
	m.load(fd, d)
	switch types[op.A].width {
	case 1:
		m.multiplyBits(op)
	case 8:
		m.multiplyBytes(op)
	default:
		m.multiply(op.A, op.D, &m.a, &m.b)
	}
	m.store(fd, d)
	return nil
}

// checkRegisters reports an operand that has not as many registers as its fragment.
func (op Op) checkRegisters(fa, fb, fd Fragment, a, b, d int) error {
	for _, x := range [...]struct {
		name string
		Fragment
		have int
	}{{"A", fa, a}, {"B", fb, b}, {"C and D", fd, d}} {
		if x.have != x.Registers() {
			return fmt.Errorf("mma: %v: %d registers of %s, want %d", op, x.have, x.name, x.Registers())
		}
	}
	return nil
}

// working returns the memory that instructions work in.
func (w *Warp) working() *memory {
	if w.memory == nil {
		w.memory = newMemory(kernel)
	}
	return w.memory
}

// The operands of an instruction: rows of A, and columns of B, two rows each beside a sparse A. What it has less
// of K than those is zero, which adds nothing to a sum, and so are the rows that it has less.
type (
	rows    [16]hopper.Row
	columns [N]hopper.Row
	longs   [2 * N]hopper.Row
)

// gather fills rows of A, or columns of B, whose elements have 32 bits at most.
func (f Fragment) gather(rows []hopper.Row, r [][Lanes]uint32) {
	clear(rows)
	width, per := types[f.Type].width, 1
	if f.columns {
		per = len(rows) / N
	}
	for i := range r {
		outer, inner := f.coord(0, i*32/width)
		bytes := inner * width / 8
		first, at := outer*per+bytes/len(hopper.Row{}), bytes%len(hopper.Row{})
		for lane, v := range r[i] {
			if f.Type == TF32 {
				v &^= 1<<13 - 1 // kernels would round
			}
			binary.LittleEndian.PutUint32(rows[first+lane/4*per][at+lane%4*4:], v) // a register is a run
		}
	}
}

// load fills the columns of C, whose elements have 16 or 32 bits.
func (m *memory) load(fd Fragment, r [][Lanes]uint32) {
	for i := range r {
		at, pair := m.place(fd, i)
		for lane, v := range r[i] {
			to := m.d[at+lane%4*fd.run*m.pitch+lane/4:]
			if to[0] = v; pair {
				to[0], to[m.pitch] = v&0xffff, v>>16
			}
		}
	}
}

// store is the inverse of load.
func (m *memory) store(fd Fragment, r [][Lanes]uint32) {
	for i := range r {
		at, pair := m.place(fd, i)
		for lane := range r[i] {
			from := m.d[at+lane%4*fd.run*m.pitch+lane/4:]
			if r[i][lane] = from[0]; pair {
				r[i][lane] |= from[m.pitch] << 16
			}
		}
	}
}

// place returns where the first element of register i of lane 0 is, and whether there is a second, in the next column.
func (m *memory) place(fd Fragment, i int) (at int, pair bool) {
	pair = fd.Type == F16
	if pair {
		i *= 2
	}
	row, col := fd.coord(0, i)
	return col*m.pitch + row, pair
}
