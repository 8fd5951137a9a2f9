package sm

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"example.com/leafhopper/internal/race"
)

// A cluster is the CTAs that run together. It is used for one cluster of the grid after
// another.
type cluster struct {
	launch *launch
	ctas   []*cta

	active   atomic.Int64 // runners that can go on, and copies under way; below 0 after a deadlock
	progress atomic.Int64 // events that may end a wait
	polled   int          // under Check, tries that found nothing changed
	polledAt int64        // progress then

	mu      sync.Mutex
	runners map[*runner]struct{} // that have not ended

	first *cta // that has started its agents, with mu

	sync   clusterBarrier
	fences fences
	order  *order  // under Check
	told   meeting // of those who have executed a ThreadFence of its scope
}

// placed is a declaration, and its bytes in shared memory.
type placed struct {
	*declaration
	offset, end int
}

// place notes where what the CTA has declared last begins; it ends with what is used.
func (c *cta) place(offset int) {
	if !c.alone() {
		c.layout = append(c.layout, placed{c.declared, offset, c.used})
	}
}

// agree checks that a CTA has declared what the first of its cluster to start has: else a mapped address is one of
// something else there. More, behind that, is no harm.
func (c *cluster) agree(with *cta) {
	c.mu.Lock()
	if c.first == nil {
		c.first = with
	}
	first := c.first
	c.mu.Unlock()
	for i := range min(len(first.layout), len(with.layout)) {
		was, is := first.layout[i], with.layout[i]
		if was.offset != is.offset || was.end != is.end || was.site != is.site && was.name() != is.name() {
			with.body.fail(RuleShared, "%s at %v has the bytes %d to %d, where CTA %v, of its cluster, has declared %s at %v, "+
				"%d to %d: every CTA declares the same", is.name(), is.site, is.offset, is.end-1, first.idx, was.name(), was.site,
				was.offset, was.end-1)
		}
	}
}

// fences is what is known to who executes a ThreadFence.
type fences struct {
	mu    sync.Mutex
	clock clock // of those who have
}

// exchange adds what a CTA knows, and tells it what others have. The race detector is not to believe that
// whoever fences later comes after who has before.
//
//go:norace
func (f *fences) exchange(know *clock) {
	race.Hide()
	f.mu.Lock()
	for i := range know {
		f.clock[i] = max(f.clock[i], know[i])
		know[i] = f.clock[i]
	}
	f.mu.Unlock()
	race.Show()
}

func newCluster(l *launch) *cluster {
	c := &cluster{launch: l, runners: map[*runner]struct{}{}}
	c.ctas = make([]*cta, l.Cluster.Size())
	for rank := range c.ctas {
		c.ctas[rank] = &cta{launch: l, cluster: c, rank: rank}
	}
	return c
}

// reset makes c the cluster number i of the grid.
func (c *cluster) reset(i int) {
	l := c.launch
	at := l.inGrid.at(i)
	for rank, cta := range c.ctas {
		in := l.Cluster.at(rank)
		cta.reset(Dim3{at.X*l.Cluster.X + in.X, at.Y*l.Cluster.Y + in.Y, at.Z*l.Cluster.Z + in.Z})
	}
	c.first = nil
	c.sync = clusterBarrier{cluster: c}
	c.fences = fences{}
	c.told = meeting{}
	if c.launch.Check {
		c.order = newOrder(c.ctas)
	}
}

// fence orders what a's CTA has done, and what a does next in shared memory, before what those do
// who fence later.
func (c *cluster) fence(a *agent) {
	var know clock
	a.cta.fenced.Store(true)
	a.cta.release(&know)
	c.fences.exchange(&know)
	a.cta.acquire(&know)
}

// start starts the kernel function of every CTA. All are counted, and enrolled, first: one that ends
// at once is not the last.
func (c *cluster) start() {
	c.count(int64(len(c.ctas)))
	for _, cta := range c.ctas {
		c.enroll(cta.main)
	}
	for _, cta := range c.ctas {
		cta.main.start(func() { c.launch.kernel(cta.block()) })
	}
}

// enroll makes r one of those that have not ended, and are woken when the launch stops.
func (c *cluster) enroll(r *runner) {
	c.mu.Lock()
	c.runners[r] = struct{}{}
	c.mu.Unlock()
}

// discharge takes r out, and reports whether it was the last.
func (c *cluster) discharge(r *runner) (last bool) {
	c.mu.Lock()
	delete(c.runners, r)
	last = len(c.runners) == 0
	c.mu.Unlock()
	return last
}

// on returns the runner of a goroutine, nil if it is none's.
//
//go:norace
func (c *cluster) on(g uintptr) *runner {
	c.mu.Lock()
	defer c.mu.Unlock()
	for r := range c.runners {
		if r.g == g {
			return r
		}
	}
	return nil
}

// wakeAll wakes all who sleep, to find that the launch has stopped.
func (c *cluster) wakeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for r := range c.runners {
		r.nudge()
	}
}

// count adds n to those that are active, and returns how many there are. The race detector
// is not to believe that whoever is counted later comes after those before.
func (c *cluster) count(n int64) int64 {
	race.Hide()
	defer race.Show()
	c.launch.active.Add(n)
	return c.active.Add(n)
}

// progressed counts an event that may end a wait.
func (c *cluster) progressed() {
	race.Hide()
	c.progress.Add(1)
	race.Show()
}

// idle counts that a runner or a copy is active no more.
func (c *cluster) idle() {
	race.Hide()
	c.launch.settled.Add(1)
	race.Show()
	c.rest()
}

// rest is idle for a runner that dozes, and has done nothing since it looked.
func (c *cluster) rest() {
	race.Release(unsafe.Pointer(c))
	if c.count(-1) == 0 && !c.launch.stopped() && c.dead() {
		race.Acquire(unsafe.Pointer(c))
		c.deadlock()
	}
}

// deadlocked is far below what runners and copies that still come count.
const deadlocked = -1 << 40

// dead reports whether nobody can go on. Those that doze have to have looked again since the last of the others,
// in any cluster, has come to its end or to a wait: they may see what it has done in global memory.
func (c *cluster) dead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	race.Hide()
	defer race.Show()
	for r := range c.runners {
		if r.dozing.Load() && (c.launch.active.Load() > 0 || r.looked.Load() != c.launch.settled.Load()) {
			return false
		}
	}
	return c.active.CompareAndSwap(0, deadlocked)
}

// resume counts r, which has dozed, as active again. It does not return if a deadlock has been found.
func (c *cluster) resume(r *runner) {
	race.Hide()
	for {
		n := c.active.Load()
		if n < 0 {
			<-r.wake
			race.Show()
			r.unwind()
		}
		if c.active.CompareAndSwap(n, n+1) {
			c.launch.active.Add(1)
			r.dozing.Store(false)
			r.looked.Store(c.launch.settled.Load())
			race.Show()
			return
		}
	}
}

// A clusterBarrier is barrier.cluster (PTX 9.7.13.3): every thread of every CTA of the
// cluster arrives, and then waits.
type clusterBarrier struct {
	mu      sync.Mutex
	cluster *cluster
	phase   uint64
	arrived int
	waiters []*runner
	clock   clock // released by those who have arrived
	told    meeting
}

// threads returns how many have to arrive, as far as is known: CTAs that have not
// started their agents have at least one.
func (b *clusterBarrier) threads() int {
	n := 0
	for _, c := range b.cluster.ctas {
		if t := int(c.threads.Load()); t > 0 {
			n += t
		} else {
			n++
		}
	}
	return n
}

func (b *clusterBarrier) arrive(a *agent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.clusterArrived {
		a.fail(RuleSync, "barrier.cluster.arrive of phase %d twice, without barrier.cluster.wait between", b.phase)
	}
	a.clusterArrived = true
	b.arrived += a.lanes
	a.cta.release(&b.clock)
	b.told.arrive(a.run.history)
	a.clusterPhase = b.phase
	if b.arrived < b.threads() {
		return
	}
	b.arrived = 0
	b.phase++
	b.told.complete()
	b.cluster.progressed()
	for _, r := range b.waiters {
		r.cta.acquire(&b.clock)
		b.told.tell(r.history)
		r.ready()
	}
	b.waiters = b.waiters[:0]
}

func (b *clusterBarrier) wait(a *agent) {
	if !a.clusterArrived {
		a.fail(RuleSync, "barrier.cluster.wait without barrier.cluster.arrive before")
	}
	a.clusterArrived = false
	b.mu.Lock()
	if b.phase > a.clusterPhase {
		a.cta.acquire(&b.clock)
		b.told.tell(a.run.history)
		b.mu.Unlock()
		return
	}
	a.run.waits, a.run.target = b, a.clusterPhase
	b.waiters = append(b.waiters, a.run)
	b.mu.Unlock()
	a.run.block()
}

// ClusterArrive is barrier.cluster.arrive, by every thread of every CTA of the cluster.
func (a *agent) ClusterArrive() {
	a.enter("ClusterArrive")
	a.cta.cluster.sync.arrive(a)
}

// ClusterWait is barrier.cluster.wait: it waits for those who have not called
// ClusterArrive since the last time.
func (a *agent) ClusterWait() {
	a.enter("ClusterWait")
	a.cta.cluster.sync.wait(a)
}

// ClusterSync is cluster.sync() of cooperative groups, ClusterArrive and ClusterWait.
func (a *agent) ClusterSync() {
	a.enter("ClusterSync")
	a.cta.cluster.sync.arrive(a)
	a.cta.cluster.sync.wait(a)
}
