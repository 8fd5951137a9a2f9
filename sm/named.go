package sm

import (
	"fmt"
	"strconv"
	"sync"
)

// namedBarriers is how many barriers a CTA has for barrier.sync; number 0 is
// __syncthreads (PTX 9.7.13.1).
const namedBarriers = 16

// A namedBarrier is one of them: so many threads arrive, and those that sync wait for it. It is
// no mbarrier: it needs no initialisation, and its waiters are all woken by the last to come.
type namedBarrier struct {
	mu      sync.Mutex
	name    string
	need    int // of the current phase
	arrived int
	phase   uint64
	last    mark
	op      reduction // of the current phase
	count   int       // of those who have arrived, with a predicate that is true
	waiters []*runner
	told    meeting
}

// sync is arrive that waits for the others. It returns how many threads had the predicate.
func (b *namedBarrier) sync(a *agent, name string, op reduction, threads, need int, p bool) (count int) {
	if b.arrive(a, name, op, threads, need, p, true) {
		b.told.tell(a.run.history)
	} else {
		a.run.block()
	}
	return a.run.result
}

// arrive arrives for a, as so many threads, at a barrier that need threads arrive at, with a
// predicate. It reports whether they were the last; if not, it may put a on the list of those who wait.
func (b *namedBarrier) arrive(a *agent, name string, op reduction, threads, need int, p, queue bool) (last bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.arrived > 0 && b.op != op:
		a.fail(RuleSync, "%s: %s, but those who have arrived (last: %v) have come by %s",
			name, op.instruction(), b.last, b.op.instruction())
	case b.arrived > 0 && b.need != need:
		a.fail(RuleSync, "%s for %d threads, but those who have arrived (last: %v) named %d",
			name, need, b.last, b.need)
	case b.arrived+threads > need:
		a.fail(RuleSync, "%s for %d threads: %d have arrived, and %v is %d more", name, need, b.arrived, a, threads)
	}
	b.name, b.op, b.need, b.last = name, op, need, a.deed()
	b.arrived += threads
	b.told.arrive(a.run.history)
	if p {
		b.count += a.lanes // which a last warp may have fewer of than it arrives as
	}
	if last = b.arrived >= need; last {
		a.run.result = b.count
		b.complete(a.cta.cluster)
	} else if queue {
		a.run.waits, a.run.target = b, b.phase
		b.waiters = append(b.waiters, a.run)
	}
	return last
}

// complete ends the phase.
func (b *namedBarrier) complete(c *cluster) {
	b.phase++
	b.told.complete()
	c.progressed()
	for _, r := range b.waiters {
		r.result = b.count
		b.told.tell(r.history)
		r.ready()
	}
	b.arrived, b.count, b.waiters = 0, 0, b.waiters[:0]
}

// missing says what a phase lacks.
func (b *namedBarrier) missing(uint64) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Sprintf("%s: %d of %d threads missing (last arrived: %v)",
		b.name, b.need-b.arrived, b.need, b.last)
}

func (a *agent) syncThreads(p bool) int {
	c := a.cta
	return c.named[0].sync(a, "__syncthreads", noReduction, a.lanes, int(c.threads.Load()), p)
}

// SyncThreads is __syncthreads: it waits until every thread of the block's agents has come
// to it. One that ends without is missed; a GPU goes on without it.
func (a *agent) SyncThreads() {
	a.enter("SyncThreads")
	a.syncThreads(false)
}

// SyncThreadsCount is __syncthreads_count: it returns how many threads called it with a
// true p. An agent of several threads calls it for each of them.
func (a *agent) SyncThreadsCount(p bool) int {
	a.enter("SyncThreadsCount")
	return a.syncThreads(p)
}

// SyncThreadsAnd is __syncthreads_and: whether all threads called it with a true p.
func (a *agent) SyncThreadsAnd(p bool) bool {
	a.enter("SyncThreadsAnd")
	return a.syncThreads(!p) == 0
}

// SyncThreadsOr is __syncthreads_or: whether some thread called it with a true p.
func (a *agent) SyncThreadsOr(p bool) bool {
	a.enter("SyncThreadsOr")
	return a.syncThreads(p) > 0
}

// BarSync is barrier.sync: it arrives at the named barrier id, 0 to 15, and waits until n
// threads have, a multiple of 32. A last warp of fewer threads counts as a whole one. Threads that end without coming
// are missed; a GPU does without them where others of their warp come.
func (a *agent) BarSync(id, n int) {
	a.enter("BarSync")
	a.named(id, n).sync(a, barrierName(id), noReduction, a.inWarps(), n, false)
}

// BarArrive is barrier.arrive: it arrives at the named barrier id, which n threads arrive
// at, and does not wait.
func (a *agent) BarArrive(id, n int) {
	a.enter("BarArrive")
	a.named(id, n).arrive(a, barrierName(id), noReduction, a.inWarps(), n, false, false)
}

// barrierName does not use fmt, whose pool would order agents for the race detector.
func barrierName(id int) string { return "barrier " + strconv.Itoa(id) }

// inWarps returns how many threads a arrives as where warps arrive (PTX 9.7.13.1: by the warp size,
// not the number of its threads): what a block's last warp lacks comes with its last thread.
func (a *agent) inWarps() int {
	if n := a.cta.launch.Block.Size(); a.rank+a.lanes == n {
		return a.lanes + (warpSize-n%warpSize)%warpSize
	}
	return a.lanes
}

func (a *agent) named(id, n int) *namedBarrier {
	switch {
	case id < 0 || id >= namedBarriers:
		a.fail(RuleSync, "barrier %d, want 0 to %d", id, namedBarriers-1)
	case n < warpSize || n > MaxThreads || n%warpSize != 0:
		a.fail(RuleSync, "barrier %d for %d threads, want a multiple of %d up to %d", id, n, warpSize, MaxThreads)
	}
	return &a.cta.named[id]
}
