package sm

import (
	"sync"
	"sync/atomic"

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
	grid   clusterBarrier // its part of grid.sync
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
		own := &cta{cluster: c, rank: rank}
		own.memory = memory{launch: l, cta: own}
		c.ctas[rank] = own
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
	c.sync = clusterBarrier{cluster: c, name: "barrier.cluster"}
	c.grid = clusterBarrier{cluster: c, name: "grid.sync"}
	c.fences = fences{}
	c.told = meeting{}
	if c.launch.Check {
		c.order = newOrder(i+1, c.ctas)
	}
}

// fence orders what a's CTA has done, and what a does next in shared memory, before what those do
// who fence later.
//
//go:norace
func (c *cluster) fence(a *agent) {
	a.cta.peers.lock()
	a.cta.peers.fenced = true
	know := a.cta.peers.clock
	a.cta.peers.unlock()
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
