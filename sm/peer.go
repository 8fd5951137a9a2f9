package sm

import (
	"sync"

	"example.com/leafhopper/internal/race"
)

// A clock counts, for each CTA of a cluster, its accesses to other CTAs' shared memory
// that its owner knows to be over. CTAs learn of each other's when they synchronize, so
// whether an access comes before an exit is a matter of the program, not of the moment
// (Lamport, Fidge, Mattern: vector clocks). Behind those are the copies out of each CTA's
// shared memory to others', the end of the last of which their issuer learns from who has waited for it.
type clock [2 * maxCluster]uint32

//go:norace
func (c *clock) join(d *clock) {
	for i := range c {
		c[i] = max(c[i], d[i])
	}
}

// peers is what a CTA knows, and what others have done in its shared memory. The race detector, from which it is
// hidden, is not to believe that the agents of a cluster are ordered by what the CTAs know.
type peers struct {
	mu     sync.Mutex
	clock  clock
	fenced bool // accesses of other CTAs come after a ThreadFence
	exited bool
	access [maxCluster]remoteAccess // by other CTAs, the last of each
	copied remoteAccess             // by its own copies to other CTAs, the last
}

// A remoteAccess is one of another CTA's shared memory.
type remoteAccess struct {
	count uint32 // of the accessing CTA's clock
	op    string
	by    mark
}

func (x *peers) lock() {
	race.Hide()
	x.mu.Lock()
}

func (x *peers) unlock() {
	x.mu.Unlock()
	race.Show()
}

// release adds what the CTA knows to what an object tells those who acquire it.
func (c *cta) release(to *clock) {
	if c.alone() {
		return
	}
	c.peers.lock()
	to.join(&c.peers.clock)
	c.peers.unlock()
}

// acquire adds what an object tells to what the CTA knows.
func (c *cta) acquire(from *clock) {
	if c.alone() {
		return
	}
	c.peers.lock()
	c.peers.clock.join(from)
	c.peers.unlock()
}

// alone reports whether there is no other CTA in the cluster.
func (c *cta) alone() bool { return len(c.cluster.ctas) == 1 }

// reach notes that a accesses the shared memory of to, and returns what a's CTA then
// knows, for who completes the access. It is a fault if that CTA has left, or is in no
// cluster with a's.
//
//go:norace
func (a *agent) reach(to *cta) (now clock) {
	from := a.cta
	if from.cluster != to.cluster {
		a.fail(RuleShared, "shared memory of a CTA that is in another cluster")
	}
	if from.alone() {
		return now
	}
	if from == to {
		from.release(&now)
		return now
	}
	if !a.run.history.met(to) {
		a.fail(RuleShared, "nothing says that CTA %v has begun: cluster.sync is missing before the first use of its shared "+
			"memory", to.idx)
	}
	from.peers.lock()
	from.peers.clock[from.rank]++
	now = from.peers.clock
	fenced := from.peers.fenced
	from.peers.unlock()
	if fenced { // it may be the flag
		flag := now
		from.cluster.fences.exchange(&flag)
	}
	x := remoteAccess{now[from.rank], a.run.op, a.mark()}
	to.peers.lock()
	exited := to.peers.exited
	if !exited {
		to.peers.access[from.rank] = x
	}
	to.peers.unlock()
	if exited {
		a.fail(RuleExit, "shared memory of CTA %v, which has exited: cluster.sync keeps it until then", to.idx)
	}
	return now
}

// depart marks the CTA as gone, which no access by another CTA is to come after.
//
//go:norace
func (c *cta) depart() {
	c.peers.lock()
	c.peers.exited = true
	c.peers.unlock() // what others do here is their fault from now on, and who is of the CTA has ended
	for rank, x := range c.peers.access {
		if x.count > c.peers.clock[rank] {
			c.blame(site{}, RuleExit, "nothing orders the %s by %v in its shared memory before this: cluster.sync is "+
				"missing (or, around a flag, ThreadFence on both sides)", x.op, x.by)
		}
	}
	if x := c.peers.copied; x.count > c.peers.clock[maxCluster+c.rank] {
		c.blame(site{}, RuleExit, "nothing says that the %s by %v has read its shared memory before this: cluster.sync is "+
			"missing behind the wait for it", x.op, x.by)
	}
}

// copies notes that a is about to issue a copy out of its CTA's shared memory, and returns what who waits for it knows.
//
//go:norace
func (a *agent) copies(now clock) clock {
	c := a.cta
	if !c.alone() {
		by := a.mark()
		c.peers.lock()
		n := c.peers.copied.count + 1
		c.peers.copied = remoteAccess{n, a.run.op, by}
		c.peers.unlock()
		now[maxCluster+c.rank] = n
	}
	return now
}
