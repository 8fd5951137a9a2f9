package wgmma

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/hopper"
)

// run executes instructions. Those on one accumulator run in the order they were
// issued, in chains: D of one is C of the next, so that a chain is one product
// over a longer K. Accumulators do not depend on each other, and nobody may touch
// the operands, so nothing tells in what order chains run.
func (w *Warpgroup) run(queue []instruction) error {
	var errs []error
	for i := range queue {
		if err := w.checkUnchanged(&queue[i]); err != nil {
			errs = append(errs, err)
		}
	}
	for i := range queue {
		if !queue[i].done {
			w.multiply(w.chainFrom(queue[i:]))
		}
	}
	return errors.Join(errs...)
}

// chainFrom takes the chain that begins with the first instruction of queue out of
// it.
func (w *Warpgroup) chainFrom(queue []instruction) []*instruction {
	first := &queue[0]
	w.chain = w.chain[:0]
	for i := range queue {
		in := &queue[i]
		if in.d != first.d || in.done {
			continue
		}
		if len(w.chain) == maxChain || i > 0 && !in.continues(first.op) {
			break
		}
		in.done = true
		in.leave()
		w.chain = append(w.chain, in)
	}
	return w.chain
}

// leave gives up the registers, of which in is pending.
func (in *instruction) leave() {
	in.d.pending--
	if in.f != nil {
		in.f.pending--
	}
}

// maxChain is how many instructions run as one at most. The packed operands of as
// many, even for N = 256, leave some of a second-level cache of 1 MB, and sums of
// 8-bit products are exact in float32.
const maxChain = 8

// continues reports whether in can be the next link of a chain that op began.
func (in *instruction) continues(op Op) bool {
	op.Overwrite = false
	return in.op == op && !op.Saturate
}

// checkUnchanged reports an operand that is no longer what it was when in was
// issued, in checked mode.
func (w *Warpgroup) checkUnchanged(in *instruction) error {
	op, size := in.op, in.op.Kind.ElementSize()
	var changed []string
	if in.wasA != nil {
		in.a.rows(w.a[:], w.memory(), Major(op.TransposeA), size, RowBytes)
		if !slices.Equal(in.wasA, w.a[:]) {
			changed = append(changed, "A")
		}
	}
	if in.wasB != nil {
		in.b.rows(w.rowsB(op), w.memory(), Major(op.TransposeB), size, op.ColumnBytes())
		if !slices.Equal(in.wasB, w.b) {
			changed = append(changed, "B")
		}
	}
	if len(changed) > 0 {
		return misuse(RuleOperand, "%v: operand %s changed between MMA and WaitGroup",
			op, strings.Join(changed, " and "))
	}
	return nil
}

// rowsB returns w.b with the rows of B, or the two halves of each.
func (w *Warpgroup) rowsB(op Op) []hopper.Row {
	n := op.N * op.ColumnBytes() / RowBytes
	if cap(w.b) < n {
		w.b = make([]hopper.Row, n)
	}
	if op.Sparse && len(w.met) < op.N {
		w.met = make([]hopper.Row, op.N)
	}
	w.b = w.b[:n]
	return w.b
}

// multiply executes a chain.
func (w *Warpgroup) multiply(chain []*instruction) {
	op := chain[0].op
	if k := kernels[op.Kind]; k != nil && !w.plain {
		if k.Arithmetic == asm.Hopper {
			w.multiplyFloats(k, chain)
		} else {
			w.multiplyIntegers(k, chain)
		}
		return
	}
	d := chain[0].d
	for i, u := range d.elem {
		d.elem[i] = d.typ.bits(u)
	}
	for _, in := range chain {
		w.step(in)
	}
	for i, u := range d.elem {
		d.elem[i] = d.typ.stored(u)
	}
}

// step executes an instruction in plain Go.
func (w *Warpgroup) step(in *instruction) {
	op, d, size := in.op, in.d, in.op.Kind.ElementSize()
	if in.f != nil {
		in.f.rows(&w.a)
	} else {
		in.a.rows(w.a[:], w.memory(), Major(op.TransposeA), size, RowBytes)
	}
	in.b.rows(w.rowsB(op), w.memory(), Major(op.TransposeB), size, op.ColumnBytes())
	if op.Overwrite {
		clear(d.elem)
	}
	spec, ints := &kinds[op.Kind].spec, kinds[op.Kind].ints
	ints.Saturate = op.Saturate
	if !op.Kind.Integer() {
		w.pb.PackRows(spec.B, w.b, op.NegateB)
	}
	// Every row of a sparse A meets another B.
	rows, b, pb := M, w.b, &w.pb
	if op.Sparse {
		rows, b, pb = 1, w.met[:op.N], &w.pmet
	}
	for i := 0; i < M; i += rows {
		a, sums := w.a[i:][:rows], d.elem[i*d.pitch:]
		switch {
		case !op.Sparse:
		case op.Kind.Integer():
			in.selected[i].Rows(b, w.b)
		default:
			pb.Select(&w.pb, &in.selected[i])
		}
		if op.Kind.Integer() {
			ints.Multiply(sums, d.pitch, a, b)
			continue
		}
		w.pa.PackRows(spec.A, a, op.NegateA)
		spec.Multiply(sums, d.pitch, &w.pa, pb)
	}
}

// rows copies them into dense rows.
func (r *registers) rows(dst *[M]hopper.Row) {
	for thread := range r.reg {
		for i, v := range r.reg[thread] {
			row, k := placeOf(1, thread, i)
			binary.LittleEndian.PutUint32(dst[row][4*k:], v)
		}
	}
}
