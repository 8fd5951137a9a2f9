package wgmma

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"example.com/leafhopper/internal/hopper"
	"example.com/leafhopper/tile"
)

// A Warpgroup issues instructions over one shared memory, in the protocol of
// wgmma.fence, wgmma.mma_async, wgmma.commit_group and wgmma.wait_group. It
// belongs to one goroutine, which stands for the 128 threads.
//
// MMA only issues. Instructions run, in the order they were issued, when
// WaitGroup covers them, which is the last moment the hardware may take: before,
// an accumulator still holds its old values, and an operand overwritten too
// early gives the wrong product.
type Warpgroup struct {
	shared  *tile.Shared
	within  int // bytes of it
	checked bool
	fenced  stamp

	issued []instruction // and pending, the oldest first
	ends   []int         // where in issued each committed group ends

	chain   []*instruction // that runs
	scratch scratch

	a      [M]hopper.Row // for plain Go, and for checks
	b      []hopper.Row
	pa, pb hopper.Panel
	met    []hopper.Row // what a row of a sparse A meets of B
	pmet   hopper.Panel
	spare  []*selections
	plain  bool // never use assembly: the twin, for tests
}

// An Operand is a matrix A: a [Descriptor] of shared memory, or a [*Fragment].
type Operand interface{ operand() }

func (Descriptor) operand() {}
func (*Fragment) operand()  {}

// An instruction is a pending MMA.
type instruction struct {
	op Op
	d  *Accumulator
	a  Descriptor
	f  *registers // replaces a if not nil
	b  Descriptor

	selected *selections // of B by each row of a sparse A

	done bool // it runs in a chain that an earlier one began

	// In checked mode, the operands in shared memory as they were when the
	// instruction was issued.
	wasA, wasB []hopper.Row
}

// An Option changes a new Warpgroup.
type Option func(*Warpgroup)

// Checked makes the warpgroup diagnose orders of operations that the GPU leaves
// undefined; see [Rule]. It costs a second reading of every operand.
func Checked() Option { return func(w *Warpgroup) { w.checked = true } }

// Within bounds what descriptors address to the first bytes of the shared memory, as a CTA
// has asked for them: none of it if bytes is negative.
func Within(bytes int) Option { return func(w *Warpgroup) { w.within = max(bytes, 0) } }

// NewWarpgroup returns a warpgroup whose descriptors address shared. A nil
// shared is an empty one.
func NewWarpgroup(shared *tile.Shared, opts ...Option) *Warpgroup {
	w := &Warpgroup{shared: shared}
	w.Reset(opts...)
	return w
}

// Reset makes w a warpgroup as NewWarpgroup returns it, of the same shared memory, that goes
// on in the memory in which w has multiplied, some 100 kB. What is pending is never done.
func (w *Warpgroup) Reset(opts ...Option) {
	w.within, w.checked, w.fenced = math.MaxInt, false, 0
	for i := range w.issued {
		w.issued[i].leave()
	}
	clear(w.issued)
	w.issued, w.ends = w.issued[:0], w.ends[:0]
	for _, o := range opts {
		o(w)
	}
}

// Fence orders accesses to registers, before it, and MMAs on those registers,
// after it (wgmma.fence). It is needed before the first MMA, and again after
// registers of accumulators or fragments were read or written; not between MMAs
// of one shape on the same accumulator.
func (w *Warpgroup) Fence() {
	if w.checked { // otherwise nobody asks, and warpgroups need not share the clock
		w.fenced = tick()
	}
}

// MMA issues D = A·B + D, or D = A·B (wgmma.mma_async). a is a [Descriptor] or
// a [*Fragment], b is in shared memory.
//
// It reports an error, and issues nothing, if op is not valid, if d or a does
// not fit op, or if a descriptor is not valid or reaches out of shared memory;
// in checked mode also a [*Misuse].
func (w *Warpgroup) MMA(op Op, d *Accumulator, a Operand, b Descriptor) error {
	if err := op.Validate(); err != nil {
		return err
	}
	if op.Sparse {
		return fmt.Errorf("wgmma: %v: MMASparse issues instructions with a sparse A, MMA those with a dense one", op)
	}
	return w.issue(op, d, a, b, nil)
}

// issue is MMA for a valid op, and for MMASparse.
func (w *Warpgroup) issue(op Op, d *Accumulator, a Operand, b Descriptor, selected *selections) error {
	if d == nil {
		return fmt.Errorf("wgmma: %v: the accumulator is nil", op)
	}
	if want := op.Kind.AccumulatorType(); d.typ != want || d.n != op.N {
		return fmt.Errorf("wgmma: %v: the accumulator is %v with N = %d, must be %v with N = %d",
			op, d.typ, d.n, want, op.N)
	}
	in := instruction{op: op, d: d, b: b, selected: selected}
	switch a := a.(type) {
	case Descriptor:
		in.a = a
	case *Fragment:
		if a == nil {
			return fmt.Errorf("wgmma: %v: A is a nil *Fragment", op)
		}
		in.f = a.registers() // not a, for whose sake a Descriptor would move to the heap
	case nil:
		return fmt.Errorf("wgmma: %v: A is nil, must be Descriptor or *Fragment", op)
	default:
		return fmt.Errorf("wgmma: %v: A is %v, must be Descriptor or *Fragment", op, reflect.TypeOf(a))
	}
	if err := w.checkOperands(&in); err != nil {
		return err
	}
	if w.checked {
		if err := w.checkOrder(&in); err != nil {
			return err
		}
		if in.f == nil {
			in.wasA = make([]hopper.Row, M)
			in.a.rows(in.wasA, w.memory(), Major(op.TransposeA), op.Kind.ElementSize(), RowBytes)
		}
		in.wasB = slices.Clone(w.rowsB(op))
		in.b.rows(in.wasB, w.memory(), Major(op.TransposeB), op.Kind.ElementSize(), op.ColumnBytes())
	}
	d.pending++
	d.checked = d.checked || w.checked
	d.last, d.issued = op.Shape(), now()
	if in.f != nil {
		in.f.pending++
		in.f.checked = in.f.checked || w.checked
	}
	w.issued = append(w.issued, in)
	return nil
}

// memory returns the bytes that descriptors address.
func (w *Warpgroup) memory() []byte {
	if w.shared == nil {
		return nil
	}
	mem := w.shared.Bytes()
	return mem[:min(w.within, len(mem))]
}

// checkOperands reports an A or B that op cannot read.
func (w *Warpgroup) checkOperands(in *instruction) error {
	op, size := in.op, in.op.Kind.ElementSize()
	check := func(operand string, d Descriptor, transposed bool, rows, depth int) error {
		err := d.Validate()
		if err == nil {
			err = d.checkBounds(Major(transposed), size, rows, depth, len(w.memory()))
		}
		if err != nil {
			return fmt.Errorf("%w (operand %s of %v)", err, operand, op)
		}
		return nil
	}
	switch {
	case in.f == nil:
		if err := check("A", in.a, op.TransposeA, M, RowBytes); err != nil {
			return err
		}
	case in.f.size != size:
		return fmt.Errorf("wgmma: %v: A in registers has elements of %d bytes, must be %d", op, in.f.size, size)
	case op.TransposeA:
		return fmt.Errorf("wgmma: %v: imm-trans-a is for A in shared memory, A is in registers", op)
	}
	return check("B", in.b, op.TransposeB, op.N, op.ColumnBytes())
}

// checkOrder reports registers that the last Fence does not cover, and
// registers that another warpgroup has pending.
func (w *Warpgroup) checkOrder(in *instruction) error {
	d := in.d
	switch {
	case w.fenced <= d.touched:
		return misuse(RuleFence, "%v: the accumulator was made, read or written after the last Fence", in.op)
	case d.last != Shape{} && d.last != in.op.Shape() && w.fenced <= d.issued:
		return misuse(RuleFence, "%v: the instruction before on this accumulator was %v, and no Fence came between",
			in.op, d.last)
	case in.f != nil && w.fenced <= in.f.touched:
		return misuse(RuleFence, "%v: A in registers was made, read or written after the last Fence", in.op)
	case d.pending > w.count(d):
		return misuse(RulePending, "%v: another warpgroup has %d instructions on this accumulator pending",
			in.op, d.pending-w.count(d))
	}
	return nil
}

// count returns how many instructions on d this warpgroup has pending.
func (w *Warpgroup) count(d *Accumulator) int {
	n := 0
	for i := range w.issued {
		if w.issued[i].d == d {
			n++
		}
	}
	return n
}

// CommitGroup makes the instructions issued since the last CommitGroup, none or
// more, a group that WaitGroup counts (wgmma.commit_group).
func (w *Warpgroup) CommitGroup() { w.ends = append(w.ends, len(w.issued)) }

// WaitGroup returns when at most the n most recent groups are pending
// (wgmma.wait_group); WaitGroup(0) waits for all. Instructions not committed are
// in no group and stay pending.
//
// It reports a negative n, and in checked mode a [*Misuse] for every operand in
// shared memory that was overwritten too early; the groups are complete then
// too, with the products of what memory held.
func (w *Warpgroup) WaitGroup(n int) error {
	if n < 0 {
		return fmt.Errorf("wgmma: WaitGroup(%d): the number of groups must be 0 or more", n)
	}
	covered := len(w.ends) - n
	if covered <= 0 {
		return nil
	}
	end := w.ends[covered-1]
	err := w.run(w.issued[:end])
	for i := range w.issued[:end] {
		if s := w.issued[i].selected; s != nil {
			w.spare = append(w.spare, s)
		}
	}
	w.issued = slices.Delete(w.issued, 0, end)
	w.ends = slices.Delete(w.ends, 0, covered)
	for i := range w.ends {
		w.ends[i] -= end
	}
	return err
}

// Pending returns the number of groups that no WaitGroup has covered.
func (w *Warpgroup) Pending() int { return len(w.ends) }
