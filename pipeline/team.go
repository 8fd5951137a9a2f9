package pipeline

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/internal/ended"
)

// A Task is what a [Crew] lends helpers to: a [Grid] or [Slabs], reset for a number of workers. Pieces
// of its program are claimed by atomic counters. No worker but the one that holds a piece is ever
// needed for progress, so workers may join late, or not at all. A Task may be reused, by one
// run at a time, and must not be copied.
type Task interface {
	// Work executes pieces as worker id, 0 .. workers-1, until the task is finished or
	// stopped, or if id is not 0 until there is nothing left for it. A panic of the program
	// stops the task; see Err. Work panics if the task was not reset for as many workers.
	Work(id int)
	// Err returns why the task stopped early, nil if it ran to its end. It raises the panic of
	// a worker again. Call it when every worker has left.
	Err() error
	// Stats returns what the workers of the last run spent their time on. Call it when every
	// worker has left.
	Stats() Stats
	// Record has the workers of the run that Reset has prepared note in t what they do. t has
	// begun, for as many.
	Record(t *Trace)
	// Clear lets go of the program, the context, the trace and what Err returns, for a task
	// that is kept for another Reset. Call it when every worker has left.
	Clear()

	base() *team
	// settled reports whether helpers that have not left yet need not be waited for: all that
	// they still do is to leave.
	settled() bool
}

// Stats sums what the workers of a task spent their time on.
type Stats struct {
	Copy         time.Duration // filling slots
	ProducerWait time.Duration // idle, the ring full and nothing to compute
	ConsumerWait time.Duration // idle, the next slot not full yet, or the last slabs not done
}

func (s *Stats) add(t Stats) {
	s.Copy += t.Copy
	s.ProducerWait += t.ProducerWait
	s.ConsumerWait += t.ConsumerWait
}

// team is what every task has: workers, a count of what they have to do, and how it ends.
type team struct {
	ctx      context.Context
	workers  int
	runs     uint64  // the number of resets; after the first one finished is initialised
	stats    []Stats // of the workers, by id, what each says of itself when it leaves
	trace    *Trace  // nil, as a rule
	task     Task    // who embeds it, once a crew runs it
	stopped  stopped
	panicked atomic.Pointer[RolePanic]

	// What workers write has lines of the cache of its own.
	_        [64]byte
	left     atomic.Int64 // slabs that are not done
	_        [56]byte
	finished barrier.Barrier // one arrival: nothing is left
	called
}

func (t *team) base() *team { return t }

// reset prepares t for workers 0 .. workers-1 and so many slabs, which were found to be in range.
func (t *team) reset(ctx context.Context, workers, slabs int) {
	t.waitHelpers()
	t.reopen()
	if t.runs > 0 {
		t.finished.Invalidate()
	}
	start(&t.finished, 1)
	t.ctx, t.workers = ctx, workers
	t.left.Store(int64(slabs))
	if cap(t.stats) < workers {
		t.stats = make([]Stats, workers)
	}
	t.stats = t.stats[:workers]
	clear(t.stats)
	t.runs++
}

// check returns an error if no task has as many slabs or workers.
func check(slabs, workers int) error {
	switch {
	case slabs < 1 || slabs > barrier.MaxCount:
		return fmt.Errorf("pipeline: %d slabs are outside 1..%d", slabs, barrier.MaxCount)
	case workers < 1:
		return fmt.Errorf("pipeline: %d workers, want at least 1", workers)
	}
	return nil
}

// done counts n slabs that nobody will come back to.
func (t *team) done(n int) {
	if t.left.Add(int64(-n)) == 0 {
		t.finished.Arrive()
	}
}

// over reports whether nothing is left.
func (t *team) over() bool { return t.finished.TestWaitParity(0) }

// halted reports whether the task was stopped, or its context is done.
func (t *team) halted() bool {
	if t.stopped.why() != nil {
		return true
	}
	if err := ended.Err(t.ctx); err != nil {
		t.stopped.stop(err)
		return true
	}
	return false
}

// Err implements [Task].
func (t *team) Err() error {
	if p := t.panicked.Load(); p != nil {
		panic(p)
	}
	if t.runs > 0 && t.over() {
		return nil // the stop came when there was nothing left to stop
	}
	return t.stopped.why()
}

// Stats implements [Task].
func (t *team) Stats() (sum Stats) {
	for _, s := range t.stats {
		sum.add(s)
	}
	return sum
}

// Record implements [Task].
func (t *team) Record(tr *Trace) { t.trace = tr }

// Clear implements [Task], but for the program.
func (t *team) Clear() {
	t.ctx, t.trace = nil, nil
	t.reopen()
}

// reopen lets go of what Err returns.
func (t *team) reopen() {
	if t.panicked.Load() != nil {
		t.panicked.Store(nil)
	}
	t.stopped.reopen()
}

// share returns where the part of worker id begins if n slabs are shared out evenly.
func share(n, id, workers int) int { return int(int64(id) * int64(n) / int64(workers)) }
