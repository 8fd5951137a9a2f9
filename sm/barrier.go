package sm

import (
	"fmt"
	"sync"
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

// mbar is an mbarrier and those who wait for it. The state machine is package barrier's.
type mbar struct {
	cta       *cta
	decl      *declaration
	suffix    string // of the name, behind that of the variable
	index, of int    // among those that were declared together

	mu      sync.Mutex
	b       *barrier.Barrier
	phase   uint64 // completed
	waiters []*runner
	clock   clock // released by who has arrived or landed

	// Of the current phase, for reports:
	expected int // bytes
	expects  mark
	arrived  mark

	// Loads complete the phases up to loads-1; waits have observed those up to observed-1.
	loads, observed uint64
	loaded          mark
}

// A mark says who did something last, and where.
type mark struct {
	agent *agent
	site  site
}

func (a *agent) mark() mark { return mark{a, a.run.site} }

func (k mark) String() string {
	if k.agent == nil {
		return "nobody"
	}
	return fmt.Sprintf("%s at %v", k.agent, k.site)
}

// begin begins an operation on the barrier.
func (b *Barrier) begin(a Agent, op string) (*agent, *mbar) {
	g := a.base()
	g.enterFrom(op, 1)
	return g, b.of(g)
}

// local begins an operation that only agents of the barrier's CTA have.
func (b *Barrier) local(a Agent, op string) (*agent, *mbar) {
	g := a.base()
	g.enterFrom(op, 1)
	m := b.of(g)
	if m.cta != g.cta {
		g.fail(RuleBarrier, "%s is a barrier of CTA %v: at another CTA's one may arrive, and expect or complete bytes", m.name(), m.cta.idx)
	}
	return g, m
}

// of returns the mbarrier that a means.
func (b *Barrier) of(a *agent) *mbar {
	if b == nil || b.cta == nil {
		a.fail(RuleBarrier, "the barrier is nil; Block.Barriers makes them")
	}
	if b.m != nil {
		return b.m
	}
	m := b.cta.barrier(b.at)
	if m == nil {
		a.fail(RuleBarrier, "CTA %v has not declared barrier %d: cluster.sync comes before it is used", b.cta.idx, b.at)
	}
	return m
}

// name returns what the kernel calls the barrier, such as full[2].
func (m *mbar) name() string {
	name := m.decl.name() + m.suffix
	if m.of == 1 && m.suffix == "" {
		return name
	}
	return fmt.Sprintf("%s[%d]", name, m.index)
}

// MapShared returns the barrier of the cluster's CTA of that rank that has this one's
// address (cluster.map_shared_rank). It panics if the cluster has no such CTA.
func (b *Barrier) MapShared(rank int) *Barrier {
	return &Barrier{cta: b.cta.peer(rank), at: b.at}
}

// Init makes the barrier one that expects n arrivals a phase, 1 to 2^20-1 (init of
// libcu++, mbarrier.init). Others must learn of it before they use it: SyncThreads.
func (b *Barrier) Init(a Agent, n int) {
	g, m := b.local(a, "Init")
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.b.Init(n); err != nil {
		g.failWith(err, RuleBarrier, "%s: %v", m.name(), err)
	}
	m.phase, m.expected, m.expects, m.arrived = 0, 0, mark{}, mark{}
	m.loads, m.observed = 0, 0
}

// Invalidate ends the barrier's life (mbarrier.inval, ~barrier of libcu++).
func (b *Barrier) Invalidate(a Agent) {
	g, m := b.local(a, "Invalidate")
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.waiters); n > 0 {
		g.fail(RuleBarrier, "%s: %d agents wait for it", m.name(), n)
	}
	if m.loads > m.observed {
		g.fail(RuleExit, "%s: the load by %v has not been waited for", m.name(), m.loaded)
	}
	m.b.Invalidate()
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
	return m.arrive(g, g.lanes*n, 0, false)
}

// ArriveTx expects bytes more of the phase, and arrives n times for each of the agent's
// threads (cuda::device::barrier_arrive_tx, mbarrier.arrive.expect_tx).
func (b *Barrier) ArriveTx(a Agent, n, bytes int) Token {
	g, m := b.begin(a, "ArriveTx")
	return m.arrive(g, g.lanes*n, bytes, false)
}

// ArriveAndDrop arrives, and lowers the arrivals that later phases expect by as many
// (arrive_and_drop of libcu++, mbarrier.arrive_drop).
func (b *Barrier) ArriveAndDrop(a Agent) {
	g, m := b.begin(a, "ArriveAndDrop")
	m.arrive(g, g.lanes, 0, true)
}

// arrive is every arrival: bytes are expected first.
func (m *mbar) arrive(a *agent, n, bytes int, drop bool) (t Token) {
	now := a.reach(m.cta)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock.join(&now)
	m.arrived = a.mark()
	if bytes > 0 {
		m.expected += bytes
		m.expects = m.arrived
	}
	switch {
	case drop:
		t = m.b.ArriveDropN(n)
	case bytes != 0 && n == 1:
		t = m.b.ArriveExpectTx(bytes)
	default:
		if bytes != 0 {
			m.b.ExpectTx(bytes)
		}
		t = m.b.ArriveN(n)
	}
	m.advance()
	if a.cta != m.cta {
		return Token{}
	}
	return t
}

// ExpectTx expects bytes more of the current phase (cuda::device::barrier_expect_tx,
// mbarrier.expect_tx). It arrives for nobody.
func (b *Barrier) ExpectTx(a Agent, bytes int) {
	g, m := b.begin(a, "ExpectTx")
	m.expect(g, bytes)
}

func (m *mbar) expect(a *agent, bytes int) {
	now := a.reach(m.cta)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock.join(&now)
	m.expected += bytes
	m.expects = a.mark()
	m.b.ExpectTx(bytes)
	m.advance()
}

// CompleteTx books bytes off the current phase, as a copy that brings them does
// (mbarrier.complete_tx).
func (b *Barrier) CompleteTx(a Agent, bytes int) {
	g, m := b.begin(a, "CompleteTx")
	now := g.reach(m.cta)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock.join(&now)
	m.b.CompleteTx(bytes)
	m.advance()
}

// load notes that a load which a issues completes bytes of the phase that is current then.
func (m *mbar) load(a *agent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.b.State().Live {
		a.fail(RuleBarrier, "%s: %v", m.name(), m.b.State())
	}
	m.loads, m.loaded = m.phase+1, a.mark()
}

// landed tells those who wait that bytes of a copy have been completed. now is what the
// copy's CTA knew when it was issued.
func (m *mbar) landed(now *clock) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock.join(now)
	m.advance()
}

// advance follows the state machine: phases that have completed let their waiters go on.
// The caller holds mu. A phase needs an arrival, which holds mu, so it is at most one.
func (m *mbar) advance() {
	s := m.b.State()
	if s.Live && uint64(s.Phase) == m.phase%8 || !s.Live && s.Dead != barrier.RuleDropped {
		return
	}
	m.phase++
	m.expected = 0
	m.cta.cluster.progress.Add(1)
	waiting := m.waiters[:0]
	for _, r := range m.waiters {
		if r.target >= m.phase {
			waiting = append(waiting, r)
			continue
		}
		m.observe(r.cta)
		r.ready()
	}
	m.waiters = waiting
}

// observe notes that an agent of c knows the last completed phase to be over.
func (m *mbar) observe(c *cta) {
	m.observed = m.phase
	c.acquire(&m.clock)
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
	t := m.arrive(g, g.lanes, 0, false)
	m.wait(g, func() bool { return m.b.TestWait(t) })
}

// WaitParity waits until the phase of that parity is over (wait_parity of libcu++,
// mbarrier.try_wait.parity). On a fresh barrier, in phase 0, parity 1 passes at once, and
// parity 0 waits.
func (b *Barrier) WaitParity(a Agent, parity int) {
	g, m := b.local(a, "WaitParity")
	m.wait(g, func() bool { return m.b.TestWaitParity(uint32(parity)) })
}

// wait waits until over, which looks at the state, says so.
func (m *mbar) wait(a *agent, over func() bool) {
	m.mu.Lock()
	if m.test(a, over) {
		m.mu.Unlock()
		return
	}
	m.queue(a.run)
	m.mu.Unlock()
	a.run.block()
}

// test calls over, which may panic, with mu held.
func (m *mbar) test(a *agent, over func() bool) (done bool) {
	safe := false
	defer func() {
		if !safe {
			m.mu.Unlock()
		}
	}()
	if done = over(); done {
		m.observe(a.cta)
	}
	safe = true
	return done
}

func (m *mbar) queue(r *runner) {
	r.waits, r.target = m, m.phase
	m.waiters = append(m.waiters, r)
}

// unqueue takes r off the list, and reports whether it was there.
func (m *mbar) unqueue(r *runner) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, w := range m.waiters {
		if w == r {
			m.waiters = append(m.waiters[:i], m.waiters[i+1:]...)
			return true
		}
	}
	return false
}

// TestWait reports whether the phase of the token is over (mbarrier.test_wait).
func (b *Barrier) TestWait(a Agent, t Token) bool {
	g, m := b.local(a, "TestWait")
	return m.try(g, func() bool { return m.b.TestWait(t) }, 0)
}

// TestWaitParity reports whether the phase of that parity is over.
func (b *Barrier) TestWaitParity(a Agent, parity int) bool {
	g, m := b.local(a, "TestWaitParity")
	return m.try(g, func() bool { return m.b.TestWaitParity(uint32(parity)) }, 0)
}

// TryWait is TestWait, but may wait for a moment (try_wait of libcu++,
// mbarrier.try_wait): a loop that tries until it is true deadlocks as a wait does.
func (b *Barrier) TryWait(a Agent, t Token) bool {
	g, m := b.local(a, "TryWait")
	return m.try(g, func() bool { return m.b.TestWait(t) }, 0)
}

// TryWaitParity is TestWaitParity, but may wait for a moment.
func (b *Barrier) TryWaitParity(a Agent, parity int) bool {
	g, m := b.local(a, "TryWaitParity")
	return m.try(g, func() bool { return m.b.TestWaitParity(uint32(parity)) }, 0)
}

// TryWaitFor waits until the phase of the token is over, but no longer than d, and reports
// whether it is (try_wait_for of libcu++). Under Check d is over when nobody else can go on.
func (b *Barrier) TryWaitFor(a Agent, t Token, d time.Duration) bool {
	g, m := b.local(a, "TryWaitFor")
	return m.try(g, func() bool { return m.b.TestWait(t) }, d)
}

const (
	// freePolls is how many tries in a row an agent has for which nothing has changed. Those
	// after it wait, for pollPause each, as mbarrier.try_wait may: if all agents come to that,
	// it is a deadlock.
	freePolls = 100
	pollPause = 10 * time.Millisecond
)

// try reports whether over says so, within d.
func (m *mbar) try(a *agent, over func() bool, d time.Duration) bool {
	r, c := a.run, a.cta.cluster
	m.mu.Lock()
	if m.test(a, over) {
		m.mu.Unlock()
		r.polls = 0
		return true
	}
	if now := c.progress.Load(); now != r.progress {
		r.polls, r.progress = 0, now
	}
	r.polls++
	stuck := r.polls > freePolls
	if !stuck && d <= 0 {
		m.mu.Unlock()
		r.pass()
		return false
	}
	m.queue(r)
	m.mu.Unlock()
	if !r.doze(m, max(d, pollPause), stuck) {
		return false
	}
	r.polls = 0
	return true
}

// exit checks what the end of the barrier's CTA leaves undone.
func (m *mbar) exit() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.loads > m.observed {
		r := m.cta.main
		r.op, r.site = "exit", m.loaded.site
		m.cta.body.fail(RuleExit, "the load by %v completes %s phase %d, which nobody has seen complete: it may still be on its way",
			m.loaded, m.name(), m.loads-1)
	}
}

// missing says what a phase lacks.
func (m *mbar) missing(phase uint64) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.b.State()
	what := fmt.Sprintf("%s phase %d", m.name(), phase)
	switch {
	case !s.Live:
		return fmt.Sprintf("%s: %v", what, s)
	case s.Pending > 0 && s.Tx == 0:
		return fmt.Sprintf("%s: %d of %d arrivals missing (last arrived: %v)", what, s.Pending, s.Expected, m.arrived)
	}
	text := fmt.Sprintf("%s: %d arrivals missing, ", what, s.Pending)
	if s.Pending > 0 {
		text = fmt.Sprintf("%s: %d of %d arrivals missing (last arrived: %v), ", what, s.Pending, s.Expected, m.arrived)
	}
	brought := m.expected - s.Tx
	if s.Tx < 0 {
		return text + fmt.Sprintf("%d bytes too many (expected %d%s, copies brought %d)", -s.Tx, m.expected, m.expects.where(), brought)
	}
	return text + fmt.Sprintf("%d bytes missing (expected %d%s, copies brought %d)", s.Tx, m.expected, m.expects.where(), brought)
}

func (k mark) where() string {
	if k.agent == nil {
		return ""
	}
	return " at " + k.site.String()
}
