package sm

// over ends a phase for those who are told of it. Whoever has seen the phase before end must have done so before what
// completes this one, which is to say that those who have arrived know of it.
func (m *mbar) over() {
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
	h.dirty = true
	m.seen = append(m.seen, event{
		mark: mark{r.agent(), r.site}, op: r.op, component: h.own[0].component, count: h.now(), phase: m.phase - 1,
	})
}
