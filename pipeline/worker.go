package pipeline

import (
	"runtime"
	"sync/atomic"
	"time"

	"example.com/leafhopper/internal/ended"
	"example.com/leafhopper/internal/spin"
)

// Stats sums what the workers of a grid spent their time on.
type Stats struct {
	Copy         time.Duration // filling slots
	ProducerWait time.Duration // idle, the ring full and nothing to compute
	ConsumerWait time.Duration // idle, the next slot not full yet
}

func (s *Stats) add(t Stats) {
	s.Copy += t.Copy
	s.ProducerWait += t.ProducerWait
	s.ConsumerWait += t.ConsumerWait
}

const (
	// idlePauses is the length of one look-away while idle, about 0.5 µs. It is
	// short against a piece of work and long against the cost of a look. The first
	// ones are shorter, for pieces that end at almost the same time.
	idlePauses = 16
	// keenPauses is the same for who looks at one word that changes once.
	keenPauses = 2
	// clockPauses is the number of pauses after which an idle worker looks at the
	// clock, and yields its P if there may be more goroutines than Ps: the one it
	// waits for may need it.
	clockPauses = 32 * idlePauses
	// SpinFor is how long an idle worker spins before it parks: as long as it takes to wake a
	// goroutine whose P has gone to sleep, 75 to 125 µs.
	SpinFor = 100 * time.Microsecond
)

// worker is one goroutine's view of the grid.
type worker struct {
	*Grid
	id       int
	first    int  // the slab it looks at first, so that each keeps to its own while it can
	producer bool // fills slots before it computes
	copied   int  // first item that may have unclaimed copy jobs
	stats    Stats
	turn     spin.Turn

	idle      int // look-aways since the last piece of work
	idleSince time.Time
	starved   bool // idle because the ring is full, not because the next slot is not
	stall     *TraceSpan
}

// runRing executes pieces until the grid is finished. The first worker waits for
// that; the others leave when there is nothing left to claim, so that nobody has to
// wait for them.
func (w *worker) runRing() {
	w.first = share(len(w.slabs), w.id, w.workers) % len(w.slabs)
	w.producer = w.id < w.shape.CTAs && w.workers > 1
	for !w.finished.TestWaitParity(0) && w.shape.Items > 0 {
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
			w.wait(idlePauses)
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

// halted reports whether the grid was stopped, or its context is done.
func (w *worker) halted() bool {
	if w.ring.stopped.Load() != nil {
		return true
	}
	if w.ctx != nil {
		if err := ended.Err(w.ctx); err != nil {
			w.ring.Stop(err)
			return true
		}
	}
	return false
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
			if next, free := w.slabs[n].next(); free && next < item && w.ring.ConsumerTryWait(w.stateOf(next), n/w.shape.Slabs) {
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

// look is what a worker does between two pieces of work: it gives way to others if it is
// time, and the first one starts helpers that are missing.
func (w *worker) look() {
	w.turn.Look()
	if w.id == 0 && w.missing != nil {
		w.missing.send(w.Grid, w.bell, spin.Ticks())
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

// wait spins for a moment of at most so many pauses, or parks if the worker has been
// idle for long.
func (w *worker) wait(pauses int) {
	if w.idle == 0 {
		w.idleSince = time.Now()
		_, item := w.behind()
		w.starved = item >= int(w.issued.Load()) && item < w.shape.Items
		w.stall = w.trace.Start(w.id, TraceStall)
	}
	w.idle++
	w.turn.Look()
	if lookAway(w.idle, pauses) && time.Since(w.idleSince) > SpinFor {
		w.park()
	}
}

// lookAway spends the time between two looks, of which this is the nth, at what
// another goroutine is about to do: at most so many pauses. It reports whether to
// look at the clock.
func lookAway(n, pauses int) bool {
	spin.Pause(min(n, pauses))
	n *= pauses
	if n%clockPauses != 0 {
		return false
	}
	if crowded() {
		runtime.Gosched()
	}
	return true
}

// processors is GOMAXPROCS when a crew last ran a grid, and busy the number of
// goroutines that are helpers of any crew or have some.
var processors, busy atomic.Int32

// crowded reports whether there are more workers than can run at once.
func crowded() bool { return busy.Load() > processors.Load() }

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

// endIdle books the time since the worker became idle, if it is. A piece of work
// begins with it, so that the piece does not count.
func (w *worker) endIdle() {
	if w.idle == 0 {
		return
	}
	if d := time.Since(w.idleSince); w.starved {
		w.stats.ProducerWait += d
	} else {
		w.stats.ConsumerWait += d
	}
	w.stall.endStall(w.starved)
	w.idle = 0
}
