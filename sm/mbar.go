package sm

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/internal/race"
)

// mbar is an mbarrier and those who wait for it. The state machine is package barrier's.
type mbar struct {
	cta       *cta
	decl      *declaration
	suffix    string // of the name, behind that of the variable
	index, of int    // among those that were declared together

	mu       sync.Mutex // held by every operation, copies' included
	b        *barrier.Barrier
	phase    uint64 // completed
	dropped  bool   // by the last who took part
	leaving  int    // threads that drop out as soon as this phase is over
	waiters  queue  // for the current phase
	released queue  // for one that has ended: they are woken at the end of the operation that has ended it
	clock    clock  // released by who has arrived or landed
	told     meeting
	copies   uint32  // the component of those that complete bytes, if there are any
	done     uint32  // phases that it counts
	seen     []event // under Check, the waits that have seen the last of them end
	made     event   // the same of the last Init or Invalidate

	// Of the current phase, for reports:
	expected int // bytes
	expects  []expectation
	arrived  mark

	// Loads complete the phases up to loads-1; waits have observed those up to observed-1.
	loads, observed uint64
	loaded          mark
}

// name returns what the kernel calls the barrier, such as full[2].
func (m *mbar) name() string {
	name := m.decl.name() + m.suffix
	if m.of == 1 && m.suffix == "" {
		return name
	}
	return fmt.Sprintf("%s[%d]", name, m.index)
}

// nameFor is name with the CTA, if it is not that of a, nil if that is a copy.
func (m *mbar) nameFor(a *agent) string {
	if m.cta.alone() || a != nil && a.cta == m.cta {
		return m.name()
	}
	return fmt.Sprintf("%s of CTA %v", m.name(), m.cta.idx)
}

// A misuse is a use of the barrier that PTX leaves undefined.
type misuse struct {
	of string // the barrier and its phase
	*barrier.Misuse
}

// unlock ends an operation of a, nil if it is a copy's, and names the barrier in what the state machine complains of.
func (m *mbar) unlock(a *agent) {
	v := recover()
	of := ""
	if _, ok := v.(*barrier.Misuse); ok {
		of = m.status(a)
	}
	over := m.released.take()
	m.mu.Unlock()
	over.wake(0)
	switch v := v.(type) {
	case nil:
	case *barrier.Misuse:
		if a != nil && a.run.stranger() {
			a.run.recovered(misuse{of, v}, false)
			a.run.unwind()
		}
		panic(misuse{of, v})
	default:
		panic(v)
	}
}

// status names the barrier, its phase, and who arrived last, for a, nil if it is a copy.
func (m *mbar) status(a *agent) string {
	if !m.b.State().Live {
		return m.nameFor(a)
	}
	return fmt.Sprintf("%s phase %d (last arrived: %v)", m.nameFor(a), m.phase, m.arrived)
}

// arrive is every arrival: bytes are expected first.
func (m *mbar) arrive(a *agent, n, bytes int, drop bool) Token {
	now := a.reach(m.cta)
	m.mu.Lock()
	defer m.unlock(a)
	return m.add(a, &now, n, bytes, drop)
}

// arriveAndWait arrives for a. If the phase is not over then, it puts a on the list of those who wait.
func (m *mbar) arriveAndWait(a *agent) (over bool) {
	now := a.reach(m.cta)
	m.mu.Lock()
	defer m.unlock(a)
	if over = m.b.TestWait(m.add(a, &now, a.lanes, 0, false)); over {
		m.observe(a.run)
	} else {
		m.enqueue(a.run)
	}
	return over
}

// add adds arrivals of a, which knows now.
func (m *mbar) add(a *agent, now *clock, n, bytes int, drop bool) (t Token) {
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
	m.learn(now)
	m.told.arrive(a.run.history)
	m.arrived = a.deed()
	m.noteExpected(m.arrived.site, bytes)
	m.advance()
	if a.cta != m.cta {
		return Token{}
	}
	return t
}

// learn adds what those know who come to the barrier, if there is another CTA to tell.
func (m *mbar) learn(now *clock) {
	if !m.cta.alone() {
		m.clock.join(now)
	}
}

// expect expects bytes of the current phase, and arrives for nobody.
func (m *mbar) expect(a *agent, bytes int) {
	now := a.reach(m.cta)
	m.mu.Lock()
	defer m.unlock(a)
	m.b.ExpectTx(bytes)
	m.learn(&now)
	m.noteExpected(a.deed().site, bytes)
	m.advance()
}

// An expectation is how many bytes a line of the kernel has expected.
type expectation struct {
	at    site
	bytes int
}

// noteExpected keeps where bytes have been expected.
func (m *mbar) noteExpected(at site, bytes int) {
	if bytes <= 0 {
		return
	}
	m.expected += bytes
	i := slices.IndexFunc(m.expects, func(e expectation) bool { return e.at == at })
	if i < 0 {
		i = len(m.expects)
		m.expects = append(m.expects, expectation{at: at})
	}
	m.expects[i].bytes += bytes
}

// balance says what has been expected, and what copies have brought if tx bytes of it are missing.
func (m *mbar) balance(tx int) string {
	var lines []string
	bytes := map[string]int{} // by line: one that has been inlined is several sites
	for _, e := range m.expects {
		line := e.at.String()
		if bytes[line] == 0 {
			lines = append(lines, line)
		}
		bytes[line] += e.bytes
	}
	text := fmt.Sprintf("expected %d", m.expected)
	if len(lines) == 1 {
		text += " at " + lines[0]
	} else {
		for i, line := range lines {
			text += fmt.Sprintf("%c %d at %s", ":,"[min(i, 1)], bytes[line], line)
		}
	}
	return fmt.Sprintf("%s, copies brought %d", text, m.expected-tx)
}

// quit arrives n times at a phase and drops out of those after it. If the phase before is
// not over, in which a has arrived already, it does so when that is.
func (m *mbar) quit(a *agent, phase uint64, n int) {
	m.mu.Lock()
	defer m.unlock(a)
	m.told.arrive(a.run.history)
	if phase > m.phase {
		m.leaving += n
		return
	}
	m.arrived = a.mark()
	m.drop(n)
}

// drop drops n out of the current phase, unless they are the last: then there will be no
// other phase, and who still waits for the one before may do so.
func (m *mbar) drop(n int) {
	if m.b.State().Expected > n {
		m.b.ArriveDropN(n)
		m.advance()
	}
}

// load notes that a load which a issues completes bytes of the phase that is current then.
func (m *mbar) load(a *agent) {
	m.mu.Lock()
	defer m.unlock(a)
	if s := m.b.State(); !s.Live {
		a.fail(RuleBarrier, "%s: %v", m.nameFor(a), s.Dead)
	}
	m.loads, m.loaded = m.phase+1, a.mark()
}

// landed books bytes off that have been brought by who knew now when it set about it.
func (m *mbar) landed(now *clock, bytes int) {
	m.mu.Lock()
	defer m.unlock(nil)
	m.learn(now)
	m.b.CompleteTx(bytes)
	m.advance()
}

// advance follows the state machine: a phase that has completed lets its waiters go on.
// The caller holds mu, and has done one thing that may complete a phase.
func (m *mbar) advance() {
	s := m.b.State()
	if s.Live && uint64(s.Phase) == m.phase%8 || !s.Live && (s.Dead != barrier.RuleDropped || m.dropped) {
		return
	}
	m.phase++
	m.endPhase()
	m.dropped = !s.Live
	m.expected, m.expects = 0, m.expects[:0]
	m.cta.cluster.progressed()
	if s.Live && m.waiters.first != nil {
		m.b.TestWaitParity(uint32(m.phase - 1)) // what they have seen, for the build tag invariants
	}
	for r := m.waiters.first; r != nil; r = r.next {
		if m.observe(r); r.history == nil {
			break // what one of them knows is known to their CTA
		}
	}
	if m.waiters.n > 0 {
		m.released = m.waiters.release()
	}
	if n := m.leaving; n > 0 {
		m.leaving = 0
		m.drop(n)
	}
}

// wait waits until over, which looks at the state, says so.
func (m *mbar) wait(a *agent, over func() bool) {
	if !m.test(a, over, true) {
		a.run.block()
	}
}

// test reports whether over says so. If not, it may put a on the list of those who wait; and
// the race detector is not to believe that whoever has the lock next comes after a.
func (m *mbar) test(a *agent, over func() bool, queue bool) bool {
	hidden := false
	defer func() {
		if hidden {
			race.Show()
		}
	}()
	race.Hide() // its compare-and-swap, which releases
	m.mu.Lock()
	race.Show()
	race.Acquire(unsafe.Pointer(&m.mu))
	defer m.unlock(a)
	if over() {
		m.observe(a.run)
		return true
	}
	if queue {
		m.enqueue(a.run)
	}
	race.Hide()
	hidden = true
	return false
}

// enqueue has r wait for the end of the current phase. The race detector, for which agents hide what orders them, sees
// none of it.
//
//go:norace
func (m *mbar) enqueue(r *runner) { m.waiters.push(r, m, m.phase) }

// unqueue takes r off the list, and reports whether it was there.
func (m *mbar) unqueue(r *runner) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiters.remove(r)
}

// exit checks what the end of the barrier's CTA leaves undone.
func (m *mbar) exit() {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.loaded
	if m.loads > m.observed {
		m.cta.blame(last.site, RuleExit,
			"the load by %v completes %s phase %d, which nobody has seen complete: it may still be on its way",
			last, m.name(), m.loads-1)
	}
	if tx := m.b.State().Tx; tx < 0 && m.loads > 0 {
		m.cta.blame(last.site, RuleBytes,
			"%s phase %d: %d bytes too many (%s; the last is that of %v)", m.name(), m.phase, -tx, m.balance(tx), last)
	}
}

// missing says what a phase lacks.
func (m *mbar) missing(phase uint64) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.b.State()
	text := fmt.Sprintf("%s phase %d: ", m.name(), phase)
	if !s.Live {
		return text + s.String()
	}
	if s.Pending == 0 {
		text += "0 arrivals missing"
	} else {
		text += fmt.Sprintf("%d of %d arrivals missing (last arrived: %v)", s.Pending, s.Expected, m.arrived)
		if s.Tx == 0 {
			return text
		}
	}
	bytes, are := s.Tx, "missing"
	if s.Tx < 0 {
		bytes, are = -s.Tx, "too many"
	}
	return text + fmt.Sprintf(", %d bytes %s (%s)", bytes, are, m.balance(s.Tx))
}
