package sm

import (
	"fmt"
	"strings"
	"sync"

	"example.com/leafhopper/internal/race"
)

// A clusterBarrier is one of every thread of every CTA of a cluster: barrier.cluster (PTX 9.7.13.3), or the cluster's
// part of grid.sync, which ends with those of all clusters.
type clusterBarrier struct {
	name    string
	cluster *cluster

	mu      sync.Mutex
	phase   uint64
	arrived [maxCluster]int // threads, by the rank of their CTA
	full    int             // CTAs of which all have arrived
	waiters queue
	ranks   [maxCluster]bool // of the CTAs of waiters
	clock   clock            // released by those who have arrived
	told    meeting
}

// arrive returns the phase that a arrives at, and whether it is the last of the cluster. If not, it may put a on the
// list of those who wait.
func (b *clusterBarrier) arrive(a *agent, wait bool) (phase uint64, last bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a.cta.release(&b.clock)
	b.told.arrive(a.run.history)
	n, threads := &b.arrived[a.cta.rank], int(a.cta.threads.Load())
	if *n += a.lanes; *n >= threads && *n-a.lanes < threads {
		b.full++
		last = b.full == len(b.cluster.ctas)
	}
	if wait && !last {
		b.enqueue(a)
	}
	return b.phase, last
}

// complete ends the phase.
func (b *clusterBarrier) complete() {
	b.mu.Lock()
	b.arrived, b.full = [maxCluster]int{}, 0
	b.phase++
	b.told.complete()
	b.cluster.progressed()
	for rank, wait := range b.ranks {
		if wait {
			b.cluster.ctas[rank].acquire(&b.clock)
		}
	}
	b.ranks = [maxCluster]bool{}
	b.waiters.tell(&b.told)
	released := b.waiters.release()
	b.mu.Unlock()
	released.wake(0)
}

// wait waits for the end of a phase at which a has arrived.
func (b *clusterBarrier) wait(a *agent, phase uint64) {
	b.mu.Lock()
	if b.phase > phase {
		a.cta.acquire(&b.clock)
		b.told.tell(a.run.history)
		b.mu.Unlock()
		return
	}
	b.enqueue(a)
	b.mu.Unlock()
	a.run.block()
}

func (b *clusterBarrier) enqueue(a *agent) {
	b.waiters.push(a.run, b, b.phase)
	b.ranks[a.cta.rank] = true
}

// awaited reports whether agents wait. Who completes the phase has them count as active before it is false.
//
//go:norace
func (b *clusterBarrier) awaited() bool {
	race.Hide()
	defer race.Show()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiters.n > 0
}

// mostLacking is how many CTAs a message lists whose threads a barrier lacks.
const mostLacking = 4

// missing says whose arrivals a phase lacks. CTAs that have not started their agents lack at least one.
func (b *clusterBarrier) missing(phase uint64) string {
	parts := []*clusterBarrier{b}
	if b == &b.cluster.grid {
		parts = parts[:0]
		for _, c := range b.cluster.launch.all {
			parts = append(parts, &c.grid)
		}
	}
	var lacks []string
	missing, all := 0, 0
	for _, p := range parts {
		p.mu.Lock()
		for rank, c := range p.cluster.ctas {
			threads := max(int(c.threads.Load()), 1)
			n := threads - p.arrived[rank]
			missing, all = missing+n, all+threads
			if n > 0 {
				lacks = append(lacks, fmt.Sprintf("%d of CTA %v%s", n, c.idx, c.gone()))
			}
		}
		p.mu.Unlock()
	}
	if n := len(lacks) - mostLacking; n > 0 {
		lacks = append(lacks[:mostLacking], fmt.Sprintf("%d CTAs more", n))
	}
	return fmt.Sprintf("%s phase %d: %d of %d threads missing: %s", b.name, phase, missing, all, strings.Join(lacks, ", "))
}

// gone says that the CTA has exited, if it has.
//
//go:norace
func (c *cta) gone() string {
	c.peers.lock()
	defer c.peers.unlock()
	if c.peers.exited {
		return ", which has exited"
	}
	return ""
}

// clusterArrive may put a on the list of those who wait, and reports whether it has.
func (a *agent) clusterArrive(wait bool) (waits bool) {
	if a.clusterArrived {
		a.fail(RuleSync, "barrier.cluster.arrive of phase %d twice, without barrier.cluster.wait between", a.clusterPhase)
	}
	b, last := &a.cta.cluster.sync, false
	a.clusterArrived = true
	if a.clusterPhase, last = b.arrive(a, wait); last {
		b.complete()
	}
	return wait && !last
}

func (a *agent) clusterWait() {
	if !a.clusterArrived {
		a.fail(RuleSync, "barrier.cluster.wait without barrier.cluster.arrive before")
	}
	a.clusterArrived = false
	a.cta.cluster.sync.wait(a, a.clusterPhase)
}

// ClusterArrive is barrier.cluster.arrive, by every thread of every CTA of the cluster.
func (a *agent) ClusterArrive() {
	a.enter("ClusterArrive")
	a.clusterArrive(false)
}

// ClusterWait is barrier.cluster.wait: it waits for those who have not called
// ClusterArrive since the last time.
func (a *agent) ClusterWait() {
	a.enter("ClusterWait")
	a.clusterWait()
}

// ClusterSync is cluster.sync() of cooperative groups, ClusterArrive and ClusterWait.
func (a *agent) ClusterSync() {
	a.enter("ClusterSync")
	a.run.met++
	if !a.clusterArrive(true) {
		a.clusterWait()
		return
	}
	a.clusterArrived = false
	a.run.block()
}

// GridSync is grid.sync() of cooperative groups: it waits until every thread of the agents of every CTA has come to it,
// in a launch that is [Config.Cooperative]. One that ends without is missed: CUDA leaves that undefined.
func (a *agent) GridSync() {
	a.enter("GridSync")
	a.run.met++
	l, b := a.cta.launch, &a.cta.cluster.grid
	if !l.Cooperative {
		a.fail(RuleSync, "the launch is not cooperative (cudaLaunchCooperativeKernel): Config.Cooperative")
	}
	phase, last := b.arrive(a, true)
	if !last {
		a.run.block()
		return
	}
	if int(l.full.Add(1)) == len(l.all) {
		l.full.Store(0)
		l.gather()
		for _, c := range l.all {
			c.grid.complete()
		}
	}
	b.wait(a, phase)
}
