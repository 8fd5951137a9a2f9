package sm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// agent returns the handle that r acts by.
func (r *runner) agent() *agent {
	switch {
	case r.by != nil:
		return r.by
	case r.self != nil: // that has done nothing yet
		return r.self
	}
	return r.cta.body
}

// deadlock stops the launch: nobody in the cluster can go on, and no copy is under way.
func (c *cluster) deadlock() {
	c.mu.Lock()
	var waiting []*runner
	for r := range c.runners {
		if r.self != nil && r.waits != nil {
			waiting = append(waiting, r)
		}
	}
	c.mu.Unlock()
	if len(waiting) == 0 { // all have ended
		return
	}
	slices.SortFunc(waiting, func(a, b *runner) int {
		return cmp.Or(cmp.Compare(a.cta.rank, b.cta.rank), cmp.Compare(a.self.rank, b.self.rank))
	})
	agents := int64(0)
	for _, cta := range c.ctas {
		agents += cta.agents
	}
	detail := fmt.Sprintf("all %d agents wait", len(waiting))
	if ended := int(agents) - len(waiting); ended > 0 {
		detail = fmt.Sprintf("%d of %d agents wait, the others have ended", len(waiting), agents)
	}
	first := waiting[0]
	first.stop(first.self, &Fault{Rule: RuleDeadlock, Detail: detail, Waits: report(waiting)})
}

// report describes what runners, sorted, wait for: neighbours that wait for the same at the
// same place together.
func report(waiting []*runner) (waits []Wait) {
	for len(waiting) > 0 {
		r, n := waiting[0], 1
		for n < len(waiting) && r.sameWait(waiting[n]) && waiting[n].agent().follows(waiting[n-1].agent()) {
			n++
		}
		a, verb := r.agent(), "waits"
		agents := a.String()
		if n > 1 {
			agents, verb = fmt.Sprintf("%ss %d-%d", a.kind, a.number(), waiting[n-1].agent().number()), "wait"
		}
		waits = append(waits, Wait{
			CTA: r.cta.idx, Agents: agents, Site: r.site.String(), For: verb + " for " + r.waits.missing(r.target),
		})
		waiting = waiting[n:]
	}
	return waits
}

// follows reports whether a's threads come after b's.
func (a *agent) follows(b *agent) bool { return a.rank == b.rank+b.lanes }

func (r *runner) sameWait(o *runner) bool {
	return r.cta == o.cta && r.agent().kind == o.agent().kind &&
		r.waits == o.waits && r.target == o.target && r.site == o.site
}

// missing says whose arrivals a phase of barrier.cluster lacks.
func (b *clusterBarrier) missing(phase uint64) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var gone []string
	for _, c := range b.cluster.ctas {
		c.alive.mu.Lock()
		if c.alive.exited {
			gone = append(gone, c.idx.String())
		}
		c.alive.mu.Unlock()
	}
	text := fmt.Sprintf("barrier.cluster phase %d: %d of %d threads missing", phase, b.threads()-b.arrived, b.threads())
	if len(gone) > 0 {
		text += "; exited: CTA " + strings.Join(gone, ", ")
	}
	return text
}
