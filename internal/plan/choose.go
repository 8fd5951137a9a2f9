package plan

// nearCols are the columns of C up to which slabs are tried first, though A has few rows.
const nearCols = 256

// Choose returns how to compute q, whose dimensions are not 0: who shares it, first of all. What each [Sharing] is for,
// "How a product is cut" in the comment of package gemm says.
func Choose(q *Problem) Plan {
	switch {
	case q.Asked.Any:
		return q.PlanRing()
	case q.dotted():
		return q.planDots()
	case q.Tiny():
		return TinyPlan
	}
	columns, workers := q.SharesColumns(), q.AtOnce()
	// Columns that do not go round had better be slabs, which may share K, too.
	fewer := CeilDiv(q.N, q.Kernel.NR) < workers && q.mostRanges(workers) > 1
	if columns && !fewer && (q.N > nearCols || q.M <= q.Kernel.MR) {
		return q.PlanColumns()
	}
	g, refused := q.planSlabs()
	switch {
	case refused == fits:
		return g
	case columns: // narrow, or too few
		return q.PlanColumns()
	}
	return q.PlanRing()
}

// Staff says that workers may compute q, of which procs run at once, and whether a context may end it; but it stays
// with its caller where to hand it over takes longer than it saves.
func (q *Problem) Staff(workers, procs int, waits bool) {
	q.Workers, q.Procs, q.Waits = workers, procs, waits
	if q.Alone(CrowdOf(q.AtOnce())) {
		q.Workers, q.Waits = 1, false
	}
}

// Alone reports whether the product stays with its caller, though such a crowd could share it.
func (q *Problem) Alone(c Crowd) bool {
	switch {
	case q.Asked.Any:
		return false
	case q.dotted():
		return q.dotBytes() < 2*dotShare
	}
	return q.counted(c) <= q.On.shared[c]
}

const FewColumns, TallLeast = 16, streamMin // most columns, and least elements of A, for which to look at the transpose

// BeatsTranspose reports whether q, of few rows, is faster than its transpose, whose panels of B are mostly padding. By
// a B in rows, with sums of a line of a cache at most, 9 to 16 rows are 1.1 to 2.1 times as fast in the mean on a Zen 4
// and on one worker of an Emerald Rapids, on 16 1.0 to 1.4 (gemmbench compare -m 512,1000,2048,10000 -n 9,12,16 -k
// 256,1000,2048 -trans TN); by one along K, if kernels stream it, 1.1 to 4.5 times and in float32 1.7 to 3.1, on 16 0.9
// to 1.6 (-size 1024x2x256,...,100000x2x300), but with AMX tiles of an A in rows are faster.
func (q *Problem) BeatsTranspose() bool {
	switch {
	case q.N < 8*q.M || q.K < TallK:
		return false
	case q.FormB == InRows:
		return q.M*q.Kernel.Word <= LineBytes && q.Kernel.StreamRows(q.ElemB, false) > 0 && q.N*q.K >= streamMin
	}
	return q.M <= q.On.streamed[AlongK] && q.streams() && q.On.FetchRows == 0 && q.N*q.K >= streamMin<<(q.M/8)
}
