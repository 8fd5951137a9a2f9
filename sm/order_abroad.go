package sm

import "slices"

// abroad is what agents of one cluster know of others, in clocks of those, by their numbers: what these had told by a
// ThreadFence of ScopeDevice, or came to grid.sync with. It does not change once others have it; nil is nothing.
type abroad struct{ of [][]uint32 }

// ofOther returns what v knows of a component of another cluster.
func (v *vector) ofOther(cluster int, component uint32) uint32 {
	if v == nil || v.abroad == nil || cluster >= len(v.abroad.of) {
		return 0
	}
	return (&vector{at: v.abroad.of[cluster]}).of(component)
}

// join returns all that two know, one of them if that is it.
func (a *abroad) join(b *abroad) *abroad {
	switch {
	case a == b || b == nil:
		return a
	case a == nil:
		return b
	}
	if len(a.of) < len(b.of) {
		a, b = b, a
	}
	less, more := false, len(a.of) > len(b.of) // a than b
	for i, at := range b.of {
		less = less || !covers(a.of[i], at)
		more = more || !covers(at, a.of[i])
	}
	switch {
	case !less:
		return a
	case !more:
		return b
	}
	both := &abroad{slices.Clone(a.of)}
	for i, at := range b.of {
		if !covers(at, both.of[i]) {
			at = join(&vector{at: both.of[i]}, &vector{at: at}).at
		}
		both.of[i] = at
	}
	return both
}

// covers reports whether one clock knows all that another does. Mostly they are the same.
func covers(a, b []uint32) bool {
	switch {
	case len(a) < len(b):
		return false
	case len(b) == 0 || &a[0] == &b[0]:
		return true
	}
	for i, n := range b {
		if a[i] < n {
			return false
		}
	}
	return true
}

// with returns a with what is known of a cluster, a itself if that is nothing new.
func (a *abroad) with(cluster int, at []uint32) *abroad {
	var of [][]uint32
	if a != nil {
		of = a.of
	}
	if cluster < len(of) && covers(of[cluster], at) {
		return a
	}
	of = append(make([][]uint32, 0, max(len(of), cluster+1)), of...)
	of = of[:cap(of)]
	of[cluster] = join(&vector{at: of[cluster]}, &vector{at: at}).at
	return &abroad{of}
}

// A forum is where clusters tell each other what they know.
type forum struct{ known [2]*abroad } // seen and fenced

// exchange has the agents of a cluster who come to m, whose last phase has what they know, tell all other clusters and
// be told by them.
func (f *forum) exchange(cluster int, m *meeting) {
	for i, v := range m.over {
		if v != nil {
			f.known[i] = f.known[i].join(v.abroad).with(cluster, v.at)
		}
		m.over[i] = join(v, &vector{abroad: f.known[i]})
	}
	m.in, m.out = [2]*vector{}, [2]*vector{}
}

// gather has all clusters that have come to grid.sync know what each of them does, before they go on.
func (l *launch) gather() {
	if !l.global.tracked.declared() {
		return
	}
	var f forum
	for i := range f.known {
		own := &abroad{make([][]uint32, l.clusters+1)}
		for _, c := range l.all {
			if v := c.grid.told.coming[i].vector(); v != nil {
				f.known[i] = f.known[i].join(v.abroad)
				own.of[c.order.cluster] = v.at
			}
		}
		f.known[i] = f.known[i].join(own)
	}
	for _, c := range l.all {
		for i := range f.known {
			c.grid.told.coming[i].abroad = f.known[i]
		}
	}
}
