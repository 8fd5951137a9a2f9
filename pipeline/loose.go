package pipeline

// A grid of one item without copies has no ring: its slabs wait for nothing, and a worker
// that finds none free has nothing left to do. So such a loose grid costs little more than
// what two cores must tell each other: one word to claim a slab, one to say that it is done.

// loose reports whether a grid of shape s is loose.
func (s *Shape) loose() bool {
	return s.Depth == 1 && s.Items == 1 && s.CTAs == 1 && s.Private == 0 && s.Shared == 0
}

// takenBits is the part of post.taken that counts, enough for barrier.MaxCount. Above it is
// the run that it counts for: so nobody has to write the words of others before they come. A
// number of runs that wraps to the one of a word's last use is years away.
const takenBits = 20

// own returns the first slab of a worker's own, and the one after the last.
func (g *Grid) own(id int) (first, end int) {
	return share(g.shape.Slabs, id, g.workers), share(g.shape.Slabs, id+1, g.workers)
}

// claim takes the next of a worker's own slabs, before end, if there is one.
func (g *Grid) claim(id, first, end int) (slab int, ok bool) {
	word := &g.posts[id].taken
	for {
		w := word.Load()
		now := w
		if w>>takenBits != g.run {
			now = g.run << takenBits
		}
		if slab = first + int(now&(1<<takenBits-1)); slab >= end {
			return 0, false
		}
		if word.CompareAndSwap(w, now+1) {
			return slab, true
		}
	}
}

// share returns where the part of worker id begins if n slabs are shared out evenly.
func share(n, id, workers int) int { return int(int64(id) * int64(n) / int64(workers)) }

// runLoose computes slabs until none is free: the worker's own, and then what others
// have left. Whoever holds a slab, or has not said that it is done, keeps the grid from
// finishing, and only then looks at the program and the context: when the last slab
// is done they may be gone before the other workers are.
func (w *worker) runLoose() {
	for i := range w.workers {
		id, done := (w.id+i)%w.workers, 0
		first, end := w.own(id)
		for slab, ok := w.claim(id, first, end); ok; slab, ok = w.claim(id, first, end) {
			if w.halted() {
				return
			}
			span := w.trace.Start(w.id, TraceCompute)
			w.prog.Compute(0, 0, 0, slab)
			span.endPiece(0, "slab", slab)
			w.look()
			done++
		}
		if done > 0 {
			w.report() // while the grid is there
			w.done(done)
		}
	}
}

// await waits for the slabs that others compute.
func (w *worker) await() {
	for !w.finished.TestWaitParity(0) && !w.halted() {
		w.wait(keenPauses)
	}
	w.endIdle()
}
