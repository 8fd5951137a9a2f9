package sm

import (
	"fmt"
	"math/bits"
	"strconv"
	"sync"

	"example.com/leafhopper/internal/spin"
)

// namedBarriers is how many barriers a CTA has for barrier.sync; number 0 is
// __syncthreads (PTX 9.7.13.1).
const namedBarriers = 16

// A namedBarrier is one of them: so many threads arrive, and those that sync wait for it. It is
// no mbarrier: it needs no initialisation, and its waiters are all woken by the last to come.
type namedBarrier struct {
	mu      sync.Mutex
	name    string
	op      reduction // of the current phase
	need    int       // of the current phase
	arrived int
	coming  int // contingents of which some have arrived
	count   int // of those who have arrived, with a predicate that is true
	last    mark
	since   uint64 // ticks, when the last arrived
	waiters queue
	told    meeting
	warps   []warpSync // of the CTA, if this is __syncthreads
}

// comers are threads that arrive at a named barrier together.
type comers struct {
	name          string // of the barrier
	op            reduction
	threads, need int
	count         int  // of the threads, with a predicate that is true
	wait          bool // who brings them waits for the others
	contingent    bool
	waiters       queue // of a contingent: those that wait already
}

// A contingent is the threads of a warp that have come to __syncthreads, each on its own, in free mode. The first of
// them tells the barrier, and the last brings them there: were all to do that, they would mostly wait for its lock.
type contingent struct {
	mu             sync.Mutex
	arrived, count int
	last           mark
	since          uint64
	waiters        queue
}

// contingent returns that which a thread comes with, nil if it comes alone.
func (b *namedBarrier) contingent(a *agent, x comers) *contingent {
	c := a.cta
	if b != &c.named[0] || x.need != int(c.threads.Load()) || x.threads > 1 || a.run.self.lanes > 1 || c.launch.Check {
		return nil
	}
	return &c.warps[a.rank/warpSize].block
}

// gather adds a to the contingent, and reports whether x, which is a, is now all of it.
func (g *contingent) gather(a *agent, b *namedBarrier, x *comers) (all bool) {
	_, _, lanes := a.warp()
	n := bits.OnesCount32(lanes)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.arrived == 0 {
		b.expect(a, x)
	}
	g.arrived++
	g.count += x.count
	g.last, g.since = a.deed(), spin.Ticks()
	if g.arrived < n {
		if x.wait {
			g.waiters.push(a.run, b, 0)
		}
		return false
	}
	x.threads, x.count, x.contingent, x.waiters = n, g.count, true, g.waiters.take()
	g.arrived, g.count = 0, 0
	return true
}

// sync is arrive that waits for the others. It returns how many threads had the predicate.
func (b *namedBarrier) sync(a *agent, x comers) (count int) {
	x.wait = true
	a.run.met++
	if b.arrive(a, x) {
		b.told.tell(a.run.history)
	} else {
		a.run.block()
	}
	return a.run.result
}

// arrive arrives for a. It reports whether that was the last; if not, it may put a on the list of those who wait.
func (b *namedBarrier) arrive(a *agent, x comers) (last bool) {
	if g := b.contingent(a, x); g != nil && !g.gather(a, b, &x) {
		return false
	}
	last, released := b.book(a, x)
	released.wake(a.run.result)
	return last
}

// expect notes that a contingent has begun to come.
func (b *namedBarrier) expect(a *agent, x *comers) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.agree(a, x)
	b.coming++
}

// agree checks that threads come to the current phase as others have.
func (b *namedBarrier) agree(a *agent, x *comers) {
	switch begun := b.arrived+b.coming > 0; {
	case begun && b.op != x.op:
		a.fail(RuleSync, "%s: %s, but those who have arrived (last: %v) have come by %s",
			x.name, x.op.instruction(), b.last, b.op.instruction())
	case begun && b.need != x.need:
		a.fail(RuleSync, "%s for %d threads, but those who have arrived (last: %v) named %d",
			x.name, x.need, b.last, b.need)
	case b.arrived+x.threads > x.need:
		a.fail(RuleSync, "%s for %d threads: %d have arrived, and %v is %d more", x.name, x.need, b.arrived, a, x.threads)
	}
	b.name, b.op, b.need, b.last, b.since = x.name, x.op, x.need, a.deed(), spin.Ticks()
}

// book books threads that arrive, and returns those that have waited if they are the last.
func (b *namedBarrier) book(a *agent, x comers) (last bool, released queue) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.agree(a, &x)
	b.arrived += x.threads
	b.count += x.count
	if x.contingent {
		b.coming--
	}
	b.told.arrive(a.run.history)
	if x.waiters.n > 0 {
		b.waiters.join(x.waiters)
	}
	if b.arrived < b.need {
		if x.wait {
			b.waiters.push(a.run, b, 0)
		}
		return false, released
	}
	b.told.complete()
	a.cta.cluster.progressed()
	b.waiters.tell(&b.told)
	a.run.result = b.count
	b.arrived, b.count = 0, 0
	return true, b.waiters.release()
}

// missing says what the current phase lacks.
func (b *namedBarrier) missing(uint64) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	arrived, last, since := b.arrived, b.last, b.since
	for i := range b.warps {
		g := &b.warps[i].block // nobody holds its lock, or is going to: all wait
		if arrived += g.arrived; g.since > since {
			last, since = g.last, g.since
		}
	}
	return fmt.Sprintf("%s: %d of %d threads missing (last arrived: %v)", b.name, b.need-arrived, b.need, last)
}

func (a *agent) syncThreads(p bool) int {
	x := comers{name: "__syncthreads", threads: a.lanes, need: int(a.cta.threads.Load()), count: a.having(p)}
	return a.cta.named[0].sync(a, x)
}

// having returns how many of a's threads have a predicate. A last warp may have fewer than it arrives as.
func (a *agent) having(p bool) int {
	if p {
		return a.lanes
	}
	return 0
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
	a.named(id, n).sync(a, a.toBarrier(id, n))
}

// BarArrive is barrier.arrive: it arrives at the named barrier id, which n threads arrive
// at, and does not wait.
func (a *agent) BarArrive(id, n int) {
	a.enter("BarArrive")
	a.named(id, n).arrive(a, a.toBarrier(id, n))
}

// toBarrier returns what arrives at a named barrier by the agent's barrier.sync.
func (a *agent) toBarrier(id, n int) comers {
	return comers{name: barrierNames[id], threads: a.inWarps(), need: n}
}

// barrierNames are made here: the pool of fmt would order agents for the race detector.
var barrierNames = func() (names [namedBarriers]string) {
	for id := range names {
		names[id] = "barrier " + strconv.Itoa(id)
	}
	return names
}()

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
