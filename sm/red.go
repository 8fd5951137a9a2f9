package sm

// A reduction is what barrier.sync, or an arrival, does with a predicate: none, or what barrier.red does. Those who
// come to the same phase do the same.
type reduction string

const (
	noReduction reduction = ""
	popc        reduction = ".popc"
	and         reduction = ".and"
	or          reduction = ".or"
)

// instruction returns what PTX calls it.
func (r reduction) instruction() string {
	if r == noReduction {
		return "barrier.sync or barrier.arrive"
	}
	return "barrier.red" + string(r)
}

// BarSyncCount is barrier.red.popc: [Thread.BarSync] that returns how many threads called it with a true p. An agent
// of several threads calls it for each of them. Those who come to the same phase of barriers 1 to 15 call the same
// (PTX 9.7.13.1: barrier.red is not intermixed with barrier.sync or barrier.arrive).
func (a *agent) BarSyncCount(id, n int, p bool) int {
	a.enter("BarSyncCount")
	return a.barRed(popc, id, n, p)
}

// BarSyncAnd is barrier.red.and: BarSync that reports whether all threads called it with a true p.
func (a *agent) BarSyncAnd(id, n int, p bool) bool {
	a.enter("BarSyncAnd")
	return a.barRed(and, id, n, !p) == 0
}

// BarSyncOr is barrier.red.or: BarSync that reports whether some thread called it with a true p.
func (a *agent) BarSyncOr(id, n int, p bool) bool {
	a.enter("BarSyncOr")
	return a.barRed(or, id, n, p) > 0
}

func (a *agent) barRed(op reduction, id, n int, p bool) int {
	if id == 0 {
		op = noReduction // as __syncthreads and its kin, which nobody tells from each other
	}
	b, x := a.named(id, n), a.toBarrier(id, n)
	x.op, x.count = op, a.having(p)
	return b.sync(a, x)
}
