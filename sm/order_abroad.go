package sm

import "maps"

// abroad is what agents of one cluster know of others, in clocks of those, by their numbers: what these had told by a
// ThreadFence of ScopeDevice, or came to grid.sync with. It does not change once others have it; nil is nothing.
type abroad struct{ of map[int][]uint32 }

// ofOther returns what v knows of a component of another cluster.
func (v *vector) ofOther(cluster int, component uint32) uint32 {
	if v == nil || v.abroad == nil {
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
	for cluster, at := range b.of {
		a = a.with(cluster, at)
	}
	return a
}

// with returns a with what is known of a cluster, a itself if that is nothing new.
func (a *abroad) with(cluster int, at []uint32) *abroad {
	var of map[int][]uint32
	if a != nil {
		of = a.of
	}
	was := of[cluster]
	v := join(&vector{at: was}, &vector{at: at})
	if len(v.at) == len(was) && (len(was) == 0 || &v.at[0] == &was[0]) {
		return a
	}
	if of = maps.Clone(of); of == nil {
		of = map[int][]uint32{}
	}
	of[cluster] = v.at
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
	for _, c := range l.all {
		for i := range f.known {
			if v := c.grid.told.coming[i].vector(); v != nil {
				f.known[i] = f.known[i].join(v.abroad).with(c.order.cluster, v.at)
			}
		}
	}
	for _, c := range l.all {
		for i := range f.known {
			c.grid.told.coming[i].abroad = f.known[i]
		}
	}
}
