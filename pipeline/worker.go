package pipeline

import "time"

// worker is one goroutine's view of the grid.
type worker struct {
	*Grid
	hand
	first    int  // the slab it looks at first, so that each keeps to its own while it can
	producer bool // fills slots before it computes
	copied   int  // first item that may have unclaimed copy jobs
}

// run executes pieces until the grid is finished. The first worker waits for
// that; the others leave when there is nothing left to claim, so that nobody has to
// wait for them.
func (w *worker) run() {
	w.first = share(len(w.slabs), w.id, w.workers) % len(w.slabs)
	w.producer = w.id < w.shape.CTAs && w.workers > 1
	for !w.over() && w.shape.Items > 0 {
		if w.halted() {
			return
		}
		switch {
		case w.step():
			w.endIdle()
		case w.id > 0 && w.claimed():
			w.endIdle()
			return
		default:
			w.wait()
		}
	}
	w.endIdle()
}

// claimed reports whether somebody is at the last item of every slab, or has been.
// Then all copies are done, too.
func (w *worker) claimed() bool {
	for i := range w.slabs {
		if item, free := w.slabs[i].next(); item < w.shape.Items-1 || item == w.shape.Items-1 && free {
			return false
		}
	}
	return true
}

// step executes one piece of work, and reports whether there was one.
func (w *worker) step() bool {
	if w.producer {
		return w.issue() || w.copy() || w.compute()
	}
	return w.compute() || w.copy() || w.issue()
}

// copy executes one copy job.
func (w *worker) copy() bool {
	jobs := w.shape.Shared + w.shape.CTAs*w.shape.Private
	for issued := int(w.issued.Load()); w.copied < issued; w.copied++ {
		stage := w.copied % w.shape.Depth
		if job, ok := w.copies[stage].take(w.copied, jobs); ok {
			w.endIdle()
			start, span := time.Now(), w.trace.Start(w.id, TraceCopy)
			w.load(stage, w.copied, job)
			span.endPiece(w.copied, "job", job)
			w.stats.Copy += time.Since(start)
			w.look()
			return true
		}
	}
	return false
}

// compute executes one slab: of those whose next item's stage is full, one that
// is furthest behind, since it holds up the ring.
func (w *worker) compute() bool {
	for {
		slab, item := -1, int(w.issued.Load())
		for i := range w.slabs {
			n := (w.first + i) % len(w.slabs)
			// While this slab is free its stage cannot be recycled, so the parity is that of
			// its item; take fails if it was not free any more.
			if next, free := w.slabs[n].next(); free && next < item &&
				w.ring.ConsumerTryWait(w.stateOf(next), n/w.shape.Slabs) {
				slab, item = n, next
			}
		}
		if slab < 0 {
			return false
		}
		if w.slabs[slab].take(item) {
			w.slab(slab, item)
			return true
		}
	}
}

// stateOf returns the state of a consumer that waits for item.
func (w *worker) stateOf(item int) PipelineState {
	s := ConsumerStart(w.shape.Depth)
	s.Advance(item)
	return s
}

// slab computes item of a slab that the worker has claimed.
func (w *worker) slab(slab, item int) {
	w.endIdle()
	s, span := w.stateOf(item), w.trace.Start(w.id, TraceCompute)
	w.prog.Compute(s.Index, item, slab/w.shape.Slabs, slab%w.shape.Slabs)
	span.endPiece(item, "slab", slab)
	w.slabs[slab].done(item)
	w.ring.ConsumerRelease(s)
	if item == w.shape.Items-1 {
		w.done(1)
	}
	w.look()
}

// behind returns the free slab that is furthest behind and the item it needs,
// or -1 and the number of items if there is none.
func (w *worker) behind() (slab, item int) {
	slab, item = -1, w.shape.Items
	for n := range w.slabs {
		if next, free := w.slabs[n].next(); free && next < item {
			slab, item = n, next
		}
	}
	return slab, item
}

// wait spins for a moment, or parks if the worker has been idle for long.
func (w *worker) wait() {
	if w.idle == 0 {
		_, item := w.behind()
		w.starved = item >= int(w.issued.Load()) && item < w.shape.Items
	}
	if w.spin(idlePauses) {
		w.park()
	}
}

// park waits for the next event that can give this worker something to do: its
// next stage becoming full, or empty if it has not been issued, or the end.
func (w *worker) park() {
	switch slab, item := w.behind(); {
	case slab < 0:
		w.finished.TryWaitParity(0, stopPoll)
	case item < int(w.issued.Load()):
		s := w.stateOf(item)
		w.ring.Full(s.Index, slab/w.shape.Slabs).TryWaitParity(s.Phase, stopPoll)
	default:
		s := w.stateOf(item)
		w.ring.Empty(s.Index, 0).TryWaitParity(s.Phase^1, stopPoll)
	}
}
