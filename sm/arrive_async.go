package sm

import "slices"

// ArriveAsync is cp.async.mbarrier.arrive, by each of the agent's threads: the current phase is not over before the
// agent's copies are that complete nothing else ([MemcpyAsync] with a nil to), of those issued until then, committed
// or not. What their end arrives for is added to the pending count before (PTX 9.7.13.15, cp.async.mbarrier.arrive):
// it arrives for nobody that Init counts. The barrier is one of the agent's CTA.
func (b *Barrier) ArriveAsync(a Agent) {
	g, m := b.local(a, "ArriveAsync")
	g.lane().arriveAsync(m, 0)
}

// ArriveAsyncNoInc is cp.async.mbarrier.arrive.noinc (cpasync_barrier_arrive_noinc of CUTLASS): it arrives once for
// each of the agent's threads when those copies are over, and does not wait. Init counts these arrivals.
func (b *Barrier) ArriveAsyncNoInc(a Agent) {
	g, m := b.local(a, "ArriveAsyncNoInc")
	g.lane().arriveAsync(m, g.lanes)
}

// An arrival is what the end of copies does, at the barrier of a copyOp of no bytes.
type arrival struct {
	n      int      // arrivals that the barrier counts; 0 is of one that has been added
	after  []copyOp // that have not landed when it is issued
	groups groups   // of these, and of those before
}

func (t *Thread) arriveAsync(m *mbar, n int) {
	t.asyncs.close()
	if len(t.loose) > t.covered {
		m.load(&t.agent)
	}
	landed := slices.IndexFunc(t.loose, func(c copyOp) bool { return !c.Done() })
	if landed < 0 {
		landed = len(t.loose)
	}
	t.forget(landed)
	t.covered = len(t.loose)
	if n == 0 {
		m.hold(&t.agent)
	}
	t.arriving(m)
	t.issuing.arrival = &arrival{n, slices.Clone(t.loose), t.asyncs}
	t.check(t.bulk.CopyAsync(t.cta.shared(), 0, nil, m.b))
}

// hold has the phase not end before a byte that the end of copies completes. PTX counts an arrival: which of the
// two it is nobody sees, as it cannot be missing for long.
func (m *mbar) hold(a *agent) {
	m.mu.Lock()
	defer m.unlock(a)
	m.b.ExpectTx(1)
}

// arrive lands what the arrival comes after, and arrives.
func (c *copyOp) arrive() {
	for _, before := range c.arrival.after {
		before.Finish()
	}
	m := c.bar
	m.mu.Lock()
	defer m.unlock(nil)
	m.learn(&c.now)
	if g := &c.arrival.groups; g.component > 0 {
		m.told.begin()
		m.told.coming[0].set(g.component, g.closed)
	}
	if n := c.arrival.n; n > 0 {
		m.b.ArriveN(n)
		m.arrived = c.by
	} else {
		m.b.CompleteTx(1)
	}
	m.advance()
}

// deliver has the arrivals come that are still under way when c ends: nobody has waited for them, or they came after
// nothing.
func (s *scheduler) deliver(c *cta) {
	if s == nil {
		return
	}
	for _, f := range s.copies {
		if f.arrival != nil && f.cta == c {
			f.step()
		}
	}
	s.settle()
}
