package sm

import (
	"time"

	"example.com/leafhopper/barrier"
)

// A Token names the phase in which an arrival took part.
type Token = barrier.Token

// A Barrier is an mbarrier in the shared memory of a CTA: cuda::barrier with
// thread_scope_block, or, mapped to a peer, one of its barriers. Phases are numbered from
// 0. What PTX leaves undefined is a fault.
type Barrier struct {
	cta *cta
	at  int   // of the CTA's barriers
	m   *mbar // or nil, if it is mapped: the peer may not have declared it yet
}

// begin begins an operation on the barrier.
func (b *Barrier) begin(a Agent, op string) (*agent, *mbar) {
	g := a.base()
	g.enterBelow(op)
	return g, b.of(g)
}

// local begins an operation that only agents of the barrier's CTA have.
func (b *Barrier) local(a Agent, op string) (*agent, *mbar) {
	g := a.base()
	g.enterBelow(op)
	m := b.of(g)
	if m.cta != g.cta {
		g.fail(RuleBarrier, "%s is a barrier of CTA %v: at another CTA's one may arrive, and expect or complete bytes",
			m.name(), m.cta.idx)
	}
	return g, m
}

// of returns the mbarrier that a means.
func (b *Barrier) of(a *agent) *mbar {
	if b == nil || b.cta == nil {
		a.fail(RuleBarrier, "the barrier is nil; Block.Barriers makes them")
	}
	m := b.m
	if m == nil {
		m = b.cta.barrier(b.at)
	}
	if m == nil {
		a.fail(RuleBarrier, "CTA %v has not declared barrier %d: cluster.sync comes before it is used", b.cta.idx, b.at)
	}
	m.comesAfter(a, &m.made)
	return m
}

// comesAfter reports a use of the barrier by one who has not been told of another. Who is of another cluster has no use
// of it at all.
func (m *mbar) comesAfter(a *agent, e *event) {
	if h := a.run.history; h != nil && e.in == h.order.cluster && e.count > 0 && !h.after(e) {
		a.fail(RuleBarrier, "%s: not ordered after the %s by %v%s", m.nameFor(a), e.op, e.mark, e.lacks(a))
	}
}

// make notes that a has made the barrier what it is, by Init or Invalidate.
func (m *mbar) make(a *agent) {
	if a.run.history != nil {
		m.made = a.event()
	}
}

// MapShared returns the barrier of the cluster's CTA of that rank that has this one's
// address (cluster.map_shared_rank). It panics if the cluster has no such CTA.
func (b *Barrier) MapShared(rank int) *Barrier {
	return &Barrier{cta: b.cta.peer(rank), at: b.at}
}

// Init makes the barrier one that expects n arrivals a phase, 1 to 2^20-1 (init of
// libcu++, mbarrier.init). Others must learn of it before they use it, by SyncThreads; who does not
// is known under Check.
func (b *Barrier) Init(a Agent, n int) {
	g, m := b.local(a, "Init")
	m.mu.Lock()
	defer m.unlock(g)
	if err := m.b.Init(n); err != nil {
		panic(err)
	}
	m.phase, m.expected, m.expects, m.arrived = 0, 0, m.expects[:0], mark{}
	m.loads, m.observed, m.dropped, m.leaving = 0, 0, false, 0
	m.told, m.seen = meeting{remembers: true}, m.seen[:0]
	m.make(g)
}

// Invalidate ends the barrier's life (mbarrier.inval, ~barrier of libcu++). It comes after all that others do with the
// barrier, and before they Init it again; what does not is known under Check.
func (b *Barrier) Invalidate(a Agent) {
	g, m := b.local(a, "Invalidate")
	m.mu.Lock()
	defer m.unlock(g)
	if r := m.waiters.first; r != nil {
		g.fail(RuleBarrier, "%s: %s waits for it", m.name(), r.agent())
	}
	if m.loads > m.observed {
		g.fail(RuleExit, "%s: the load by %v has not been waited for", m.name(), m.loaded)
	}
	for i := range m.seen {
		m.comesAfter(g, &m.seen[i])
	}
	if h := g.run.history; h != nil && !h.knowsAll(&m.told.coming[0]) {
		g.fail(RuleBarrier, "%s: not ordered after all arrivals (last: %v): %v does not know of them", m.name(), m.arrived, g)
	}
	m.b.Invalidate()
	m.make(g)
}

// Arrive arrives once for each of the agent's threads (arrive of libcu++,
// mbarrier.arrive). The token of a peer's barrier is of no use.
func (b *Barrier) Arrive(a Agent) Token {
	g, m := b.begin(a, "Arrive")
	return m.arrive(g, g.lanes, 0, false)
}

// ArriveN arrives n times for each of the agent's threads.
func (b *Barrier) ArriveN(a Agent, n int) Token {
	g, m := b.begin(a, "ArriveN")
	return m.arrive(g, g.each(n), 0, false)
}

// ArriveTx expects bytes more of the phase, and arrives n times, for each of the agent's
// threads: one elected thread expects what a copy brings (cuda::device::barrier_arrive_tx, mbarrier.arrive.expect_tx).
func (b *Barrier) ArriveTx(a Agent, n, bytes int) Token {
	g, m := b.begin(a, "ArriveTx")
	return m.arrive(g, g.each(n), g.each(bytes), false)
}

// each returns how many arrivals, or bytes, n of each thread are. What is over the most that a barrier takes, as many
// of both, stays as it is.
func (a *agent) each(n int) int {
	if n < 1 || n > barrier.MaxTx {
		return n
	}
	return a.lanes * n
}

// ArriveAndDrop arrives, and lowers the arrivals that later phases expect by as many
// (arrive_and_drop of libcu++, mbarrier.arrive_drop).
func (b *Barrier) ArriveAndDrop(a Agent) {
	g, m := b.begin(a, "ArriveAndDrop")
	m.arrive(g, g.lanes, 0, true)
}

// ExpectTx expects bytes more of the current phase for each of the agent's threads (cuda::device::barrier_expect_tx,
// mbarrier.expect_tx). It arrives for nobody.
func (b *Barrier) ExpectTx(a Agent, bytes int) {
	g, m := b.begin(a, "ExpectTx")
	m.expect(g, g.each(bytes))
}

// CompleteTx books bytes off the current phase, as a copy that brings them does, for each of
// the agent's threads (mbarrier.complete_tx).
func (b *Barrier) CompleteTx(a Agent, bytes int) {
	g, m := b.begin(a, "CompleteTx")
	now := g.reach(m.cta)
	m.landed(&now, g.each(bytes))
}

// Wait waits until the phase of the token is over (wait of libcu++, mbarrier.try_wait). It
// is a fault if the token is of an earlier phase than the one before, or of another barrier.
func (b *Barrier) Wait(a Agent, t Token) {
	g, m := b.local(a, "Wait")
	m.wait(g, func() bool { return m.b.TestWait(t) })
}

// ArriveAndWait arrives and waits for the phase to end.
func (b *Barrier) ArriveAndWait(a Agent) {
	g, m := b.local(a, "ArriveAndWait")
	if !m.arriveAndWait(g) {
		g.run.block()
	}
}

// WaitParity waits until the phase of that parity is over (wait_parity of libcu++,
// mbarrier.try_wait.parity). On a fresh barrier, in phase 0, parity 1 passes at once, and
// parity 0 waits.
func (b *Barrier) WaitParity(a Agent, parity int) {
	g, m := b.local(a, "WaitParity")
	m.wait(g, func() bool { return m.b.TestWaitParity(uint32(parity)) })
}

// TestWait reports whether the phase of the token is over (mbarrier.test_wait). It does not wait;
// but 10,000 tries in half a second, or 850 in six, in which the agent has neither arrived nor issued a copy and no
// phase has ended, are taken for a loop that goes on until it is true. So are under Check, where time
// is no measure, 10,000 of a CTA's agents together, 1,000 of each at least.
func (b *Barrier) TestWait(a Agent, t Token) bool {
	g, m := b.local(a, "TestWait")
	return m.try(g, func() bool { return m.b.TestWait(t) }, 0, toTest)
}

// TestWaitParity reports whether the phase of that parity is over.
func (b *Barrier) TestWaitParity(a Agent, parity int) bool {
	g, m := b.local(a, "TestWaitParity")
	return m.try(g, func() bool { return m.b.TestWaitParity(uint32(parity)) }, 0, toTest)
}

// TryWait is TestWait, but may wait for a moment (try_wait of libcu++,
// mbarrier.try_wait): a loop that tries until it is true deadlocks as a wait does. 1,000 tries
// in 80 ms, or 85 in a second, are taken for one, or 1,000 under Check, as those of TestWait are.
func (b *Barrier) TryWait(a Agent, t Token) bool {
	g, m := b.local(a, "TryWait")
	return m.try(g, func() bool { return m.b.TestWait(t) }, 0, toTry)
}

// TryWaitParity is TestWaitParity, but may wait for a moment.
func (b *Barrier) TryWaitParity(a Agent, parity int) bool {
	g, m := b.local(a, "TryWaitParity")
	return m.try(g, func() bool { return m.b.TestWaitParity(uint32(parity)) }, 0, toTry)
}

// TryWaitFor waits until the phase of the token is over, but no longer than d, and reports
// whether it is (try_wait_for of libcu++). Under Check d is over when nobody else can go on. More
// than three tries that take half a second, or 1,000 under Check, are taken for a wait without end.
func (b *Barrier) TryWaitFor(a Agent, t Token, d time.Duration) bool {
	g, m := b.local(a, "TryWaitFor")
	return m.try(g, func() bool { return m.b.TestWait(t) }, d, toTryIn)
}

// TryWaitParityFor is TryWaitFor for the phase of that parity (try_wait_parity_for of libcu++).
func (b *Barrier) TryWaitParityFor(a Agent, parity int, d time.Duration) bool {
	g, m := b.local(a, "TryWaitParityFor")
	return m.try(g, func() bool { return m.b.TestWaitParity(uint32(parity)) }, d, toTryIn)
}
