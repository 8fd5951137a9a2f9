package sm

import (
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// An area is memory that a copy reads or writes: n bytes or, with a box, of shared memory those that a store of it to
// coord reads or, without coord, that a load of it from origin writes, and of global memory those of the box at coord.
type area struct {
	*memory
	at, n         int
	box           *tile.TensorMap
	coord, origin []int32
	how           manner
}

// spans calls f for the ranges of the area.
func (r *area) spans(f func(lo, hi int)) {
	switch {
	case r.box == nil:
		f(r.at, r.at+r.n)
	case r.cta == nil:
		r.box.GlobalSpans(r.coord, r.how&writes != 0, func(b []byte) {
			at := addressOf(b)
			f(at, at+len(b))
		})
	default:
		r.box.Spans(r.at, r.coord, f)
	}
}

// groups are the bulk groups of a thread, those of its cp.async, or those of a warpgroup's instructions.
type groups struct {
	component uint32 // that counts those that are over, if anybody has asked
	closed    uint32 // by a commit
}

func (g *groups) close() { g.closed++ }

// next has e be an event of the group that is closed next.
func (g *groups) next(h *history, e *event) {
	e.of, e.component, e.count = g, h.group(&g.component).component, g.closed+1
}

// wait notes that all but n of them are over.
func (g *groups) wait(h *history, n int) {
	if g.component > 0 && int(g.closed) > n {
		c := h.group(&g.component)
		c.over = max(c.over, g.closed-uint32(n))
	}
}

// orders judges what a copy reads and writes that t issues.
func (t *Thread) orders(c *copyOp) {
	h := t.run.history
	if h == nil {
		return
	}
	e := event{mark: c.by, op: c.op}
	switch m := c.bar; {
	case m != nil:
		e.component, e.count = m.end(h.order)
		e.bar, e.phase = m, m.phase
	case c.Grouped():
		t.bulks.next(h, &e)
		e.manner = sourced
	default:
		t.asyncs.next(h, &e)
	}
	if r := &c.from; r.seen() {
		e := e
		e.manner |= r.how
		number := r.shadow().note(h, e)
		r.spans(func(lo, hi int) { t.access(r.memory, lo, hi-lo, number) })
	}
	if r := &c.into; r.seen() {
		e.manner = writes | r.how
		switch {
		case r.cta == nil:
			t.written.next(h, &e)
			e.manner |= stored
		case r.box != nil && r.box.BoxRank() > 1:
			e.layout = layout{r.box.Swizzle(), r.box, r.at, r.origin[0]}
		}
		s := r.shadow()
		number := s.note(h, e)
		c.event = s.events[number]
		r.spans(func(lo, hi int) { t.access(r.memory, lo, hi-lo, number) })
	}
	if c.bar != nil {
		c.bar.told.arrive(h) // whoever is told of the copy is told of what its source comes after
	}
}

// lands is before bytes of the copy complete the current phase of its barrier. If that is a later one than when it was
// issued the bytes are among those of the later, and who has read them because the phase before was over has done so
// too early.
func (c *copyOp) lands() {
	e := c.event
	if e == nil || c.bar.done < e.count {
		return
	}
	s, r := c.into.shadow(), &c.into
	e.count, e.phase, e.late = c.bar.done+1, c.bar.phase, true
	r.spans(func(lo, hi int) {
		cells, _ := r.cellsOf(lo, hi-lo)
		for i, x := range cells {
			if readers := uint32(x >> toReader); s.events[uint32(x)] == e && readers != nobody {
				by, _ := s.split(readers)
				who := s.events[by]
				who.fails(RuleRace, "%s: not ordered after the %s by %v%s",
					r.memory.where(who.agent, lo+i, lo+i+1), e.op, e.mark, e.lacks(who.agent))
				return
			}
		}
	})
}

// reads judges what an instruction reads that w issues.
func (w *Warpgroup) reads(op wgmma.Op, a wgmma.Operand, b wgmma.Descriptor) {
	h := w.run.history
	if h == nil {
		return
	}
	e := event{mark: w.mark(), op: w.run.op, manner: products}
	w.mmas.next(h, &e)
	size := op.Kind.ElementSize()
	if a, ok := a.(wgmma.Descriptor); ok {
		w.operandAt(operand{"A", "row", a, wgmma.Major(op.TransposeA), size, wgmma.RowBytes / size, wgmma.M}, e)
	}
	w.operandAt(operand{"B", "column", b, wgmma.Major(op.TransposeB), size, op.ColumnBytes() / size, op.N}, e)
}
