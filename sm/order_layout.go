package sm

import (
	"fmt"

	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// A layout is that of bytes: of a box that a tensor load has brought, where to and from which column, or of an operand,
// which has no box but the swizzle of its descriptor. Of bytes that come otherwise nothing is known.
type layout struct {
	tile.Swizzle
	box    *tile.TensorMap
	at     int
	column int32
}

// rows reports whether what lies one row of the box further is one row of a matrix further. A box of 16 bytes without a
// swizzle is a column of core matrices if the rows come from different places; else somebody has arranged them before.
func (l *layout) rows() bool {
	if l.box == nil {
		return false
	}
	shared, global := l.box.Step(1)
	return l.Swizzle != tile.SwizzleNone || shared == chunk && global > chunk
}

// dense reports whether the rows of the box lie side by side in global memory too. They may then be those of several
// matrices, one behind the other, or eight by eight those of anything: somebody has arranged them before.
func (l *layout) dense() bool {
	shared, global := l.box.Step(1)
	return global <= int64(shared)
}

// overlaps reports whether two boxes have not been there at the same time.
func (l *layout) overlaps(m *layout) bool {
	return l.at < m.at+m.box.SharedBytes() && m.at < l.at+l.box.SharedBytes()
}

// steps reports whether n bytes are a step in one of the dimensions of the box behind its rows, or as a window moves
// that leaves some out several; but those of eight rows, which any offset is a number of, count one by one.
func (l *layout) steps(n int) bool {
	for d := 2; d < l.box.BoxRank(); d++ {
		shared, _ := l.box.Step(d)
		if n == shared || shared > 8*max(l.Swizzle.Span(), chunk) && n > 0 && n%shared == 0 {
			return true
		}
	}
	return false
}

// An operand is what a descriptor says of one: n rows of A or columns of B, of k elements of size bytes.
type operand struct {
	name, unit string
	wgmma.Descriptor
	major wgmma.Major
	size  int
	k, n  int
}

// chunk is the bytes of an operand that lie together in any layout.
const chunk = 16

// A spot is that of a chunk of an operand: the event that has written it, and its address before the swizzle.
type spot struct {
	by uint32
	at int
}

// operandAt judges what an instruction reads of an operand: whether it may, and whether neighbours in the operand are
// neighbours in the boxes that tensor loads have brought. In the operand, line i is at j bytes what is i rows of a box
// and j bytes from the first: a row or column, or of a transposed operand one k.
func (w *Warpgroup) operandAt(x operand, e event) {
	e.layout.Swizzle = x.Swizzle
	number := w.run.history.order.note(w.run.history, e)
	lines, bytes, span := x.n, x.k*x.size, x.span()
	if x.major == wgmma.MNMajorLayout {
		lines, bytes = x.k, x.n*x.size
	}
	var box, first spot // of line 0: where the last box begins, and the last chunk
	for j := 0; j < bytes; j += chunk {
		var last spot
		for i := range lines {
			r, k := i, j/x.size
			if x.major == wgmma.MNMajorLayout {
				r, k = k, r
			}
			address := x.Address(x.major, x.size, r, k)
			w.access(&w.cta.memory, address, chunk, number)
			next := spot{uint32(w.cta.cells[address]), x.Swizzle.Apply(address)}
			switch {
			case i == 0 && j == 0:
			case i == 0 && j%span == 0:
				w.follows(&x, box, next, i, j)
			case i == 0:
				w.follows(&x, first, next, i, j)
			case next.by != last.by || next.at != last.at+span:
				w.follows(&x, last, next, i, j)
			}
			if last = next; i == 0 {
				if first = next; j%span == 0 {
					box = next
				}
			}
		}
	}
}

// follows judges whether the chunk of line i at j bytes lies behind another as in the operand: the one of the line
// before or, in line 0, the one before or that at which the box before begins.
func (w *Warpgroup) follows(x *operand, last, next spot, i, j int) {
	events := w.run.history.order.events
	a, b := &events[last.by].layout, &events[next.by].layout
	same := last.by == next.by
	if !a.rows() || !b.rows() || !same && a.overlaps(b) {
		return
	}
	span, step := x.span(), next.at-last.at
	ok := false
	switch {
	case i > 0 && same:
		// Or eight rows of a window, and then its next.
		ok = step == span || i%8 == 0 && (a.steps(step+7*span) || a.dense() && step%(8*span) == span)
	case i > 0 && a.box.BoxRank() == 2 && b.box.BoxRank() == 2: // the first row of a box comes behind the last
		size := a.box.SharedBytes()
		ok = last.at-a.at >= size-span && next.at-b.at < span
		same := a.box.SameTensor(b.box)
		like := same && a.column == b.column
		if begins := size/span - i; begins%8 > 0 && same { // in this row: maybe that is a step of K too far
			ok = ok && like
		}
		// Or the rows of a window, and then the like of its next, which another load has brought.
		from, to := last.at-a.at-7*span, next.at-b.at
		ok = ok || like && i%8 == 0 && (to == from || a.dense() && (to-from)%(8*span) == 0)
	case i > 0:
		ok = true
	case j%span > 0:
		ok = step == chunk && next.at%span > 0
	case same:
		ok = a.steps(step) || a.dense() && step%span == 0
	default: // which boxes of other sizes need not be
		ok = next.at-b.at == last.at-a.at || a.box.SharedBytes() != b.box.SharedBytes() ||
			a.dense() && max(step, -step) < a.box.SharedBytes() && step%span == 0
	}
	if !ok {
		w.misplaced(x, last, next, i, j)
	}
}

// misplaced is for a chunk that does not lie as follows has it.
func (w *Warpgroup) misplaced(x *operand, last, next spot, i, j int) {
	events, span := w.run.history.order.events, x.span()
	a, b := events[last.by], events[next.by]
	row := func(s spot, e *event) string {
		at := s.at - e.layout.at
		return fmt.Sprintf("row %d, byte %d", at/span, at%span)
	}
	other := ""
	if a != b {
		other = fmt.Sprintf(" of that by %v", a.mark)
	}
	li, lj, says := i, j-chunk, fmt.Sprintf("a row of a box has %d bytes", span)
	switch {
	case i > 0:
		li, lj = i-1, j
		says = fmt.Sprintf("%s %d and BaseOffset 0 have the rows of a box in order", x.field(true), 8*span)
		if a != b {
			says += ", and then those of one with the same columns"
		}
	case j%span == 0:
		lj, says = j-span, fmt.Sprintf("%s is to be the distance of boxes", x.field(false))
		if a != b {
			says += fmt.Sprintf(", of these %d", b.layout.at-a.layout.at)
		} else if a.layout.box.BoxRank() > 2 {
			n, _ := a.layout.box.Step(2)
			says += fmt.Sprintf(", in this one %d", n)
		}
	}
	at := x.Swizzle.Apply(next.at)
	w.fail(RuleLayout, "%s: with %+v %s of %s is %s of the box of the %s by %v, and %s is %s%s: %s",
		w.cta.where(&w.agent, at, at+chunk), x.Descriptor, x.index(i, j), x.name, row(next, b), b.op, b.mark,
		x.index(li, lj), row(last, a), other, says)
}

// span returns the bytes of a row of the operand, or of its boxes.
func (x *operand) span() int { return max(x.Swizzle.Span(), chunk) }

// field returns the field of the descriptor that says where the ninth line is, or the next box.
func (x *operand) field(line bool) string {
	if line != (x.major == wgmma.MNMajorLayout && x.Swizzle == tile.SwizzleNone) {
		return "SBO"
	}
	return "LBO"
}

// index returns what line i of the operand has at j bytes.
func (x *operand) index(i, j int) string {
	r, k := i, j/x.size
	if x.major == wgmma.MNMajorLayout {
		r, k = k, r
	}
	return fmt.Sprintf("(%s %d, k %d)", x.unit, r, k)
}
