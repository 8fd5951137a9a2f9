package sm

import "slices"

// A manner is how memory is accessed.
type manner uint16

const (
	writes   manner = 1 << iota // else it reads
	combines                    // it is a reduction or an atomic, which those of others do not disturb
	generic                     // in the generic proxy, that of loads and stores
	sourced                     // it is the source of a bulk store
	stored                      // it is the destination of one
	products                    // of a wgmma instruction
	sets                        // it is an atomic that does not read
	wide                        // it is an atomic of 8 bytes, else of 4
	looks                       // it is an atomic that may not change anything: of the operation only
)

// kind is what accesses that read disturb alike and are disturbed by alike.
func (m manner) kind() manner {
	if m&combines == 0 {
		return m & writes
	}
	return m & (writes | combines | generic | wide)
}

// fetches reports whether it reads in the async proxy, as a reduction to global memory does.
func (m manner) fetches() bool {
	return m&(generic|writes) == 0 || m&(generic|combines|stored) == combines|stored
}

// together reports whether two accesses are of those that do not disturb each other (PTX 8.7.1, morally strong):
// reductions, or atomics of one size.
func together(e, f manner) bool { return e&f&combines != 0 && (e^f)&(generic|wide) == 0 }

// An event is an access of memory, or some by one agent between two that synchronize it.
type event struct {
	mark
	op               string
	manner           manner
	in               int     // the cluster that the components are of; of nobody's event 0
	cta              Dim3    // that it was, of who has done it
	component, count uint32  // whoever knows of so many comes after it is over
	issuer, issued   uint32  // the same of when it began, if it is asynchronous
	bar              *mbar   // that its end completes, nil if none
	phase            uint64  // of it
	late             bool    // bytes of it have come after the phase that was current when it was issued
	of               *groups // that it is one of, nil if none
	layout           layout  // of a box that it loads, or an operand that it reads
}

// An order is what a cluster knows of the order of what its agents do, in its shared memory too. Under Check one of
// them runs at a time.
type order struct {
	shadow
	cluster    int // its number in the grid, from 1 on
	ctas       []*cta
	components uint32
	slots      []*TMADescriptor // that agents of the cluster have changed in place
}

// A shadow is the events that cells of some memory know, and its readers.
type shadow struct {
	space    space
	events   []*event
	readers  []reader
	limit    int             // of events and readers, at which they are numbered anew
	numbered int             // how often they have been
	added    [64]added       // the readers that were added last
	all      func() [][]cell // that know of them
}

// A reader is one of several that a byte has had since it was written: the last, and those before.
type reader struct {
	event, before uint32
	n             int  // of them
	combined      bool // one is a reduction
}

// An added is where a reader is.
type added struct{ event, before, at uint32 }

// A cell is what is known of a byte of memory: the event that has written it last, and above that the one that
// has read it since, or with the highest bit set the readers. Reductions are among these: several may combine something
// with what was written.
type cell uint64

const (
	nobody   = 0 // the event of what has not been written
	untold   = 1 // that of what may have been, without anybody being told
	several  = 1 << 31
	toReader = 32
)

func newOrder(cluster int, ctas []*cta) *order {
	return &order{cluster: cluster, ctas: ctas, shadow: newShadow(inShared, func() (all [][]cell) {
		for _, c := range ctas {
			all = append(all, c.memory.cells)
		}
		return all
	})}
}

func newShadow(of space, all func() [][]cell) shadow {
	return shadow{
		space: of, events: []*event{nobody: {}, untold: {}}, readers: make([]reader, 1), limit: fewEvents, all: all,
	}
}

func (o *order) component() uint32 {
	o.components++
	return o.components
}

// event returns what h's agent does, which is over then, as an event.
func (h *history) event(by mark, op string) event {
	h.dirty = true
	own := h.own[0].component
	return event{mark: by, op: op, in: h.order.cluster, component: own, count: h.now(), issuer: own, issued: h.now()}
}

// event returns the operation that the agent is at as one.
func (a *agent) event() event { return a.run.history.event(a.mark(), a.run.op) }

// note returns the number of an access of m that h's agent is about to make, which is over then.
func (h *history) note(m *memory, by mark, op string, how manner) uint32 {
	e := h.event(by, op)
	e.manner = how
	return m.shadow().note(h, e)
}

// note returns the number of an event of h's agent, who is about to access memory.
func (s *shadow) note(h *history, e event) uint32 {
	e.in, e.issuer, e.issued = h.order.cluster, h.own[0].component, h.now()
	if s.space == inGlobal {
		e.cta = e.agent.cta.idx
	}
	h.dirty = true
	t := &h.trails[s.space]
	if t.numbered == s.numbered && e.bar == nil { // copies land each for itself
		for _, i := range t.recent {
			if i > 0 && *s.events[i] == e {
				return i
			}
		}
	}
	if len(s.events)+len(s.readers) >= s.limit {
		s.renumber()
	}
	if t.numbered != s.numbered {
		*t = trail{numbered: s.numbered}
	}
	kept, i := new(event), uint32(len(s.events)) // not &e, which would move to the heap each time
	*kept = e
	s.events = append(s.events, kept)
	copy(t.recent[1:], t.recent[:])
	t.recent[0] = i
	return i
}

// fewEvents is how many there are before those are looked for that no byte knows any more, each time that they have
// doubled.
var fewEvents = 1 << 14

// renumber forgets the events that no byte knows.
func (s *shadow) renumber() {
	events, readers := s.events, s.readers
	eventAt, readersAt := make([]uint32, len(events)), make([]uint32, len(readers))
	s.events, s.readers, s.added = slices.Clone(events[:untold+1]), make([]reader, 1), [len(s.added)]added{}
	event := func(i uint32) uint32 {
		if i <= untold {
			return i
		}
		if eventAt[i] == 0 {
			eventAt[i] = uint32(len(s.events))
			s.events = append(s.events, events[i])
		}
		return eventAt[i]
	}
	var those func(i uint32) uint32
	those = func(i uint32) uint32 {
		if i&several == 0 {
			return event(i)
		}
		i &^= several
		if readersAt[i] == 0 {
			r := readers[i]
			r.event, r.before = event(r.event), those(r.before)
			readersAt[i] = several | uint32(len(s.readers))
			s.readers = append(s.readers, r)
		}
		return readersAt[i]
	}
	for _, cells := range s.all() {
		for i, x := range cells {
			cells[i] = cell(event(uint32(x))) | cell(those(uint32(x>>toReader)))<<toReader
		}
	}
	s.numbered++
	s.limit = max(fewEvents, 2*(len(s.events)+len(s.readers)))
}

// A judged is an atomic that is among the readers of what an event has written at an address. Its event says of how
// many bytes.
type judged struct {
	memory        *memory
	at            int
	writer, event uint32
}

// access judges an access of n bytes of m that a is about to make or to issue.
func (a *agent) access(m *memory, at, n int, number uint32) {
	s, h := m.shadow(), a.run.history
	for end := at + n; at < end; at += n {
		var cells []cell
		if cells, n = m.cellsOf(at, end-at); cells == nil {
			continue
		}
		if s.events[number].manner&combines != 0 {
			atomic, last := judged{m, at, uint32(cells[0]), number}, &h.trails[s.space].atomic
			if atomic == *last { // a in a loop, whom others have since been judged against
				continue
			}
			*last = atomic
		}
		var was, now cell // of the byte before
		for i, x := range cells {
			if x == nobody && m.cta == nil { // of no Array
				continue
			}
			if i == 0 || x != was {
				was = x
				if disorder, with := s.judge(h, x, number); disorder > fine {
					to := i + 1
					for to < n && cells[to] == x {
						to++
					}
					a.disordered(disorder, m, at+i, at+to, number, with)
				}
				now = s.after(h, x, number)
			}
			cells[i] = now
		}
	}
}

// judge says whether the access of a byte that h's agent begins comes after those before that it must come after, and
// if not which.
func (s *shadow) judge(h *history, x cell, number uint32) (disorder, uint32) {
	e, last := s.events[number], uint32(x)
	w, readers := s.events[last], uint32(x>>toReader)
	if last == nobody && e.manner&(writes|combines) != writes && e.manner&sets == 0 {
		return fine, nobody // as far as is known: somebody may yet write it
	}
	known, fenced := h.over(w)
	switch {
	case !known && !together(e.manner, w.manner):
		return unordered, last
	case !fenced && e.manner.fetches() && w.manner&generic != 0:
		return unfenced, last
	case e.manner&products != 0 && w.layout.box != nil && w.layout.Swizzle != e.layout.Swizzle:
		return misread, last
	case e.manner&writes == 0 && !s.combined(readers):
		return fine, nobody
	}
	for readers != nobody {
		var by uint32
		by, readers = s.split(readers)
		r := s.events[by]
		switch known, fenced := h.over(r); {
		case (e.manner|r.manner)&writes == 0:
		case together(e.manner, r.manner):
			if last == nobody {
				return unwritten, by
			}
		case !known:
			return unordered, by
		case last == nobody:
			return unwritten, by
		case !fenced && e.manner.fetches() && r.manner&generic != 0 && r.manner&writes != 0:
			return unfenced, by
		}
	}
	return fine, nobody
}

// split returns the last reader of a byte, and those before.
func (s *shadow) split(readers uint32) (last, before uint32) {
	if readers&several == 0 {
		return readers, nobody
	}
	r := &s.readers[readers&^several]
	return r.event, r.before
}

// after returns what a cell is after an access.
func (s *shadow) after(h *history, x cell, number uint32) cell {
	e, last := s.events[number], uint32(x)
	if e.manner&(writes|combines) == writes || e.manner&sets != 0 && last == nobody {
		return cell(number)
	}
	return cell(last) | cell(s.read(h, uint32(x>>toReader), number))<<toReader
}

// combined reports whether one of the readers is a reduction.
func (s *shadow) combined(readers uint32) bool {
	if readers&several != 0 {
		return s.readers[readers&^several].combined
	}
	return s.events[readers].manner&combines != 0
}

// read adds an event to the readers of a byte. Who comes after it comes after those that it comes after: these go, if
// they are in the way of the same, reads of reductions or the other way round.
func (s *shadow) read(h *history, readers, number uint32) uint32 {
	if readers == nobody {
		return number
	}
	last, before := s.split(readers)
	if last == number {
		return readers
	}
	n := 1
	if readers&several != 0 {
		n = s.readers[readers&^several].n
	}
	if s.superseded(h, last, number) && s.supersedes(h, before, number) {
		return number
	}
	if n >= fewReaders && n&(n-1) == 0 {
		readers, n = s.prune(h, readers, number)
	}
	return s.add(readers, number, n+1)
}

// fewReaders is how many a byte has before it is looked for those that others supersede, each time that they have
// doubled.
const fewReaders = 16

func (s *shadow) superseded(h *history, last, number uint32) bool {
	r := s.events[last]
	return h.after(r) && s.events[number].manner.kind() == r.manner.kind()
}

// supersedes reports whether all of the readers are superseded.
func (s *shadow) supersedes(h *history, readers, number uint32) bool {
	for last := uint32(0); readers != nobody; {
		if last, readers = s.split(readers); !s.superseded(h, last, number) {
			return false
		}
	}
	return true
}

// add returns the readers with one more.
func (s *shadow) add(readers, number uint32, n int) uint32 {
	if readers == nobody {
		return number
	}
	known := &s.added[(readers*31+number)%uint32(len(s.added))]
	if known.event != number || known.before != readers {
		*known = added{number, readers, uint32(len(s.readers))}
		combined := s.combined(readers) || s.events[number].manner&combines != 0
		s.readers = append(s.readers, reader{number, readers, n, combined})
	}
	return several | known.at
}

// prune returns the readers without those that number supersedes, or a later one of them that is counted alike.
func (s *shadow) prune(h *history, readers, number uint32) (pruned uint32, n int) {
	type counted struct {
		in        int
		component uint32
		kind      manner
	}
	var keep []uint32
	latest := map[counted]uint32{} // their counts
	for last := uint32(0); readers != nobody; {
		last, readers = s.split(readers)
		r := s.events[last]
		by := counted{r.in, r.component, r.manner.kind()}
		if n, later := latest[by]; later && r.count <= n || s.superseded(h, last, number) {
			continue
		}
		latest[by] = max(latest[by], r.count)
		keep = append(keep, last)
	}
	for i, last := range slices.Backward(keep) {
		pruned = s.add(pruned, last, len(keep)-i)
	}
	return pruned, len(keep)
}
