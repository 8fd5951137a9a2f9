package tile

import (
	"math/rand/v2"
	"runtime"
	"slices"

	"example.com/leafhopper/barrier"
)

// A Transfer is a copy that a [Thread] has issued. It lands in pieces: the source is read
// at some moment, and then each piece writes its part of a destination and, if the copy
// completes a barrier, completes its bytes there.
//
// Its methods are for who decides when that happens, the Execute of a Thread or the
// Thread itself. They are for one goroutine at a time.
type Transfer struct {
	// Complete, if not nil, completes the bytes of a piece that has landed, in place of the
	// barrier's CompleteTx.
	Complete func(bar *barrier.Barrier, bytes int)

	source []byte        // an operand in shared memory that is read in place, unless fetch has it
	lead   int           // bytes before the box, from a multiple of the swizzle's period; not touched
	fetch  func() []byte // nil if source is the operand
	put    func(dst, staged []byte, lo, hi int)
	whole  func() // writes all destinations from the source, without a copy; nil if put does

	unit   int // bytes of a unit; a piece is a range of them
	pieces []piece
	staged []byte
	read   bool
	group  bool
	waited bool // a wait has promised that the source is free
}

// A piece is a range of units for one receiver.
type piece struct {
	receiver
	lo, hi int
}

// A receiver is a destination, and the barrier that its bytes complete or nil.
type receiver struct {
	mem []byte
	bar *barrier.Barrier
}

// newTransfer returns the copy of n units to each of the receivers.
func newTransfer(n, unit int, to []receiver) *Transfer {
	t := &Transfer{unit: unit, pieces: make([]piece, len(to))}
	for i, r := range to {
		t.pieces[i] = piece{r, 0, n}
	}
	return t
}

// Grouped reports whether the transfer belongs to a bulk group: then waits for the group
// see to it at the latest. Nobody sees to one that completes a barrier but Execute.
func (t *Transfer) Grouped() bool { return t.group }

// Empty reports whether there was nothing to copy.
func (t *Transfer) Empty() bool {
	return !slices.ContainsFunc(t.pieces, func(p piece) bool { return p.lo < p.hi })
}

// Done reports whether everything has landed.
func (t *Transfer) Done() bool { return len(t.pieces) == 0 }

// Split makes the pieces of those that have not landed, and an order of them, a matter of
// chance. A transfer of a group stays whole.
func (t *Transfer) Split(r *rand.Rand) {
	var split []piece
	for _, p := range t.pieces {
		for lo := p.lo; lo < p.hi || p.lo == p.hi; {
			hi := lo + 1 + r.IntN(max(p.hi-lo, 1))
			split = append(split, piece{p.receiver, lo, min(hi, p.hi)})
			if lo = hi; lo >= p.hi {
				break
			}
		}
	}
	r.Shuffle(len(split), func(i, j int) { split[i], split[j] = split[j], split[i] })
	t.pieces = split
}

// Read reads the source, if that has not happened: it may be written again.
func (t *Transfer) Read() {
	if t.read || t.Done() {
		return
	}
	t.read = true
	if t.fetch != nil {
		t.staged = t.fetch()
		return
	}
	t.staged = make([]byte, len(t.source))
	copy(t.staged[t.lead:], t.source[t.lead:])
}

// Step lands the next piece, and reports whether there are more.
func (t *Transfer) Step() (more bool) {
	if t.Done() {
		return false
	}
	p := t.pieces[0]
	if t.fetch != nil {
		t.Read()
	}
	staged := t.staged
	if !t.read {
		staged = t.source
	}
	t.put(p.mem, staged, p.lo, p.hi)
	t.land(1)
	return !t.Done()
}

// Finish lands all pieces.
func (t *Transfer) Finish() {
	if !t.read && t.whole != nil && !t.Done() {
		t.whole()
		t.land(len(t.pieces))
	}
	for t.Step() {
	}
}

// land completes the bytes of the next n pieces, which have been written, and forgets
// them.
func (t *Transfer) land(n int) {
	for _, p := range t.pieces[:n] {
		switch n := (p.hi - p.lo) * t.unit; {
		case p.bar == nil:
		case t.Complete != nil:
			t.Complete(p.bar, n)
		default:
			p.bar.CompleteTx(n)
		}
	}
	if t.pieces = t.pieces[n:]; t.Done() {
		t.source, t.staged = nil, nil
	}
}

// spread lands the transfer piece by piece, with pauses drawn from r.
func (t *Transfer) spread(r *rand.Rand) {
	t.Split(r)
	pause(r)
	t.Read()
	for more := true; more; more = t.Step() {
		pause(r)
	}
}

// pause lets other goroutines run, in most cases.
func pause(r *rand.Rand) {
	for range r.IntN(8) {
		runtime.Gosched()
	}
}
