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

// A product of up to NarrowMost columns, and an A of NarrowLeast elements, may be worth a look at its transpose.
const NarrowMost, NarrowLeast = 16, streamMin

// Narrow reports whether q, of few rows, is faster than its transpose, whose panels of B are mostly padding: if they
// stream its B, unless that is small for so many, or K is short. From 2x64x8192 to 16x20000x384, by an A in rows, that
// is 1.1 to 4.5 times as fast on a Zen 4 (float32, bf16, AVX-512 and AVX2). On an Emerald Rapids eight such shapes of
// float32 are 1.7 to 3.1 times as fast on one and two workers, and 0.9 to 1.6 on 16; AMX reads an A in rows faster by
// tiles.
func (q *Problem) Narrow() bool {
	return q.M <= q.On.streamed[q.FormB] && q.streams() && q.N >= 8*q.M && q.K >= 256 &&
		q.N*q.K >= streamMin<<(q.M/8) && (q.FormB == InRows || q.On.FetchRows == 0)
}
