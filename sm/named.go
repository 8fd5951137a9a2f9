package sm

import (
	"fmt"
	"math/bits"
	"strconv"
	"sync"

	"example.com/leafhopper/internal/race"
)

// namedBarriers is how many barriers a CTA has for barrier.sync; number 0 is
// __syncthreads (PTX 9.7.13.1).
const namedBarriers = 16

// A namedBarrier is one of them, or the one of a warp: so many threads arrive, and those
// that sync wait for it. It is no mbarrier: it needs no initialisation, and its waiters
// are all woken by the last to come.
type namedBarrier struct {
	mu      sync.Mutex
	name    string
	need    int // of the current phase
	arrived int
	phase   uint64
	last    mark
	op      reduction // of the current phase
	count   int       // of those who have arrived, with a predicate that is true
	gone    int       // threads that have ended, of a warp's
	waiters []*runner
	told    meeting
}

// sync is reduce without a reduction.
func (b *namedBarrier) sync(a *agent, name string, threads, need int, p bool) (count int) {
	return b.reduce(a, name, noReduction, threads, need, p)
}

// reduce is arrive that waits for the others. It returns how many threads had the predicate.
func (b *namedBarrier) reduce(a *agent, name string, op reduction, threads, need int, p bool) (count int) {
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
	if last = b.arrived >= need-b.gone; last {
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

// leave takes a thread of c that has ended out of those that the barrier of its warp waits for.
func (b *namedBarrier) leave(c *cluster) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gone++
	if b.arrived > 0 && b.arrived == b.need-b.gone {
		b.complete(c)
	}
}

// missing says what a phase lacks.
func (b *namedBarrier) missing(uint64) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Sprintf("%s: %d of %d threads missing (last arrived: %v)",
		b.name, b.need-b.gone-b.arrived, b.need-b.gone, b.last)
}

func (a *agent) syncThreads(p bool) int {
	c := a.cta
	return c.named[0].sync(a, "__syncthreads", a.lanes, int(c.threads.Load()), p)
}

// SyncThreads is __syncthreads: it waits until every thread of the block's agents has come
// to it. One that ends without is missed: CUDA leaves that undefined.
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

// A warpSync is the barriers of the threads of a warp that are agents of their own. The race detector is not to
// believe that lanes which come with different masks are ordered.
type warpSync struct {
	all   namedBarrier
	mu    sync.Mutex
	parts []*lanes // that have been synchronized
	gone  uint32   // lanes that have ended
}

// A lanes is the barrier of some of a warp's, by their bits in a mask.
type lanes struct {
	namedBarrier
	mask uint32
}

// of returns the barrier of a mask of lanes.
//
//go:norace
func (w *warpSync) of(mask uint32) *namedBarrier {
	race.Hide()
	defer race.Show()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.parts {
		if p.mask == mask {
			return &p.namedBarrier
		}
	}
	p := &lanes{mask: mask}
	p.gone = bits.OnesCount32(mask & w.gone)
	w.parts = append(w.parts, p)
	return &p.namedBarrier
}

// leave takes a lane whose thread has ended out of those that the barriers wait for.
func (w *warpSync) leave(c *cluster, lane int) {
	w.all.leave(c)
	for _, p := range w.without(lane) {
		if p.mask>>lane&1 != 0 {
			p.leave(c)
		}
	}
}

// without notes that a lane has ended, and returns the barriers that do not know.
//
//go:norace
func (w *warpSync) without(lane int) []*lanes {
	race.Hide()
	defer race.Show()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone |= 1 << lane
	return w.parts
}

// SyncWarp is __syncwarp: it waits for the other threads of the warp that have not ended or, with a
// mask, for those of them whose lane's bit is set, which name the same. Those of a Warp or Warpgroup
// are in lockstep.
func (a *agent) SyncWarp(mask ...uint32) {
	a.enter("SyncWarp")
	if len(mask) > 1 {
		a.fail(RuleSync, "%d masks, want one or none", len(mask))
	}
	if a.run.self.lanes > 1 {
		return
	}
	warp, lane := a.rank/warpSize, a.rank%warpSize
	n := min(warpSize, a.cta.launch.Block.Size()-warp*warpSize)
	w, name := &a.cta.warps[warp], "__syncwarp of warp "+strconv.Itoa(warp) // as barrierName
	all := uint32(1<<n - 1)
	if len(mask) == 0 || mask[0]&all == all {
		w.all.sync(a, name, 1, n, false)
		return
	}
	m := mask[0] & all
	if m>>lane&1 == 0 {
		a.fail(RuleSync, "mask %#x does not name lane %d, which calls it", mask[0], lane)
	}
	w.of(m).sync(a, name+", mask 0x"+strconv.FormatUint(uint64(m), 16), 1, bits.OnesCount32(m), false)
}

// BarSync is barrier.sync: it arrives at the named barrier id, 0 to 15, and waits until n
// threads have, a multiple of 32. A last warp of fewer threads counts as a whole one.
func (a *agent) BarSync(id, n int) {
	a.enter("BarSync")
	a.named(id, n).sync(a, barrierName(id), a.inWarps(), n, false)
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
