package sm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"example.com/leafhopper/internal/race"
)

// count adds n to those that are active, and returns how many there are. The race detector
// is not to believe that whoever is counted later comes after those before.
func (c *cluster) count(n int64) int64 {
	race.Hide()
	defer race.Show()
	c.launch.active.Add(n)
	return c.active.Add(n)
}

// progressed counts an event that may end a wait.
func (c *cluster) progressed() {
	race.Hide()
	c.progress.Add(1)
	race.Show()
}

// idle counts that a runner or a copy is active no more.
func (c *cluster) idle() {
	race.Hide()
	c.launch.settled.Add(1)
	race.Show()
	c.rest()
}

// rest is idle for a runner that dozes, and has done nothing since it looked.
func (c *cluster) rest() {
	l := c.launch
	race.Release(unsafe.Pointer(c))
	race.Release(unsafe.Pointer(l))
	if c.count(-1) == 0 && !l.stopped() {
		c.end()
	}
	l.rest()
}

// rest stops the launch if all that has begun waits, some for grid.sync.
func (l *launch) rest() {
	if l.Cooperative && !l.stopped() && l.dead() {
		race.Acquire(unsafe.Pointer(l))
		l.deadlock(l.all...)
	}
}

// deadlocked is far below what runners and copies that still come count.
const deadlocked = -1 << 40

// end stops the launch if nobody of the cluster can go on, grid.sync or not. Who dozes may go on for what another has
// changed who dozes, in any cluster.
func (c *cluster) end() {
	l := c.launch
	switch looked, doze := c.looked(); {
	case c.grid.awaited() || !looked:
	case !doze:
		if c.active.CompareAndSwap(0, deadlocked) {
			race.Acquire(unsafe.Pointer(c))
			l.deadlock(c)
		}
	case l.looked() && l.active.CompareAndSwap(0, deadlocked):
		race.Acquire(unsafe.Pointer(l))
		l.deadlock(l.all...)
	}
}

// dead reports whether nobody can go on, and some wait for grid.sync.
func (l *launch) dead() bool {
	return l.busy() == 0 &&
		slices.ContainsFunc(l.all, func(c *cluster) bool { return c.grid.awaited() }) &&
		l.looked() && l.active.CompareAndSwap(0, deadlocked)
}

// looked reports whether those that doze in all clusters have looked again.
func (l *launch) looked() bool {
	return !slices.ContainsFunc(l.all, func(c *cluster) bool { looked, _ := c.looked(); return !looked })
}

// looked reports whether those that doze, if any do, have looked again since the last of the others, in any cluster,
// has come to its end or to a wait: they may see what it has done in global memory.
func (c *cluster) looked() (looked, doze bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	race.Hide()
	defer race.Show()
	for r := range c.runners {
		if r.dozing.Load() {
			if doze = true; c.launch.active.Load() > 0 || r.looked.Load() != c.changes() {
				return false, true
			}
		}
	}
	return true, doze
}

// resume counts r, which has dozed, as active again. It does not return if a deadlock has been found.
func (c *cluster) resume(r *runner) {
	race.Hide()
	if !raise(&c.launch.active) || !raise(&c.active) {
		<-r.wake
		race.Show()
		r.unwind()
	}
	r.dozing.Store(false)
	r.looked.Store(c.changes())
	race.Show()
}

// changes counts what agents of the cluster that look again may find changed.
func (c *cluster) changes() int64 { return c.launch.settled.Load() + c.progress.Load() }

// raise counts one more that is active, unless a deadlock has been found.
func raise(active *atomic.Int64) bool {
	for {
		n := active.Load()
		if n < 0 || active.CompareAndSwap(n, n+1) {
			return n >= 0
		}
	}
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
		return cmp.Or(a.cta.idx.compare(b.cta.idx), cmp.Compare(a.self.rank, b.self.rank))
	})
	detail := fmt.Sprintf("all %d agents wait", len(waiting))
	if ended := int(agents) - len(waiting); ended > 0 {
		detail = fmt.Sprintf("%d of %d agents wait, the others have ended", len(waiting), agents)
	}
	if n := l.clusters - int(l.started.Load()); n > 0 && slices.ContainsFunc(waiting, (*runner).looks) {
		detail += fmt.Sprintf("; %d of %d clusters have yet to begin, for which Config.Resident has no room", n, l.clusters)
	}
	first := waiting[0]
	first.stop(first.self, &Fault{Rule: RuleDeadlock, Detail: detail, Waits: report(waiting)})
}

// looks reports whether r loops over an atomic.
func (r *runner) looks() bool { _, ok := r.waits.(unchanged); return ok }

// mostApart is how many CTAs that wait alike have lines of their own.
const mostApart = maxCluster

// report describes what runners, sorted, wait for: those that wait for the same at the same place together, and alike
// in several CTAs for grid.sync, or if there are many.
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
	others := map[Wait]int{} // CTAs that wait alike
	ctas := map[*cta]bool{}
	for _, r := range waiting {
		ctas[r.cta] = true
	}
	for _, w := range order {
		verb := "waits"
		if len(alike[w]) > 1 {
			verb = "wait"
		}
		wait := Wait{CTA: w.cta.idx, Agents: called(alike[w]), Site: w.at, For: verb + " for " + w.on.missing(w.target)}
		if w.on == waitable(&w.cta.cluster.grid) || len(ctas) > mostApart {
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
