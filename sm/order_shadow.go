package sm

import "slices"

// A manner is how shared memory is accessed.
type manner uint8

const (
	writes   manner = 1 << iota // else it reads
	combines                    // it is a reduction or an atomic, which those of others do not disturb
	generic                     // in the generic proxy, that of loads and stores
	sourced                     // it is the source of a bulk store
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

// together reports whether two accesses are of those that do not disturb each other (PTX 8.7.1, morally strong):
// reductions, or atomics of one size.
func together(e, f manner) bool { return e&f&combines != 0 && (e^f)&(generic|wide) == 0 }

// An event is an access of shared memory, or some by one agent between two that synchronize it.
type event struct {
	mark
	op               string
	manner           manner
	component, count uint32  // whoever knows of so many comes after it is over
	issuer, issued   uint32  // the same of when it began, if it is asynchronous
	bar              *mbar   // that its end completes, nil if none
	phase            uint64  // of it
	late             bool    // bytes of it have come after the phase that was current when it was issued
	of               *groups // that it is one of, nil if none
	layout           layout  // of a box that it loads, or an operand that it reads
}

// An order is what a cluster knows of the order of what its agents do. Under Check one of them runs at a time.
type order struct {
	ctas       []*cta
	components uint32
	events     []*event
	readers    []reader
	limit      int              // of events and readers, at which they are numbered anew
	numbered   int              // how often they have been
	added      [64]added        // the readers that were added last
	slots      []*TMADescriptor // that agents of the cluster have changed in place
}

// A reader is one of several that a byte has had since it was written: the last, and those before.
type reader struct {
	event, before uint32
	n             int  // of them
	combined      bool // one is a reduction
}

// An added is where a reader is.
type added struct{ event, before, at uint32 }

// A cell is what is known of a byte of shared memory: the event that has written it last, and above that the one that
// has read it since, or with the highest bit set the readers. Reductions are among these: several may combine something
// with what was written.
type cell uint64

const (
	nobody   = 0 // the event of what has not been written
	untold   = 1 // that of what may have been, without anybody being told
	several  = 1 << 31
	toReader = 32
)

func newOrder(ctas []*cta) *order {
	return &order{ctas: ctas, events: []*event{nobody: {}, untold: {}}, readers: make([]reader, 1), limit: fewEvents}
}

func (o *order) component() uint32 {
	o.components++
	return o.components
}

// event returns what h's agent does, which is over then, as an event.
func (h *history) event(by mark, op string) event {
	h.dirty = true
	own := h.own[0].component
	return event{mark: by, op: op, component: own, count: h.now(), issuer: own, issued: h.now()}
}

// event returns the operation that the agent is at as one.
func (a *agent) event() event { return a.run.history.event(a.mark(), a.run.op) }

// note returns the number of an access that h's agent is about to make, which is over then.
func (h *history) note(by mark, op string, how manner) uint32 {
	e := h.event(by, op)
	e.manner = how
	return h.order.note(h, e)
}

// note returns the number of an event of h's agent, who is about to access memory.
func (o *order) note(h *history, e event) uint32 {
	e.issuer, e.issued = h.own[0].component, h.now()
	h.dirty = true
	if h.numbered == o.numbered && e.bar == nil { // copies land each for itself
		for _, i := range h.recent {
			if i > 0 && *o.events[i] == e {
				return i
			}
		}
	}
	if len(o.events)+len(o.readers) >= o.limit {
		o.renumber()
	}
	if h.numbered != o.numbered {
		h.numbered, h.recent, h.atomic = o.numbered, [len(h.recent)]uint32{}, judged{}
	}
	kept, i := new(event), uint32(len(o.events)) // not &e, which would move to the heap each time
	*kept = e
	o.events = append(o.events, kept)
	copy(h.recent[1:], h.recent[:])
	h.recent[0] = i
	return i
}

// fewEvents is how many there are before those are looked for that no byte knows any more, each time that they have
// doubled.
var fewEvents = 1 << 14

// renumber forgets the events that no byte knows.
func (o *order) renumber() {
	events, readers := o.events, o.readers
	eventAt, readersAt := make([]uint32, len(events)), make([]uint32, len(readers))
	o.events, o.readers, o.added = slices.Clone(events[:untold+1]), make([]reader, 1), [len(o.added)]added{}
	event := func(i uint32) uint32 {
		if i <= untold {
			return i
		}
		if eventAt[i] == 0 {
			eventAt[i] = uint32(len(o.events))
			o.events = append(o.events, events[i])
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
			readersAt[i] = several | uint32(len(o.readers))
			o.readers = append(o.readers, r)
		}
		return readersAt[i]
	}
	for _, c := range o.ctas {
		for i, x := range c.cells {
			c.cells[i] = cell(event(uint32(x))) | cell(those(uint32(x>>toReader)))<<toReader
		}
	}
	o.numbered++
	o.limit = max(fewEvents, 2*(len(o.events)+len(o.readers)))
}

// cellsOf returns the cells of n bytes of c's shared memory.
func (c *cta) cellsOf(at, n int) []cell {
	if have := len(c.cells); at+n > have {
		c.cells = slices.Grow(c.cells, max(at+n, c.used)-have)[:max(at+n, c.used)]
		clear(c.cells[have:])
	}
	return c.cells[at : at+n]
}

// bare has n bytes of c's shared memory be such as somebody may have written without anybody being told.
func (c *cta) bare(at, n int) {
	if c == nil || c.cluster.order == nil { // a zero Array has none
		return
	}
	cells := c.cellsOf(at, n)
	for i, x := range cells {
		if x == nobody {
			cells[i] = untold
		}
	}
}

// A judged is an atomic that is among the readers of what an event has written at an address. Its event says of how
// many bytes.
type judged struct {
	cta           *cta
	at            int
	writer, event uint32
}

// access judges an access of n bytes of c's shared memory that a is about to make or to issue.
func (a *agent) access(c *cta, at, n int, number uint32) {
	o, h := c.cluster.order, a.run.history
	cells := c.cellsOf(at, n)
	if o.events[number].manner&combines != 0 {
		atomic := judged{c, at, uint32(cells[0]), number}
		if atomic == h.atomic { // a in a loop, whom others have since been judged against
			return
		}
		h.atomic = atomic
	}
	var was, now cell // of the byte before
	for i, x := range cells {
		if i == 0 || x != was {
			was = x
			if disorder, with := o.judge(h, x, number); disorder > fine {
				end := i + 1
				for end < n && cells[end] == x {
					end++
				}
				a.disordered(disorder, c, at+i, at+end, number, with)
			}
			now = o.after(h, x, number)
		}
		cells[i] = now
	}
}

// judge says whether the access of a byte that h's agent begins comes after those before that it must come after, and
// if not which.
func (o *order) judge(h *history, x cell, number uint32) (disorder, uint32) {
	e, last := o.events[number], uint32(x)
	w, readers := o.events[last], uint32(x>>toReader)
	if last == nobody && e.manner&(writes|combines) != writes && e.manner&sets == 0 {
		return fine, nobody // as far as is known: somebody may yet write it
	}
	known, fenced := h.knows(w.component, w.count)
	switch {
	case !known && !together(e.manner, w.manner):
		return unordered, last
	case !fenced && e.manner&(generic|writes) == 0 && w.manner&generic != 0:
		return unfenced, last
	case e.manner&products != 0 && w.layout.box != nil && w.layout.Swizzle != e.layout.Swizzle:
		return misread, last
	case e.manner&writes == 0 && !o.combined(readers):
		return fine, nobody
	}
	for readers != nobody {
		var by uint32
		by, readers = o.split(readers)
		r := o.events[by]
		switch known, fenced := h.knows(r.component, r.count); {
		case (e.manner|r.manner)&writes == 0:
		case together(e.manner, r.manner):
			if last == nobody {
				return unwritten, by
			}
		case !known:
			return unordered, by
		case last == nobody:
			return unwritten, by
		case !fenced && e.manner&(generic|writes) == 0 && r.manner&generic != 0:
			return unfenced, by
		}
	}
	return fine, nobody
}

// split returns the last reader of a byte, and those before.
func (o *order) split(readers uint32) (last, before uint32) {
	if readers&several == 0 {
		return readers, nobody
	}
	r := &o.readers[readers&^several]
	return r.event, r.before
}

// after returns what a cell is after an access.
func (o *order) after(h *history, x cell, number uint32) cell {
	e, last := o.events[number], uint32(x)
	if e.manner&(writes|combines) == writes || e.manner&sets != 0 && last == nobody {
		return cell(number)
	}
	return cell(last) | cell(o.read(h, uint32(x>>toReader), number))<<toReader
}

// combined reports whether one of the readers is a reduction.
func (o *order) combined(readers uint32) bool {
	if readers&several != 0 {
		return o.readers[readers&^several].combined
	}
	return o.events[readers].manner&combines != 0
}

// read adds an event to the readers of a byte. Who comes after it comes after those that it comes after: these go, if
// they are in the way of the same, reads of reductions or the other way round.
func (o *order) read(h *history, readers, number uint32) uint32 {
	if readers == nobody {
		return number
	}
	last, before := o.split(readers)
	if last == number {
		return readers
	}
	n := 1
	if readers&several != 0 {
		n = o.readers[readers&^several].n
	}
	if o.superseded(h, last, number) && o.all(h, before, number) {
		return number
	}
	if n >= fewReaders && n&(n-1) == 0 {
		readers, n = o.prune(h, readers, number)
	}
	return o.add(readers, number, n+1)
}

// fewReaders is how many a byte has before it is looked for those that others supersede, each time that they have
// doubled.
const fewReaders = 16

func (o *order) superseded(h *history, last, number uint32) bool {
	r := o.events[last]
	return h.after(r) && o.events[number].manner.kind() == r.manner.kind()
}

// all reports whether number supersedes all of the readers.
func (o *order) all(h *history, readers, number uint32) bool {
	for last := uint32(0); readers != nobody; {
		if last, readers = o.split(readers); !o.superseded(h, last, number) {
			return false
		}
	}
	return true
}

// add returns the readers with one more.
func (o *order) add(readers, number uint32, n int) uint32 {
	if readers == nobody {
		return number
	}
	known := &o.added[(readers*31+number)%uint32(len(o.added))]
	if known.event != number || known.before != readers {
		*known = added{number, readers, uint32(len(o.readers))}
		combined := o.combined(readers) || o.events[number].manner&combines != 0
		o.readers = append(o.readers, reader{number, readers, n, combined})
	}
	return several | known.at
}

// prune returns the readers without those that number supersedes, or a later one of them that is counted alike.
func (o *order) prune(h *history, readers, number uint32) (pruned uint32, n int) {
	var keep []uint32
	latest := map[uint32]bool{}
	for last := uint32(0); readers != nobody; {
		last, readers = o.split(readers)
		r := o.events[last]
		if o.superseded(h, last, number) || r.manner&combines == 0 && latest[r.component] {
			continue
		}
		latest[r.component] = r.manner&combines == 0
		keep = append(keep, last)
	}
	for i, last := range slices.Backward(keep) {
		pruned = o.add(pruned, last, len(keep)-i)
	}
	return pruned, len(keep)
}
