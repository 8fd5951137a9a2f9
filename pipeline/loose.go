package pipeline

import (
	"sync/atomic"
	"time"

	"example.com/leafhopper/barrier"
)

// A grid without copies has no ring: its slabs wait for nothing but their own items
// before, and a worker that finds none free has nothing left to do. So such a loose grid
// costs little more than what two cores must tell each other: one word to claim a slab,
// one to say that it is done.
//
// Slabs are columns of B, as a rule, and items follow each other down K. A worker that
// kept to its columns would read a part of every row, and parts of rows a power of two
// apart share few sets of its cache, which then does not hold them, large as it is. So
// with Across a worker's slabs move on from item to item, as the blocks of a matrix do
// that the processors of a torus multiply (Cannon, 1969). With four of each:
//
//	        slabs
//	        0 1 2 3
//	item 0  0 1 2 3  workers
//	item 1  3 0 1 2
//	item 2  2 3 0 1
//	item 3  1 2 3 0

// loose reports whether a grid of shape s is loose.
func (s *Shape) loose() bool {
	return s.Depth == 1 && s.Items > 0 && s.CTAs == 1 && s.Private == 0 && s.Shared == 0 && s.Slabs > 0 && s.Items <= barrier.MaxCount/s.Slabs
}

// takenBits is the part of post.taken, and of a mark, that counts, enough for
// barrier.MaxCount. Above it is the run that it counts for: so nobody has to write the
// words of others before they come. A number of runs that wraps to the one of a word's
// last use is years away.
const takenBits = 20

// A mark counts the items that a slab of a loose grid has behind it.
type mark struct {
	word atomic.Uint64
	_    [56]byte
}

// A piece of a loose grid is one item of one slab.
type piece struct{ slab, item int }

// pieceAt returns the nth piece of a worker's own: its slabs of the first item, then
// those of the second, which are as many as far on.
func (g *Grid) pieceAt(id, n int) piece {
	first, end := g.own(id)
	if g.shape.Items == 1 { // divisions take longer than to claim
		return piece{first + n, 0}
	}
	item, slab := n/(end-first), first+n%(end-first)
	return piece{g.shape.moved(slab, g.shape.turn(item)), item}
}

// ownerOf returns whose own a piece is, and which of them.
func (g *Grid) ownerOf(p piece) (id, n int) {
	slab := g.shape.moved(p.slab, g.shape.Across-g.shape.turn(p.item))
	id = int((int64(slab+1)*int64(g.workers) - 1) / int64(g.shape.Slabs))
	first, end := g.own(id)
	return id, p.item*(end-first) + slab - first
}

// own returns the first slab of a worker's own of the first item, and the one after the last.
func (g *Grid) own(id int) (first, end int) {
	return share(g.shape.Slabs, id, g.workers), share(g.shape.Slabs, id+1, g.workers)
}

// turn returns how far a worker's slabs of an item are from those of the first.
func (s *Shape) turn(item int) int { return item * s.Across / s.Items }

// moved returns the slab that is so many after one, of those that lie across from it.
func (s *Shape) moved(slab, by int) int {
	if s.Across == 0 {
		return slab
	}
	at := slab % s.Across
	return slab - at + (at+by)%s.Across
}

// claim takes the next of a worker's own pieces, if it is one of the first, most of them.
func (g *Grid) claim(id, most int) (n int, ok bool) {
	word := &g.posts[id].taken
	for {
		w := word.Load()
		now := w
		if w>>takenBits != g.run {
			now = g.run << takenBits
		}
		if n = int(now & (1<<takenBits - 1)); n >= most {
			return 0, false
		}
		if word.CompareAndSwap(w, now+1) {
			return n, true
		}
	}
}

// share returns where the part of worker id begins if n slabs are shared out evenly.
func share(n, id, workers int) int { return int(int64(id) * int64(n) / int64(workers)) }

// runLoose computes pieces until none is free: the worker's own, and then what others
// have left. Whoever holds a piece, or has not said that it is done, keeps the grid from
// finishing, and only then looks at the program and the context: when the last piece
// is done they may be gone before the other workers are.
func (w *worker) runLoose() {
	for i := range w.workers {
		id, done := (w.id+i)%w.workers, 0
		first, end := w.own(id)
		pieces := (end - first) * w.shape.Items
		for n, ok := w.claim(id, pieces); ok; n, ok = w.claim(id, pieces) {
			if !w.computePiece(w.pieceAt(id, n)) {
				return
			}
			done++
		}
		if done > 0 {
			w.report() // while the grid is there
			w.done(done)
		}
	}
}

// computePiece computes a piece that the worker has claimed when the item before is
// behind its slab, and reports whether the grid was not stopped before.
func (w *worker) computePiece(p piece) bool {
	if w.halted() || p.item > 0 && !w.awaitItem(p) {
		return false
	}
	span := w.trace.Start(w.id, TraceCompute)
	w.prog.Compute(0, p.item, 0, p.slab)
	span.endPiece(p.item, "slab", p.slab)
	if p.item < w.shape.Items-1 {
		w.marks[p.slab].word.Store(w.run<<takenBits | uint64(p.item+1))
	}
	w.look()
	return true
}

const (
	// joinLooks is how often a worker looks whether the item before its piece is behind the
	// slab before it looks whether somebody is at it.
	joinLooks = 8
	// itemPoll is how long a worker sleeps that has waited for that for long: nobody wakes it,
	// and others wait for what it holds.
	itemPoll = 50 * time.Microsecond
)

// awaitItem waits until the item before p is behind its slab, and reports whether the
// grid was not stopped before. If nobody has begun that item its worker may never come,
// so this one computes what that worker would up to it. Those are pieces of earlier items
// than its own: so whoever is waited for is at an earlier item than who waits, nobody
// waits in a circle, and calls are at most as deep as there are items.
func (w *worker) awaitItem(p piece) bool {
	for w.marks[p.slab].word.Load() < w.run<<takenBits|uint64(p.item) {
		if w.halted() {
			return false
		}
		if w.spin(keenPauses) {
			time.Sleep(itemPoll)
		}
		if w.idle%joinLooks > 0 {
			continue
		}
		id, last := w.ownerOf(piece{p.slab, p.item - 1})
		if n, ok := w.claim(id, last+1); ok {
			w.endIdle()
			if !w.computePiece(w.pieceAt(id, n)) {
				return false
			}
			w.done(1)
		}
	}
	w.endIdle()
	return true
}

// await waits for the slabs that others compute.
func (w *worker) await() {
	for !w.finished.TestWaitParity(0) && !w.halted() {
		w.wait(keenPauses)
	}
	w.endIdle()
}
