package sm

import (
	"fmt"
	"slices"
)

// A disorder is what is wrong with an access.
type disorder uint8

const (
	fine disorder = iota
	unwritten
	unordered
	unfenced
	misread
)

// disordered is called for what is wrong with an access that a begins, of the bytes from to end-1 of m, after or
// because of another event.
func (a *agent) disordered(what disorder, m *memory, from, end int, number, with uint32) {
	s := m.shadow()
	switch w := s.events[with]; what {
	case unwritten:
		w.fails(RuleUnwritten, "%s%s", m.where(w.agent, from, end), unwrittenText)
		a.run.unwind()
	case unfenced:
		a.fail(RuleProxy, "%s: no fence.proxy.async comes after the %s by %v (FenceProxyAsync, by who has written or who "+
			"has been told of it)", m.where(a, from, end), w.op, w.by(a))
	case misread:
		a.fail(RuleLayout, "%s: the %s by %v has laid them out as %v, the descriptor says %v",
			m.where(a, from, end), w.op, w.mark, w.layout, s.events[number].layout)
	case unordered:
		e := s.events[number]
		if w.manner&writes == 0 && m.unwritten(from) { // it is the read that has come too early
			w.fails(RuleRace, "%s: not ordered after the %s by %v%s", m.where(w.agent, from, end), e.op, e.mark,
				e.lacks(w.agent))
			a.run.unwind()
		}
		rule := RuleRace
		if a.run.history.begun(w) {
			switch {
			case w.manner&sourced != 0:
				rule = RuleSource
			case w.manner&products != 0:
				rule = RuleWGMMA
			}
		}
		completes := ""
		if e.bar != nil {
			completes = fmt.Sprintf(", for %s phase %d", e.bar.nameFor(a), e.phase)
		}
		lacks := w.lacks(a)
		if e.manner&w.manner&combines != 0 && (e.manner^w.manner)&generic == 0 {
			lacks += "; of one size they would be atomic"
		}
		a.fail(rule, "%s%s: not ordered after the %s by %v%s", m.where(a, from, end), completes, w.op, w.by(a), lacks)
	}
}

const unwrittenText = ", which nobody has written before"

// fails stops the launch with a fault of an event that was before.
func (e *event) fails(rule Rule, format string, args ...any) {
	r := newRunner(e.agent.cta, e.agent)
	r.op, r.site = e.op, e.site
	r.stop(e.agent, &Fault{Rule: rule, Detail: fmt.Sprintf(format, args...)})
}

// checkUnwritten stops the launch if c's shared memory has been read where nobody has written it, not since either: if
// somebody does whom nothing orders it is a race.
func (c *cta) checkUnwritten() {
	for i, x := range c.cells {
		if readers := uint32(x >> toReader); uint32(x) == nobody && readers != nobody {
			o, end := c.cluster.order, i+1
			for end < len(c.cells) && c.cells[end] == x {
				end++
			}
			var first uint32
			for readers != nobody {
				first, readers = o.split(readers)
			}
			e := o.events[first]
			e.fails(RuleUnwritten, "%s%s", c.where(e.agent, i, end), unwrittenText)
			return
		}
	}
}

// by says for a who has done it, and where.
func (e *event) by(a *agent) string {
	if e.abroad(a) {
		return fmt.Sprintf("%v of CTA %v at %v", e.agent, e.cta, e.site)
	}
	return e.mark.String()
}

// abroad reports whether it has been done in another cluster than a's.
func (e *event) abroad(a *agent) bool { return e.in != 0 && e.in != a.run.history.order.cluster }

// lacks says what would tell a that the event is over.
func (e *event) lacks(a *agent) string {
	who, covers, by := a.inCluster(), "covers it", ""
	tells := "barrier (or, around a flag that is an atomic, ThreadFence on both sides)"
	if e.abroad(a) {
		who = fmt.Sprintf("%v of CTA %v", a, a.cta.idx)
		tells = "GridSync (or, around a flag that is an atomic, ThreadFence of ScopeDevice on both sides)"
		by = ", by " + tells
	}
	if e.of != nil && e.count > e.of.closed {
		covers += ", and no CommitGroup has come after it"
	}
	switch {
	case e.late:
		return fmt.Sprintf(", bytes of which come behind the phase that they were to complete, in %s phase %d: "+
			"fewer bytes were expected of it (expect_tx) than come", e.bar.nameFor(a), e.phase)
	case e.bar != nil:
		return fmt.Sprintf(", which completes %s phase %d: %s does not know that the phase is over%s",
			e.bar.nameFor(a), e.phase, who, by)
	case e.manner&sourced != 0:
		return fmt.Sprintf(": %s knows of no WaitGroupRead or WaitGroup that %s", who, covers)
	case e.manner&(products|stored) != 0:
		return fmt.Sprintf(": %s knows of no WaitGroup that %s%s", who, covers, by)
	case e.of != nil:
		return fmt.Sprintf(": %s knows of no WaitAll, WaitAsync or phase with ArriveAsync that covers it%s", who, by)
	}
	return fmt.Sprintf(": %s does not know of it, there being no %s", who, tells)
}

// where says what the kernel calls the bytes from to end-1 of m, for a.
func (m *memory) where(a *agent, from, end int) string {
	of := ""
	if m.cta != nil && a.cta != m.cta {
		of = fmt.Sprintf(" of CTA %v", m.cta.idx)
	}
	if m.cta == nil {
		for _, d := range slices.Backward(m.tracked.names) {
			if text := d.elements(from, end); text != "" {
				return text
			}
		}
	}
	for d := m.declared; d != nil; d = d.before {
		if text := d.elements(from, end); text != "" {
			return text + of
		}
	}
	return fmt.Sprintf("bytes %d to %d of shared memory%s", from, end-1, of)
}

// elements says which of the declared elements the bytes from to end-1 are, "" if they begin elsewhere.
func (d *declaration) elements(from, end int) string {
	if d.size == 0 || from < d.at || from >= d.at+d.n*d.size {
		return ""
	}
	first, last := (from-d.at)/d.size, (min(end, d.at+d.n*d.size)-1-d.at)/d.size
	return fmt.Sprintf("%s of %s", numbers(first, last), d.name())
}

// numbers says which elements are meant.
func numbers(first, last int) string {
	if first == last {
		return fmt.Sprintf("element %d", first)
	}
	return fmt.Sprintf("elements %d to %d", first, last)
}
