package sm

import (
	"fmt"
	"slices"
)

// A slotOrder is what is known under Check of a tensor map in global memory: who has changed it last, who has released
// that, and since then acquired it and issued copies through it. Of who is in another cluster it is known only what has
// been.
type slotOrder struct {
	launch   *launch // of the last change
	in       *order
	changed  event
	released []mapFence
	acquired []mapFence
	reads    []reading

	dispute string // what was wrong with a change by a warp
	rule    Rule
}

// gone reports whether the cluster whose order it is has ended, for an agent of l.
func (o *order) gone(l *launch) bool {
	c := o.ctas[0]
	if c.launch != l {
		return c.launch.state.Load() >= stateOver
	}
	return c.cluster.order != o
}

// A mapFence is a fence of the tensormap proxy.
type mapFence struct {
	event
	cta   *cta
	in    *order
	scope Scope
}

// A reading is a copy through the map, or who has read it: over by the first of the ends that is known.
type reading struct {
	event
	in   *order
	ends []end
}

type end struct{ component, count uint32 }

// told reports whether h's agent knows of the last change.
func (s *slotOrder) told(h *history) bool {
	return s.in != h.order || h.after(&s.changed)
}

// over reports whether h's agent knows that r is.
func (r *reading) over(h *history) bool {
	return r.in != h.order || slices.ContainsFunc(r.ends, func(e end) bool { return h.told(e.component, e.count) })
}

// untold is what is wrong with who does not know of the last change.
func (s *slotOrder) untold(a *agent) string {
	return fmt.Sprintf("the tensor map in global memory: not ordered after the %s by %v%s",
		s.changed.op, s.changed.mark, s.changed.lacks(a))
}

// judge says what is wrong with a change by agents that do it together, if anything is.
func (s *slotOrder) judge(by []*runner) (Rule, string) {
	any := func(f func(h *history) bool) bool {
		return slices.ContainsFunc(by, func(r *runner) bool { return f(r.history) })
	}
	if !any(s.told) {
		return RuleRace, s.untold(by[0].agent())
	}
	for i := range s.reads {
		r := &s.reads[i]
		if any(r.over) {
			continue
		}
		rule := RuleRace
		if any(func(h *history) bool { return h.told(r.issuer, r.issued) }) {
			rule = RuleSource
		}
		return rule, fmt.Sprintf("the tensor map in global memory: the %s by %v may not have read it yet: %s knows of no "+
			"end of that (its mbarrier's phase, or WaitGroupRead behind a CommitGroup by who has issued it)",
			r.op, r.mark, by[0].agent().inCluster())
	}
	return 0, ""
}

// reads judges that a thread of the warp, or all of it, is about to copy the map of src, which each knows to be over
// when all have come.
func (w *warpSync) reads(a *agent, src *TMADescriptor) {
	h := a.run.history
	if h == nil {
		return
	}
	if w.component == 0 {
		w.component = h.order.component()
	}
	e := event{mark: a.mark(), op: a.run.op, manner: generic, component: w.component, count: w.published + 1}
	a.access(&src.cta.memory, src.offset, descriptorSize, h.order.note(h, e))
}

// publish copies a map for a warp all of whose threads have come: the agents of lanes, or one for all. What is wrong
// with it they report.
func (w *warpSync) publish(lanes []*runner, p publication) {
	first := lanes[0]
	if h := first.history; h != nil {
		p.to.mu.Lock()
		defer p.to.mu.Unlock()
		s := &p.to.order
		rule, text := s.judge(lanes)
		w.published++
		for _, r := range lanes {
			r.history.of(w.component).over = w.published
		}
		*s = slotOrder{launch: first.cta.launch, in: h.order, dispute: text, rule: rule}
		s.changed = event{mark: mark{first.by, first.site}, op: first.op, component: w.component, count: w.published}
		s.released = []mapFence{{s.changed, first.cta, h.order, p.scope}}
	}
	p.to.state.Store(p.from.state.Load())
}

// disputed reports what was wrong with a change by a's warp.
func (d *TMADescriptor) disputed(a *agent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := &d.order; s.dispute != "" {
		a.fail(s.rule, "%s", s.dispute)
	}
}

// writes judges that a changes the map.
func (d *TMADescriptor) writes(a *agent) {
	switch h := a.run.history; {
	case h == nil:
	case d.cta != nil:
		a.access(&d.cta.memory, d.offset, descriptorSize, h.note(&d.cta.memory, a.deed(), a.run.op, generic|writes))
	default:
		d.changes(a)
	}
}

// changes is writes in global memory.
func (d *TMADescriptor) changes(a *agent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if rule, text := d.order.judge([]*runner{a.run}); text != "" {
		a.fail(rule, "%s", text)
	}
	o := a.run.history.order
	d.order = slotOrder{launch: a.cta.launch, in: o, changed: a.event()}
	if !slices.Contains(o.slots, d) {
		o.slots = append(o.slots, d)
	}
}

// reads judges that a reads the map, as no copy does.
func (d *TMADescriptor) reads(a *agent) {
	switch h := a.run.history; {
	case h == nil:
	case d.cta != nil:
		a.access(&d.cta.memory, d.offset, descriptorSize, h.note(&d.cta.memory, a.mark(), a.run.op, generic))
	default:
		d.mu.Lock()
		defer d.mu.Unlock()
		if !d.order.told(h) {
			a.fail(RuleRace, "%s", d.order.untold(a))
		}
		e := a.event()
		d.order.read(a.cta.launch, reading{e, h.order, []end{{e.component, e.count}}})
	}
}

// FenceTensorMapRelease is fence.proxy.tensormap::generic.release: it releases what the agent has changed of tensor
// maps in global memory, or has been told of (PTX 9.7.13.4; tma_descriptor_fence_release). What lacks it is known under
// Check.
func (a *agent) FenceTensorMapRelease(scope Scope) {
	a.enter("FenceTensorMapRelease")
	h := a.run.history
	if h == nil {
		return
	}
	e := mapFence{a.event(), a.cta, h.order, scope}
	for _, d := range h.order.slots {
		d.mu.Lock()
		if s := &d.order; s.in == h.order && s.told(h) {
			s.released = append(s.released, e)
		}
		d.mu.Unlock()
	}
}

// FenceAcquire is fence.proxy.tensormap::generic.acquire: copies through the map by a, and by those of its CTA whom it
// tells, have what has been released before (PTX 9.7.13.4; tma_descriptor_fence_acquire). What lacks it is known under
// Check.
func (d *TMADescriptor) FenceAcquire(a Agent, scope Scope) {
	g := d.begin(a, "FenceAcquire")
	if d.cta != nil {
		g.fail(RuleMap, "%s lies in shared memory, where no copy reads a tensor map", d.name())
	}
	h := g.run.history
	if h == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := &d.order
	s.acquired = slices.DeleteFunc(s.acquired, func(f mapFence) bool { return f.in.gone(g.cta.launch) })
	if s.launch == g.cta.launch && !s.releasedTo(g, scope) ||
		slices.ContainsFunc(s.acquired, func(f mapFence) bool { return f.in == h.order && f.agent == g }) {
		return // it acquires nothing, or what it has
	}
	s.acquired = append(s.acquired, mapFence{g.event(), g.cta, h.order, scope})
}

// releasedTo reports whether a knows of a release, one whose scope and its own have both their CTAs.
func (s *slotOrder) releasedTo(a *agent, scope Scope) bool {
	h := a.run.history
	var narrow *mapFence
	for i := range s.released {
		f := &s.released[i]
		if f.in == h.order && !h.after(&f.event) {
			continue
		}
		if needs := between(f.cta, a.cta, f.in == h.order); f.scope >= needs && scope >= needs {
			return true
		}
		narrow = f
	}
	if narrow != nil {
		a.fail(RuleProxy, "the tensor map in global memory: the scope of this or of the %s by %v is too narrow for CTAs %v "+
			"and %v", narrow.op, narrow.mark, narrow.cta.idx, a.cta.idx)
	}
	return false
}

// between returns the least scope that two CTAs are in.
func between(a, b *cta, clustered bool) Scope {
	switch {
	case !clustered:
		return ScopeDevice
	case a != b:
		return ScopeCluster
	}
	return ScopeBlock
}

// uses judges a copy through the map that a is about to issue.
func (d *TMADescriptor) uses(a *agent) {
	h := a.run.history
	if h == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := &d.order
	const of = "the tensor map in global memory"
	switch {
	case !s.told(h):
		a.fail(RuleRace, "%s", s.untold(a))
	case s.launch == a.cta.launch && len(s.released) == 0:
		a.fail(RuleProxy, "%s: no fence.proxy.tensormap::generic.release comes after the %s by %v (FenceTensorMapRelease, "+
			"by who has changed it or has been told of it)", of, s.changed.op, s.changed.mark)
	case !slices.ContainsFunc(s.acquired, func(f mapFence) bool {
		return f.cta == a.cta && f.in == h.order && h.after(&f.event)
	}):
		since := "in this CTA"
		if s.launch == a.cta.launch {
			since = fmt.Sprintf("after the %s by %v", s.changed.op, s.changed.mark)
		}
		a.fail(RuleProxy, "%s: no fence.proxy.tensormap::generic.acquire comes %s (FenceAcquire, by who has been told of "+
			"the release, and issues the copy or tells who does)", of, since)
	}
}

// read notes a reading, in l. It stands for those before that end no later.
func (s *slotOrder) read(l *launch, r reading) {
	s.reads = slices.DeleteFunc(s.reads, func(q reading) bool {
		return q.in.gone(l) || q.in == r.in && slices.EqualFunc(q.ends, r.ends, func(a, b end) bool {
			return a.component == b.component && a.count <= b.count
		})
	})
	s.reads = append(s.reads, r)
}

// reads notes that t is about to issue a copy through m. It has read the map when the current phase of any of the
// barriers is over, or the bulk group that t commits next, which says that of loads as well (PTX 9.7.9.27,
// cp.async.bulk.tensor: completion mechanisms; tma_desc_commit_group, tma_desc_wait_group).
func (t *Thread) reads(m TensorMap, bars ...*mbar) {
	h := t.run.history
	d, ok := m.(*TMADescriptor)
	if h == nil || !ok {
		return
	}
	e := t.event()
	var of event
	t.bulks.next(h, &of)
	ends := []end{{of.component, of.count}}
	for _, b := range bars {
		component, count := b.end(h.order)
		ends = append(ends, end{component, count})
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.order.read(t.cta.launch, reading{e, h.order, ends})
}

// end returns what counts the end of copies that complete bytes in the current phase.
func (m *mbar) end(o *order) (component, count uint32) {
	if m.copies == 0 {
		m.copies = o.component()
	}
	return m.copies, m.done + 1
}
