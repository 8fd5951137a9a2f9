package gemm

import "example.com/leafhopper/internal/plan"

// runUnpacked computes the columns from .. to-1.
func (in *slab) runUnpacked(from, to int) {
	u := in.Kernel.Unpacked(in.Elem)
	vector, depth := u.Vector[in.FormB], min(u.Deep[in.FormB], in.K)
	multiply, step := u.Along, in.a.elem.Size()
	if in.a.trans {
		multiply, step = u.Across, in.a.pitch()
	}
	wide, high := to-from, in.M // columns and rows at a time
	var s *scratch              // for sums that are not C's elements
	if !in.Direct() {
		s = scratches.Get().(*scratch)
		wide, high = min(wide, maxNR/in.Kernel.NR*in.Kernel.NR), min(high, plan.ScratchBytes/(maxNR*in.Kernel.Word))
	}
	if in.b.packed && in.M > 1 {
		wide = min(wide, in.Kernel.NR)
	}
	if limit := plan.CallLimit(in.Kernel); plan.FlopsOf(high, wide, depth) > limit {
		high = max(1, limit/plan.FlopsOf(u.Rows, wide, depth)) * u.Rows
	}
	for ; from < to; from += wide {
		for row := 0; row < in.M; row += high {
			rows, cols, sums := min(high, in.M-row), min(wide, to-from), lines{in.c.at(row, from), in.c.pitch()}
			if s != nil {
				sums = lines{s.at(), maxNR * in.Kernel.Word}
			}
			for k0 := 0; k0 < in.K; k0 += depth {
				n, a := min(depth, in.K-k0), in.a.at(row, k0)
				b, ldb := in.rowsB(k0, 0, from)
				if in.M == 1 && vector != nil {
					vector(n, cols, a, step, b, ldb, sums.at, k0 > 0)
				} else {
					multiply(rows, cols, n, a, in.a.pitch(), b, ldb, sums.at, sums.pitch, k0 > 0)
				}
				in.turn.Did(plan.FlopsOf(rows, cols, n))
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
