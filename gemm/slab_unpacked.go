package gemm

import "example.com/leafhopper/internal/plan"

// unpackedRows is how many rows of sums scratch memory holds.
const unpackedRows = plan.ScratchBytes / (maxNR * 4)

// runUnpacked computes the columns from .. to-1.
func (in *slab) runUnpacked(from, to int) {
	u, block := in.unpacked, min(in.Elem.Block(), in.K)
	multiply, step := u.Along, in.a.elem.Size()
	if in.a.trans {
		multiply, step = u.Across, in.a.pitch()
	}
	wide, high := to-from, in.M // columns and rows at a time
	if in.FormB == plan.InPanels {
		wide = in.Kernel.NR
	}
	var s *scratch // for sums that are not C's elements
	if !in.Direct() {
		s = scratches.Get().(*scratch)
		wide, high = min(wide, maxNR), min(high, unpackedRows)
	}
	if plan.FlopsOf(high, wide, block) > plan.CallFlops {
		high = max(1, plan.CallFlops/plan.FlopsOf(u.Rows, wide, block)) * u.Rows
	}
	for ; from < to; from += wide {
		for row := 0; row < in.M; row += high {
			rows, cols, sums := min(high, in.M-row), min(wide, to-from), lines{in.c.at(row, from), in.c.pitch()}
			if s != nil {
				sums = lines{s.at(), maxNR * 4}
			}
			k0 := 0
			if in.FormB == plan.AlongK { // for a row, and all of K
				u.Vector(in.K, cols, in.a.ptr, step, in.b.at(0, from), in.b.pitch(), sums.at, false)
				in.turn.Did(plan.FlopsOf(1, cols, in.K))
				k0 = in.K
			}
			for ; k0 < in.K; k0 += block {
				b, ldb := in.rowsB(k0, 0, from)
				n := min(block, in.K-k0)
				multiply(rows, cols, n, in.a.at(row, k0), in.a.pitch(), b, ldb, sums.at, sums.pitch, k0 > 0)
				in.turn.Did(plan.FlopsOf(rows, cols, block))
			}
			if s != nil {
				in.epilogue(sums, row, from, rows, cols)
			}
		}
	}
	if s != nil {
		scratches.Put(s)
	}
}
