package pipeline

import (
	"context"
	"errors"
	"sync/atomic"
)

// A SlabProgram is what [Slabs] compute: each slab once, by any worker, several at a time.
type SlabProgram interface {
	Compute(slab int)
}

// Slabs is a [Task] whose pieces wait for nothing: no ring, no copies, no order. So a worker
// that finds no slab free has nothing left to do, and the task costs little more than
// what two cores must tell each other: one word to claim a slab, one to say that it is done.
type Slabs struct {
	prog   SlabProgram
	n      int
	claims []claims // of the workers, by id
	team
}

// claims counts how many of the slabs of a worker's own are claimed, in its last takenBits. Above them is the
// run that it counts for: so nobody has to write the words of others before they come. A
// number of runs that wraps to the one of a word's last use is years away.
type claims struct {
	word atomic.Uint64
	_    [56]byte
}

// takenBits is enough for barrier.MaxCount.
const takenBits = 20

// Reset prepares s for workers 0 .. workers-1 to compute slabs 0 .. n-1 of prog until ctx, which
// may be nil, is done. No worker may be in s; it waits for helpers of a [Crew] that are
// on their way out. It returns an error if n is not in 1 .. [barrier.MaxCount], if workers is
// less than 1 or if prog is nil, and leaves s as it was.
func (s *Slabs) Reset(ctx context.Context, n int, prog SlabProgram, workers int) error {
	if err := check(n, workers); err != nil {
		return err
	}
	if prog == nil {
		return errors.New("pipeline: nil SlabProgram")
	}
	s.reset(ctx, workers, n)
	s.n, s.prog = n, prog
	if len(s.claims) < workers {
		s.claims = make([]claims, workers)
	}
	return nil
}

// Clear implements [Task].
func (s *Slabs) Clear() {
	s.prog = nil
	s.team.Clear()
}

// settled implements [Task].
func (s *Slabs) settled() bool { return s.over() }

// own returns the first slab of a worker's own, and the one after the last.
func (s *Slabs) own(id int) (first, end int) {
	return share(s.n, id, s.workers), share(s.n, id+1, s.workers)
}

// claim takes the next of a worker's own slabs, before end, if there is one.
func (s *Slabs) claim(id, first, end int) (slab int, ok bool) {
	word := &s.claims[id].word
	for {
		w := word.Load()
		now := w
		if w>>takenBits != s.runs {
			now = s.runs << takenBits
		}
		if slab = first + int(now&(1<<takenBits-1)); slab >= end {
			return 0, false
		}
		if word.CompareAndSwap(w, now+1) {
			return slab, true
		}
	}
}

// Work implements [Task]. The first worker waits for the slabs that others compute.
func (s *Slabs) Work(id int) {
	var h hand
	h.begin(&s.team, id)
	defer h.end()
	s.compute(&h)
	for id == 0 && !s.over() && !s.halted() {
		if h.spin(keenPauses) {
			s.finished.TryWaitParity(0, stopPoll)
		}
	}
	h.endIdle()
	h.returned = true
}

// compute computes slabs until none is free: the worker's own, and then what others
// have left. Whoever holds a slab, or has not said that it is done, keeps the task from
// finishing, and only then looks at the program and the context: when the last slab
// is done they may be gone before the other workers are.
func (s *Slabs) compute(h *hand) {
	for i := range s.workers {
		id, done := (h.id+i)%s.workers, 0
		first, end := s.own(id)
		for slab, ok := s.claim(id, first, end); ok; slab, ok = s.claim(id, first, end) {
			if s.halted() {
				return
			}
			span := s.trace.Start(h.id, TraceCompute)
			s.prog.Compute(slab)
			span.endPiece(0, "slab", slab)
			h.look()
			done++
		}
		if done > 0 {
			s.done(done)
		}
	}
}
