package sm

import "slices"

// endPhase ends a phase for those who are told of it. Whoever has seen the phase before end must have done so before
// what completes this one, which is to say that those who have arrived know of it.
func (m *mbar) endPhase() {
	m.done++
	if m.copies > 0 || len(m.seen) > 0 {
		m.told.begin()
	}
	for i := range m.seen {
		if e := &m.seen[i]; m.told.coming[0].of(e.component) < e.count {
			e.fails(RulePhase, "%s phase %d: those who complete the phase after it (last: %v) do not know that %v has seen "+
				"it end: a moment later it would wait for another", m.nameFor(e.agent), e.phase, m.arrived, e.agent.inCluster())
			break
		}
	}
	m.seen = m.seen[:0]
	if m.copies > 0 {
		m.told.coming[0].set(m.copies, m.done)
	}
	m.told.complete()
}

// observe notes that r knows the last completed phase to be over.
func (m *mbar) observe(r *runner) {
	m.observed = m.phase
	r.cta.acquire(&m.clock)
	h := r.history
	if m.told.tell(h); h == nil || m.phase == 0 {
		return
	}
	if len(m.seen) == cap(m.seen) {
		m.seen = latest(m.seen)
	}
	e := h.event(mark{r.agent(), r.site}, r.op)
	e.phase = m.phase - 1
	m.seen = append(m.seen, e)
}

// latest returns the last wait of each agent, with room for as many more: who knows of it knows of those before.
func latest(seen []event) []event {
	var kept []event
	has := map[uint32]bool{}
	for _, e := range slices.Backward(seen) {
		if !has[e.component] {
			has[e.component] = true
			kept = append(kept, e)
		}
	}
	slices.Reverse(kept)
	return slices.Grow(kept, len(kept)+1)
}
