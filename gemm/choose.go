package gemm

// choose returns how to compute q, whose dimensions are not 0, and so who shares it:
//
//	caller    it takes less time than to hand it over, or nobody else may compute
//	columns   A has few rows, so reading B is the work: each worker takes other columns
//	slabs     what a slab of C needs of A and B comes from caches soon enough for each worker to fetch it
//	ring      else A, and B unless few workers pack it themselves, are packed once for all, in slots
func choose(q *problem) Plan {
	switch {
	case q.asked.any:
		return q.planRing()
	case q.dotted():
		return q.planDots()
	case q.tiny() != nil:
		return tinyPlan
	}
	columns := q.sharesColumns()
	if columns && (q.n > nearCols || q.m <= q.kernel.MR) {
		return q.planColumns()
	}
	g, near := q.planSlabs()
	switch {
	case near:
		return g
	case columns: // narrow ones
		return q.planColumns()
	}
	return q.planRing()
}

// alone reports whether the product stays with its caller, of such a crowd.
func (q *problem) alone(c crowd) bool {
	switch {
	case q.asked.any:
		return false
	case q.dotted():
		return q.dotBytes() < 2*dotShare
	}
	return q.counted(c) <= q.on.shared[c]
}
