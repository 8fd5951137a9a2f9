package sm

import "slices"

// Under Check what comes before what is judged by what the program orders, not by the moment at which things happened,
// with vector clocks (Lamport, Fidge, Mattern). A component of them counts what is done one after the other: the
// accesses of an agent, the phases of an mbarrier that copies complete, a thread's bulk groups that have read their
// sources, its groups of cp.async, and a warpgroup's of wgmma. Who knows a component up to a count comes after all that
// it counted.
//
// Beside it goes a second clock, of what of that a fence.proxy.async has come after: PTX 8.9, proxy-preserved base
// causality order.

// A vector is a clock, by component of the agent's cluster, and what is known of others. It does not change once others
// have it; nil is that of who knows nothing.
type vector struct {
	at     []uint32
	abroad *abroad
}

func (v *vector) of(component uint32) uint32 {
	if v == nil || int(component) >= len(v.at) {
		return 0
	}
	return v.at[component]
}

// join returns a vector of all that two know, one of them if that is it.
func join(v, w *vector) *vector {
	switch {
	case v == w || w == nil:
		return v
	case v == nil:
		return w
	}
	if len(v.at) < len(w.at) {
		v, w = w, v
	}
	known := v.abroad.join(w.abroad)
	less, more := known != v.abroad, len(v.at) > len(w.at) || known != w.abroad // v than w
	for i, n := range w.at {
		less = less || v.at[i] < n
		more = more || v.at[i] > n
	}
	switch {
	case !less:
		return v
	case !more:
		return w
	}
	both := &vector{slices.Clone(v.at), known}
	for i, n := range w.at {
		both.at[i] = max(both.at[i], n)
	}
	return both
}

// A history is what the agent of a goroutine knows. What it has done itself, and waited for, it alone counts.
type history struct {
	order        *order
	seen, fenced *vector
	own          []count  // first of its accesses, then of groups
	dirty        bool     // it has accessed something since own[0] was raised
	trails       [2]trail // in shared memory, and in global
}

// A trail is an agent's last events in a shadow.
type trail struct {
	recent   [4]uint32 // by the numbers that they had
	numbered int       // when the shadow had numbered them so often
	atomic   judged
}

// A count is a component of who counts it: how much is over, and of that how much is fenced.
type count struct{ component, over, fenced uint32 }

// begin has c be known to have begun by its own agents, and returns what those know. Of others they have to be told.
func (o *order) begin(c *cta) *vector {
	if o == nil {
		return nil
	}
	c.known = o.component()
	var known tally
	known.set(c.known, 1)
	return known.vector()
}

// newHistory returns what an agent knows that is about to start.
func (o *order) newHistory(begun *vector) *history {
	return &history{order: o, seen: begun, own: []count{{component: o.component()}}}
}

// met reports whether the agent knows that c has begun.
func (h *history) met(c *cta) bool {
	if h == nil {
		return true
	}
	return c.known > 0 && h.told(c.known, 1)
}

// now returns the number of the accesses that the agent makes until it tells somebody of them.
func (h *history) now() uint32 { return h.own[0].over + 1 }

// close has accesses that come from here on be later than those before.
func (h *history) close() {
	if h.dirty {
		h.own[0].over++
		h.dirty = false
	}
}

// group returns the agent's count of groups that is kept at c, which is 0 as long as there is none.
func (h *history) group(c *uint32) *count {
	if *c == 0 {
		*c = h.order.component()
	}
	return h.of(*c)
}

// of returns the agent's count of a component that it counts, from here on if it has not before.
func (h *history) of(component uint32) *count {
	i := slices.IndexFunc(h.own, func(own count) bool { return own.component == component })
	if i < 0 {
		i = len(h.own)
		h.own = append(h.own, count{component: component})
	}
	return &h.own[i]
}

// knows reports whether a component is known up to a count, and whether a proxy fence came after.
func (h *history) knows(component, n uint32) (known, fenced bool) {
	known, fenced = h.seen.of(component) >= n, h.fenced.of(component) >= n
	for i, own := range h.own {
		if own.component == component { // of which others may know that it is fenced, too
			known, fenced = known || i == 0 || own.over >= n, fenced || own.fenced >= n
		}
	}
	return known, fenced
}

// told reports whether a component is known up to a count.
func (h *history) told(component, n uint32) bool {
	known, _ := h.knows(component, n)
	return known
}

// over reports whether an event is known to be over, and whether a proxy fence came after.
func (h *history) over(e *event) (known, fenced bool) {
	if e.in == 0 || e.in == h.order.cluster {
		return h.knows(e.component, e.count)
	}
	return h.seen.ofOther(e.in, e.component) >= e.count, h.fenced.ofOther(e.in, e.component) >= e.count
}

// after reports whether the agent knows that an event is over.
func (h *history) after(e *event) bool {
	known, _ := h.over(e)
	return known
}

// begun reports whether the agent knows that an event has begun.
func (h *history) begun(e *event) bool {
	return h.after(&event{in: e.in, component: e.issuer, count: e.issued})
}

// knowsAll reports whether all is known that a tally counts.
func (h *history) knowsAll(t *tally) bool {
	for component, n := range t.at {
		if !h.told(uint32(component), n) {
			return false
		}
	}
	return true
}

// fence is fence.proxy.async.
func (h *history) fence() {
	if h == nil {
		return
	}
	h.close()
	h.fenced = h.seen
	for i := range h.own {
		h.own[i].fenced = h.own[i].over
	}
}

// A meeting is what agents tell each other at a barrier, or by another object that synchronizes them: what those know
// who have come to its current phase, and who had come to the one before. Without Check they have no history, and it
// does nothing.
type meeting struct {
	coming    [2]tally // seen and fenced
	over      [2]*vector
	arrivals  int
	remembers bool // in a phase what it knew in those before

	in, out [2]*vector // what over has been joined with last, and what came of it
}

// A tally is a vector that grows.
type tally struct {
	at     []uint32
	abroad *abroad
	last   *vector // that has been added
}

// vector returns what is not to grow any more, nil if it is nothing.
func (t *tally) vector() *vector {
	if t.at == nil && t.abroad == nil {
		return nil
	}
	return &vector{t.at, t.abroad}
}

func (t *tally) of(component uint32) uint32 { return (&vector{at: t.at}).of(component) }

func (t *tally) add(v *vector) {
	if v == nil || v == t.last {
		return
	}
	t.last = v
	t.abroad = t.abroad.join(v.abroad)
	t.reach(len(v.at) - 1)
	for i, n := range v.at {
		t.at[i] = max(t.at[i], n)
	}
}

func (t *tally) set(component, n uint32) {
	t.reach(int(component))
	t.at[component] = max(t.at[component], n)
}

func (t *tally) reach(component int) {
	if n := component + 1 - len(t.at); n > 0 {
		t.at = append(t.at, make([]uint32, n)...)
	}
}

// arrive adds what an agent knows to the current phase (a release).
func (m *meeting) arrive(h *history) {
	if h == nil {
		return
	}
	h.close()
	m.begin()
	m.coming[0].add(h.seen)
	m.coming[1].add(h.fenced)
	for _, own := range h.own {
		m.coming[0].set(own.component, own.over)
		if own.fenced > 0 {
			m.coming[1].set(own.component, own.fenced)
		}
	}
}

// begin is before something is added.
func (m *meeting) begin() {
	if m.arrivals++; m.arrivals == 1 && m.remembers {
		m.coming[0].add(m.over[0])
		m.coming[1].add(m.over[1])
	}
}

// complete ends the phase.
func (m *meeting) complete() {
	if m.arrivals == 0 {
		return
	}
	for i := range m.coming {
		m.over[i] = m.coming[i].vector()
	}
	m.coming, m.arrivals = [2]tally{}, 0
	m.in, m.out = [2]*vector{}, [2]*vector{}
}

// tell adds what the last phase knows to what an agent does (an acquire). Many that come know the same, and then do so
// again: in one vector.
func (m *meeting) tell(h *history) {
	if h == nil {
		return
	}
	for i, v := range []**vector{&h.seen, &h.fenced} {
		if m.out[i] == nil || m.in[i] != *v {
			m.in[i], m.out[i] = *v, join(*v, m.over[i])
		}
		*v = m.out[i]
	}
}

// exchange is a phase of the agent's own, which those before come to as well.
func (m *meeting) exchange(h *history) {
	if h == nil {
		return
	}
	h.close()
	if m.knows(h) && h.seen == m.over[0] && h.fenced == m.over[1] {
		return // it is in a loop
	}
	m.remembers = true
	m.arrive(h)
	m.complete()
	m.tell(h)
}

// knows reports whether the last phase knows all that the agent counts.
func (m *meeting) knows(h *history) bool {
	return !slices.ContainsFunc(h.own, func(own count) bool {
		return m.over[0].of(own.component) < own.over || m.over[1].of(own.component) < own.fenced
	})
}
