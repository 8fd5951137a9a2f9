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

// deadlock stops the launch: nobody in some clusters can go on, and no copy is under way.
func (l *launch) deadlock(clusters ...*cluster) {
	var waiting []*runner
	agents := int64(0)
	for _, c := range clusters {
		c.mu.Lock()
		for r := range c.runners {
			if r.self != nil && r.waits != nil {
				waiting = append(waiting, r)
			}
		}
		c.mu.Unlock()
		for _, cta := range c.ctas {
			agents += cta.agents
		}
	}
	if len(waiting) == 0 { // all have ended
		return
	}
	slices.SortFunc(waiting, func(a, b *runner) int {
		x, y := a.cta.idx, b.cta.idx
		return cmp.Or(cmp.Compare(x.Z, y.Z), cmp.Compare(x.Y, y.Y), cmp.Compare(x.X, y.X),
			cmp.Compare(a.self.rank, b.self.rank))
	})
	detail := fmt.Sprintf("all %d agents wait", len(waiting))
	if ended := int(agents) - len(waiting); ended > 0 {
		detail = fmt.Sprintf("%d of %d agents wait, the others have ended", len(waiting), agents)
	}
	first := waiting[0]
	first.stop(first.self, &Fault{Rule: RuleDeadlock, Detail: detail, Waits: report(waiting)})
}

// report describes what runners, sorted, wait for: those that wait for the same at the same place together, those for
// grid.sync of several CTAs.
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
	others := map[Wait]int{} // CTAs that wait for grid.sync alike
	for _, w := range order {
		verb := "waits"
		if len(alike[w]) > 1 {
			verb = "wait"
		}
		wait := Wait{CTA: w.cta.idx, Agents: called(alike[w]), Site: w.at, For: verb + " for " + w.on.missing(w.target)}
		if w.on == waitable(&w.cta.cluster.grid) {
			key := wait
			key.CTA = Dim3{}
			if others[key]++; others[key] > 1 {
				continue
			}
		}
		waits = append(waits, wait)
	}
	for i, w := range waits {
		w.CTA = Dim3{}
		if n := others[w]; n > 1 {
			waits[i].Agents += fmt.Sprintf(" and those of %d CTAs more", n-1)
		}
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
