package wgmma

import (
	"encoding/binary"
	"slices"

	"example.com/leafhopper/internal/hopper"
)

// run executes a pending instruction.
func (w *Warpgroup) run(in *instruction) error {
	op, size := in.op, in.op.Kind.ElementSize()
	var changed string
	if in.f != nil {
		in.f.rows(&w.a)
		in.f.pending--
	} else {
		in.a.gather(w.a[:], w.memory(), Major(op.TransposeA), size)
		if in.wasA != nil && !slices.Equal(in.wasA, w.a[:]) {
			changed = "A"
		}
	}
	if cap(w.b) < op.N {
		w.b = make([]hopper.Row, op.N)
	}
	w.b = w.b[:op.N]
	in.b.gather(w.b, w.memory(), Major(op.TransposeB), size)
	if in.wasB != nil && !slices.Equal(in.wasB, w.b) {
		changed += "B"
	}

	if op.Overwrite {
		clear(in.d.elem)
	}
	w.multiply(op, in.d.elem)
	in.d.pending--
	if changed != "" {
		return misuse(RuleOperand, "%v: operand %s changed between MMA and WaitGroup", op, changed)
	}
	return nil
}

// multiply adds the product of the gathered operands to d, M rows of op.N.
func (w *Warpgroup) multiply(op Op, d []uint32) {
	if op.Kind.Integer() {
		spec := kinds[op.Kind].ints
		spec.Saturate = op.Saturate
		spec.Multiply(d, op.N, w.a[:], w.b)
		return
	}
	if k := chooseKernel(op.Kind); k != nil && !w.plain {
		w.multiplyKernel(k, op, d)
		return
	}
	spec := &kinds[op.Kind].spec
	w.pa.PackRows(spec.A, w.a[:], op.NegateA)
	w.pb.PackRows(spec.B, w.b, op.NegateB)
	spec.Multiply(d, op.N, &w.pa, &w.pb)
}

// rows copies the registers into dense rows. A register holds four neighbouring
// bytes of a row in every kind.
func (f *Fragment) rows(dst *[M]hopper.Row) {
	for thread := range f.reg {
		for i, v := range f.reg[thread] {
			row, k := fragmentCoord(4, thread, i)
			binary.LittleEndian.PutUint32(dst[row][4*k:], v)
		}
	}
}
