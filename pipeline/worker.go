package pipeline

import (
	"runtime"
	"time"

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
	// idlePauses is the length of one look-away while idle, about 1 µs. It is
	// short against a piece of work and long against the cost of a look.
	idlePauses = 16
	// idleYield is the number of look-aways after which an idle worker yields
	// its P: on a machine with more workers than cores the one it waits for may
	// need it.
	idleYield = 32
	// SpinFor is how long an idle worker spins before it parks. Waking a
	// goroutine whose P has gone to sleep costs 75-100 µs, more than a slab.
	SpinFor = 200 * time.Microsecond
)

// worker is one goroutine's view of the grid.
type worker struct {
	*Grid
	cta      int           // the CTA it prefers
	producer bool          // fills slots before it computes
	state    PipelineState // first item that may have unclaimed slabs
	copied   int           // first item that may have unclaimed copy jobs
	stats    Stats

	idle      int // look-aways since the last piece of work
	idleSince time.Time
	starved   bool // idle because the ring is full, not because the next slot is not
}

func (w *worker) run() {
	for !w.finished.TestWaitParity(0) && w.shape.Items > 0 {
		if w.ring.stopped.Load() {
			return
		}
		if w.ctx != nil {
			if err := w.ctx.Err(); err != nil {
				w.ring.Stop(err)
				return
			}
		}
		if w.step() {
			if w.idle > 0 {
				w.endIdle()
			}
		} else {
			w.wait()
		}
	}
	if w.idle > 0 {
		w.endIdle()
	}
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
		c := &w.copies[stage]
		for {
			word, ok := c.open(w.copied, jobs)
			if !ok {
				break
			}
			if job, ok := c.take(word); ok {
				start := time.Now()
				w.load(stage, w.copied, job)
				w.stats.Copy += time.Since(start)
				return true
			}
		}
	}
	return false
}

// compute executes one slab of the oldest item that has any unclaimed.
func (w *worker) compute() bool {
	for w.state.Count < int(w.issued.Load()) {
		item, exhausted := w.state.Count, true
		for i := range w.shape.CTAs {
			cta := (w.cta + i) % w.shape.CTAs
			c := &w.slabs[w.state.Index*w.shape.CTAs+cta]
			for {
				word, ok := c.open(item, w.shape.Slabs)
				if !ok {
					break
				}
				// The stage may be recycled between the look at its barrier and the
				// claim; the parity seen is then stale, and the claim fails.
				if !w.ring.ConsumerTryWait(w.state, cta) {
					exhausted = false
					break
				}
				if slab, ok := c.take(word); ok {
					w.slab(cta, slab)
					return true
				}
			}
		}
		if !exhausted {
			return false
		}
		w.state.Next()
	}
	return false
}

// slab computes one claimed slab of the item of w.state.
func (w *worker) slab(cta, slab int) {
	// Another worker may still be at this slab of the item before.
	done := &w.done[cta*w.shape.Slabs+slab]
	for n := 1; done.Load() != int64(w.state.Count); n++ {
		if w.ring.stopped.Load() {
			return
		}
		spin.Pause(idlePauses)
		if n%idleYield == 0 {
			runtime.Gosched()
		}
	}
	w.prog.Compute(w.state.Index, w.state.Count, cta, slab)
	done.Store(int64(w.state.Count + 1))
	w.ring.ConsumerRelease(w.state)
	if w.state.Count == w.shape.Items-1 {
		w.finished.Arrive()
	}
}

// wait spins for a moment, or parks if the worker has been idle for long.
func (w *worker) wait() {
	if w.idle == 0 {
		w.idleSince = time.Now()
		n := w.state.Count
		w.starved = n >= int(w.issued.Load()) && n < w.shape.Items
	}
	w.idle++
	spin.Pause(idlePauses)
	if w.idle%idleYield != 0 {
		return
	}
	runtime.Gosched()
	if time.Since(w.idleSince) > SpinFor {
		w.park()
	}
}

// park waits for the next event that can give this worker something to do: its
// next stage becoming full, or empty if it has not been issued, or the end.
func (w *worker) park() {
	switch item := w.state.Count; {
	case item >= w.shape.Items:
		w.finished.TryWaitParity(0, stopPoll)
	case item >= int(w.issued.Load()):
		w.ring.empty[w.state.Index].TryWaitParity(w.state.Phase^1, stopPoll)
	default:
		for i := range w.shape.CTAs {
			if _, open := w.slabs[w.state.Index*w.shape.CTAs+i].open(item, w.shape.Slabs); open {
				w.ring.Full(w.state.Index, i).TryWaitParity(w.state.Phase, stopPoll)
				return
			}
		}
	}
}

func (w *worker) endIdle() {
	if d := time.Since(w.idleSince); w.starved {
		w.stats.ProducerWait += d
	} else {
		w.stats.ConsumerWait += d
	}
	w.idle = 0
}
