package sm

import (
	"slices"
	"strings"

	"example.com/leafhopper/wgmma"
)

// issuer returns what issues the warpgroup's instructions.
func (w *Warpgroup) issuer() *wgmma.Warpgroup {
	if w.mma == nil {
		opts := []wgmma.Option{wgmma.Within(w.cta.used)}
		if w.cta.launch.Check {
			opts = append(opts, wgmma.Checked())
		}
		last := &w.cta.wgmma[w.Rank()]
		if *last == nil {
			*last = wgmma.NewWarpgroup(w.cta.shared())
		}
		(*last).Reset(opts...)
		w.mma = *last
	}
	return w.mma
}

// Accumulators returns zeroed registers for the sums of instructions with n columns.
func (w *Warpgroup) Accumulators(typ wgmma.AccumulatorType, n int) *wgmma.Accumulator {
	w.enter("Accumulators")
	d, err := wgmma.NewAccumulator(typ, n)
	w.check(err)
	return d
}

// Fence is wgmma.fence: registers that the program has touched are as it left them for the
// instructions that follow.
func (w *Warpgroup) Fence() {
	w.enter("Fence")
	w.issuer().Fence()
}

// MMA issues D = A·B + D (wgmma.mma_async). a is a [wgmma.Descriptor] or a
// [*wgmma.Fragment]. Until WaitGroup has covered it, d and the operands are the
// instruction's.
func (w *Warpgroup) MMA(op wgmma.Op, d *wgmma.Accumulator, a wgmma.Operand, b wgmma.Descriptor) {
	w.enter("MMA")
	w.checkSpans(op, a, b)
	w.check(w.issuer().MMA(op, d, a, b))
	w.reads(op, a, b)
}

// MMASparse is MMA with a sparse A, of which the half is stored (wgmma.mma_async.sp). meta
// says which half, in the threads that selector names, and may be changed at once; see
// [wgmma.Warpgroup.MMASparse].
func (w *Warpgroup) MMASparse(op wgmma.Op, d *wgmma.Accumulator, a wgmma.Operand, b wgmma.Descriptor,
	meta *wgmma.Metadata, selector int) {
	w.enter("MMASparse")
	op.Sparse = true
	w.checkSpans(op, a, b)
	w.check(w.issuer().MMASparse(op, d, a, b, meta, selector))
	w.reads(op, a, b)
}

// checkSpans is for operands whose neighbours are more than their swizzle spans: if nothing says where the others are,
// the instruction reads the first again. Of an op that there is not MMA says so.
func (w *Warpgroup) checkSpans(op wgmma.Op, a wgmma.Operand, b wgmma.Descriptor) {
	if op.Validate() != nil {
		return
	}
	size := op.Kind.ElementSize()
	if a, ok := a.(wgmma.Descriptor); ok && op.TransposeA {
		w.checkSpan(op, "A", a, wgmma.M*size)
	}
	if op.TransposeB {
		w.checkSpan(op, "B", b, op.N*size)
	} else {
		w.checkSpan(op, "B", b, op.ColumnBytes())
	}
}

// checkSpan is for an operand of so many bytes that lie side by side, or in boxes.
func (w *Warpgroup) checkSpan(op wgmma.Op, operand string, d wgmma.Descriptor, bytes int) {
	if span := d.Swizzle.Span(); d.LBO == 0 && span > 0 && bytes > span {
		w.fail(RuleWGMMA, "%v: operand %s is %d bytes wide, its swizzle spans %d, and the distance of its boxes is 0 "+
			"(see MNMajor)", op, operand, bytes, span)
	}
}

// CommitGroup makes a group of the instructions issued since the last time
// (wgmma.commit_group).
func (w *Warpgroup) CommitGroup() {
	w.enter("CommitGroup")
	w.issuer().CommitGroup()
	w.mmas.close()
}

// WaitGroup waits until at most the n latest groups are pending (wgmma.wait_group).
func (w *Warpgroup) WaitGroup(n int) {
	w.enter("WaitGroup")
	start := w.cta.launch.Trace.now()
	err := w.issuer().WaitGroup(n)
	w.mmas.wait(w.run.history, n)
	w.cta.launch.Trace.multiplied(&w.agent, start)
	w.check(err)
}

// check makes a fault of an error of package wgmma, which says the same of every instruction.
func (w *Warpgroup) check(err error) {
	if err == nil {
		return
	}
	says := strings.Split(err.Error(), "\n")
	for i := range says {
		says[i] = strings.TrimPrefix(says[i], "wgmma: ")
	}
	w.failWith(err, RuleWGMMA, "%s", strings.Join(slices.Compact(says), "; "))
}
