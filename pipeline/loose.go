package pipeline

// A grid without copies, of one item, has no ring: its slabs have no order and
// wait for nothing, and a worker that finds none free has nothing left to do. So
// such a loose grid costs little more than what two cores must tell each other:
// one word to claim a slab, one to say that it is done.

// loose reports whether a grid of shape s is loose.
func (s *Shape) loose() bool {
	return s.Depth == 1 && s.Items == 1 && s.CTAs == 1 && s.Private == 0 && s.Shared == 0
}

// runLoose computes slabs until none is free. Whoever holds a slab, or has not
// said that it is done, keeps the grid from finishing, and only then looks at the
// program and the context: when the last slab is done they may be gone before the
// other workers are.
func (w *worker) runLoose() {
	slab, done := w.first, 0
	share := (len(w.slabs) + w.workers - 1) / w.workers
	for i := range w.slabs {
		if i == share && done > 0 {
			// To look for what others have left takes as long as they have slabs.
			w.finished.ArriveN(done)
			done = 0
		}
		if p := &w.slabs[slab]; p.word.Load() == 0 && p.take(0) {
			if w.halted() {
				return
			}
			w.prog.Compute(0, 0, 0, slab)
			done++
		}
		if slab++; slab == len(w.slabs) {
			slab = 0
		}
	}
	if done > 0 {
		w.finished.ArriveN(done)
	}
}

// await waits for the slabs that others compute.
func (w *worker) await() {
	for !w.finished.TestWaitParity(0) && !w.halted() {
		w.wait()
	}
	w.endIdle()
}
