package sm

import (
	"fmt"
	"runtime"

	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// An Agent is who does an operation: a [*Thread], a [*Warp], a [*Warpgroup] or a [*Group]. The
// threads of the latter run in lockstep, so that an operation of theirs is one of
// each of their threads: they arrive 32 and 128 times.
//
// An agent belongs to the goroutine that its function runs on: on another agent's it is a
// fault. (In free mode, without assembly, nobody notices.) A goroutine that the kernel starts
// itself may act for the agent that waits for it; two may not at once. When the launch stops it ends as
// by runtime.Goexit: what its agent waits for has to be deferred.
type Agent interface{ base() *agent }

// agent is what all agents have.
type agent struct {
	run   *runner
	cta   *cta
	kind  string
	rank  int // of its first thread in the block
	lanes int // threads, 0 of what acts and is no agent of the kernel's
	parts int // threads of the group that it acts with, or 0
	part  int // its rank among those

	// Of barrier.cluster: arrived at that phase, and has not waited yet.
	clusterArrived bool
	clusterPhase   uint64
}

func (a *agent) base() *agent { return a }

// String returns what messages call the agent, such as "warpgroup 1".
func (a *agent) String() string {
	if a.lanes == 0 {
		return a.kind
	}
	return fmt.Sprintf("%s %d", a.kind, a.number())
}

// number returns the agent's number in the block, among those of its kind.
func (a *agent) number() int { return a.rank / a.lanes }

// inCluster is String with the CTA, if the cluster has several.
func (a *agent) inCluster() string {
	if a.cta.alone() {
		return a.String()
	}
	return fmt.Sprintf("%v of CTA %v", a, a.cta.idx)
}

// Block returns the agent's CTA.
func (a *agent) Block() *Block { return a.cta.block() }

// A Thread is one thread of a CTA.
type Thread struct {
	agent
	bulk    tile.Thread // its copies and bulk groups
	used    bool        // it has issued some
	issuing copyOp      // what execute is to take of the copy that it issues next
	stored  copyOp      // the last store or reduction to global memory
	stores  []copyOp    // those of bulk groups that have not landed, if there is a trace
	loose   []copyOp    // of its copies, those that complete nothing
	closed  []batch     // their groups
	covered int         // of them, those whose end arrives at a barrier
	bulks   groups      // of bulk copies that have read their sources
	written groups      // that have written their destinations
	asyncs  groups      // of loose, which a commit closes or an arrival
}

// newThread returns a thread whose copies land when execute says.
func newThread(base agent) *Thread {
	t := &Thread{agent: base}
	t.bulk.Execute = t.execute
	return t
}

// Rank returns the thread's number in the block, X fastest.
func (t *Thread) Rank() int { return t.rank }

// Idx returns threadIdx.
func (t *Thread) Idx() Dim3 { return t.cta.launch.Block.at(t.rank) }

// Lane returns the thread's number in its warp.
func (t *Thread) Lane() int { return t.rank % warpSize }

// WarpRank returns the number of the thread's warp in the block.
func (t *Thread) WarpRank() int { return t.rank / warpSize }

// Elected reports whether the thread is the one of its warp that elect.sync chooses.
func (t *Thread) Elected() bool { return t.Lane() == 0 }

// A Warp is 32 threads in lockstep.
type Warp struct {
	agent
	threads [warpSize]*Thread // those that have been asked for
}

// Rank returns the warp's number in the block.
func (w *Warp) Rank() int { return w.rank / warpSize }

// Thread returns a thread of the warp, by lane. It panics if there is none.
func (w *Warp) Thread(lane int) *Thread {
	if w.threads[lane] == nil {
		part := w.agent
		part.kind, part.rank, part.lanes = "thread", w.rank+lane, 1
		w.threads[lane] = newThread(part)
	}
	return w.threads[lane]
}

// A Warpgroup is 128 threads in lockstep, those that issue wgmma instructions together. The four warps of a
// GPU's are not: no check notices that a barrier is missing between them, as BarSync before one thread stores
// in bulk what all have written.
type Warpgroup struct {
	agent
	warps [groupSize / warpSize]*Warp // those that have been asked for
	mma   *wgmma.Warpgroup            // nil until it is needed
	mmas  groups                      // of instructions
}

// Rank returns the warpgroup's number in the block.
func (w *Warpgroup) Rank() int { return w.rank / groupSize }

// Thread returns a thread of the warpgroup, 0 to 127, for what one of them does alone. It
// panics if there is none.
func (w *Warpgroup) Thread(i int) *Thread { return w.Warp(i / warpSize).Thread(i % warpSize) }

// Warp returns a warp of the warpgroup, 0 to 3. It panics if there is none.
func (w *Warpgroup) Warp(i int) *Warp {
	if w.warps[i] == nil {
		part := w.agent
		part.kind, part.rank, part.lanes = "warp", w.rank+i*warpSize, warpSize
		w.warps[i] = &Warp{agent: part}
	}
	return w.warps[i]
}

// FenceProxyAsync is fence.proxy.async: it orders what the agent has written to shared
// memory, or has been told of, before the copies and wgmma instructions that are issued after it (PTX 9.7.13.4).
// Go orders memory for everybody at once: what lacks it is known under Check.
func (a *agent) FenceProxyAsync() {
	a.enter("FenceProxyAsync")
	a.run.history.fence()
}

// FenceBarrierInit is fence.mbarrier_init.release.cluster, which makes the
// initialisation of mbarriers visible to the cluster. It has no effect here.
func (a *agent) FenceBarrierInit() { a.enter("FenceBarrierInit") }

// A Scope is the threads that a fence orders memory for.
type Scope uint8

// The scopes of __threadfence_block, of fence.acq_rel.cluster, of __threadfence and of
// __threadfence_system.
const (
	ScopeBlock Scope = iota
	ScopeCluster
	ScopeDevice
	ScopeSystem
)

// ThreadFence is __threadfence and its kin. Go orders memory by itself; but that an access of memory comes before
// another, or of shared memory before the end of another CTA whose it is, is known, where a flag in memory says so,
// from fences of both sides: after the access or between it and the flag, and after the flag has been read, of a scope
// that has both. Nothing sees the flag, which may be Go's: of fences without one, or on the wrong side of it, which is
// later is a matter of the moment, so that not every seed of [Explore] tells.
func (a *agent) ThreadFence(s Scope) {
	a.enter("ThreadFence")
	if !a.cta.launch.Check {
		runtime.Gosched() // it is what loops until memory changes call, which others change
	}
	a.cta.told.exchange(a.run.history)
	c := a.cta.cluster
	if s >= ScopeCluster && !a.cta.alone() {
		c.fence(a)
		c.told.exchange(a.run.history)
	}
	if g := c.launch.global.tracked; s >= ScopeDevice && g.declared() {
		c.told.exchange(a.run.history)
		g.forum.exchange(c.order.cluster, &c.told)
		c.told.tell(a.run.history)
	}
}
