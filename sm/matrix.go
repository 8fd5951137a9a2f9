package sm

import "example.com/leafhopper/mma"

// The shape .m8n8.b16 of ldmatrix and stmatrix: a row is 8 elements of 2 bytes.
const (
	matrixRows = 8
	rowBytes   = 16
)

// LoadMatrix is ldmatrix of len(r) matrices, 1, 2 or 4, of 8 rows of 8 elements of 16 bits (PTX 9.7.14.5, ldmatrix
// .m8n8.b16). Row i of matrix m is the 16 bytes, aligned to 16, at the beginning of what row returns for lane 8m+i;
// others are not asked. r[m][lane] becomes the lane's register of matrix m: of row lane/4 the elements 2(lane%4), in
// the lower half, and the next. These are the fragments of [Warp.MMA], and of an accumulator
// ([wgmma.AccumulatorCoord]).
func (w *Warp) LoadMatrix(row func(lane int) Region, r [][warpSize]uint32) {
	w.enter("LoadMatrix")
	var rows matrices
	for i, x := range w.rows(&rows, row, len(r), generic) {
		for k, m := range x {
			half(&r[i/matrixRows][i%matrixRows*4+k/2], k, m)
		}
	}
}

// LoadMatrixTrans is ldmatrix.trans: a lane's elements are those of column lane/4, of the rows 2(lane%4) and the next.
func (w *Warp) LoadMatrixTrans(row func(lane int) Region, r [][warpSize]uint32) {
	w.enter("LoadMatrixTrans")
	var rows matrices
	for i, x := range w.rows(&rows, row, len(r), generic) {
		for k, m := range x {
			half(&r[i/matrixRows][k*4+i%matrixRows/2], i, m)
		}
	}
}

// StoreMatrix is stmatrix, which stores what [Warp.LoadMatrix] loads (PTX 9.7.14.5, stmatrix). It is a store of the
// generic proxy: FenceProxyAsync comes between it and StoreTensor.
func (w *Warp) StoreMatrix(row func(lane int) Region, r [][warpSize]uint32) {
	w.enter("StoreMatrix")
	var rows matrices
	for i, x := range w.rows(&rows, row, len(r), generic|writes) {
		for k := range x {
			x[k] = uint16(r[i/matrixRows][i%matrixRows*4+k/2] >> (k % 2 * 16))
		}
	}
}

// StoreMatrixTrans is stmatrix.trans, which stores what [Warp.LoadMatrixTrans] loads.
func (w *Warp) StoreMatrixTrans(row func(lane int) Region, r [][warpSize]uint32) {
	w.enter("StoreMatrixTrans")
	var rows matrices
	for i, x := range w.rows(&rows, row, len(r), generic|writes) {
		for k := range x {
			x[k] = uint16(r[i/matrixRows][k*4+i%matrixRows/2] >> (i % 2 * 16))
		}
	}
}

// MMA is mma.sync: D = A·B + D by the warp, done when it returns (PTX 9.7.14.5.14). Registers are as LoadMatrix has
// them; [mma.Op.FragmentD] says which elements of D are a lane's. Threads that are agents of their own cannot do it,
// nor load or store matrices.
func (w *Warp) MMA(op mma.Op, d, a, b [][warpSize]uint32) {
	w.enter("MMA")
	w.multiply(func(m *mma.Warp) error { return m.MMA(op, d, a, b) })
}

// MMASparse is MMA with a sparse A, of which the half is in a (mma.sp, PTX 9.7.14.6). meta says which half, in the
// lanes that selector names; see [mma.Warp.MMASparse].
func (w *Warp) MMASparse(op mma.Op, d, a, b [][warpSize]uint32, meta *mma.Metadata, selector int) {
	w.enter("MMASparse")
	w.multiply(func(m *mma.Warp) error { return m.MMASparse(op, d, a, b, meta, selector) })
}

// multiply has the warp execute an instruction.
func (w *Warp) multiply(instruction func(m *mma.Warp) error) {
	start := w.cta.launch.Trace.now()
	err := instruction(&w.cta.mma[w.Rank()])
	w.cta.launch.Trace.multiplied(&w.agent, start)
	if err != nil {
		w.failWith(err, RuleMMA, "%s", says(err))
	}
}

// half sets the lower half of a register, or if i is odd the upper.
func half(r *uint32, i int, v uint16) {
	shift := i % 2 * 16
	*r = *r&^(0xffff<<shift) | uint32(v)<<shift
}

// matrices are the rows of 4, in shared memory.
type matrices [warpSize]*[rowBytes / 2]uint16

// rows returns the rows of n matrices, which the warp is about to access, in mem.
func (w *Warp) rows(mem *matrices, row func(lane int) Region, n int, how manner) []*[rowBytes / 2]uint16 {
	if n != 1 && n != 2 && n != 4 {
		w.fail(RuleBytes, "%d matrices, want 1, 2 or 4", n)
	}
	if row == nil {
		w.fail(RuleShared, "no function returns the rows")
	}
	var at [warpSize]int
	var first *declaration
	rows := mem[:n*matrixRows]
	op, site := w.run.op, w.run.site
	for lane := range rows {
		r := row(lane)
		w.run.op, w.run.site = op, site // it may have done something itself
		at[lane] = w.row(r, lane)
		if lane == 0 {
			first = r.region().decl
		}
		rows[lane] = (*[rowBytes / 2]uint16)(elements[uint16](w.cta, at[lane], rowBytes/2))
	}
	k := w.mark()
	if how&writes != 0 {
		k = w.deed()
	}
	if w.cta.banks != nil {
		w.banked(first, at[:len(rows)])
	}
	h := w.run.history
	if h == nil {
		return rows
	}
	number := h.note(&w.cta.memory, k, w.run.op, how)
	for lane, from := range at[:len(rows)] {
		for other := range lane {
			if how&writes != 0 && at[other] == from {
				w.fail(RuleRace, "lanes %d and %d store the same row, %s", other, lane, w.cta.where(&w.agent, from, from+rowBytes))
			}
		}
		w.access(&w.cta.memory, from, rowBytes, number)
	}
	return rows
}

// row returns the address of a lane's row.
func (w *Warp) row(r Region, lane int) int {
	g := regionOf(r)
	switch {
	case g.memory == nil:
		w.fail(RuleShared, "the row of lane %d is nil", lane)
	case g.cta == nil:
		w.fail(RuleShared, "the row of lane %d lies in global memory; ldmatrix and stmatrix have only shared memory", lane)
	case g.cta != w.cta:
		w.fail(RuleShared, "the row of lane %d lies in CTA %v; ldmatrix and stmatrix have only the CTA's own shared memory",
			lane, g.cta.idx)
	case g.bytes < rowBytes:
		w.fail(RuleBytes, "the row of lane %d has %d bytes, want %d", lane, g.bytes, rowBytes)
	case g.offset%rowBytes != 0:
		w.fail(RuleAlignment, "the row of lane %d is at address %d, want a multiple of %d", lane, g.offset, rowBytes)
	}
	return g.offset
}
