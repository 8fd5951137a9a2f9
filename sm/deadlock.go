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

// report describes what runners, sorted, wait for: those that wait for the same at the same place together.
func report(waiting []*runner) (waits []Wait) {
	type wait struct {
		cta    *cta
		kind   string
		on     waitable
		target uint64
		at     string // the line, which is several sites where it has been inlined
	}
	var order []wait
	alike := map[wait][]*runner{}
	for _, r := range waiting {
		w := wait{r.cta, r.agent().kind, r.waits, r.target, r.site.String()}
		if alike[w] == nil {
			order = append(order, w)
		}
		alike[w] = append(alike[w], r)
	}
	for _, w := range order {
		verb := "waits"
		if len(alike[w]) > 1 {
			verb = "wait"
		}
		waits = append(waits, Wait{
			CTA: w.cta.idx, Agents: called(alike[w]), Site: w.at, For: verb + " for " + w.on.missing(w.target),
		})
	}
	return waits
}

// called returns what a report calls the agents of runners, sorted and of one kind.
func called(rs []*runner) string {
	if len(rs) == 1 {
		return rs[0].agent().String()
	}
	numbers := make([]int, len(rs))
	for i, r := range rs {
		numbers[i] = r.agent().number()
	}
	return rs[0].agent().kind + "s " + ranges(numbers)
}

// ranges returns sorted numbers as "0-3, 7".
func ranges(numbers []int) string {
	var runs []string
	for i := 0; i < len(numbers); {
		first := numbers[i]
		last := first
		for i++; i < len(numbers) && numbers[i] == last+1; i++ {
			last++
		}
		if last == first {
			runs = append(runs, fmt.Sprint(first))
		} else {
			runs = append(runs, fmt.Sprintf("%d-%d", first, last))
		}
	}
	return strings.Join(runs, ", ")
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
