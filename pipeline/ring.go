package pipeline

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"example.com/leafhopper/barrier"
)

// MaxDepth is the largest number of stages of a [Ring].
const MaxDepth = 16

// MaxCTAs is the largest number of CTAs that share a [Ring]: the portable
// cluster size of Hopper is 8, the largest one 16.
const MaxCTAs = 16

// ErrStopped is what a role's wait returns once the ring was stopped without a
// more particular error.
var ErrStopped = errors.New("pipeline: ring stopped")

// stopPoll bounds how long a parked role needs to notice Stop. Barriers know
// nothing of cancellation, as on the GPU, so a parked role looks up now and
// then.
const stopPoll = time.Millisecond

// Ring is the synchronisation of a circular buffer of depth stages (QSIZE)
// shared by the CTAs of a cluster. Stage s has one full barrier for each CTA,
// completed when the producer has posted its expectation there and all the
// expected bytes have arrived, and one empty barrier, completed when every
// consumer of the cluster has let go of the stage. The ring does not own the
// memory of its stages.
//
// A Ring must not be copied after first use.
type Ring struct {
	depth, ctas int
	full        []barrier.Barrier // [stage*ctas + cta]
	empty       []barrier.Barrier // [stage]

	stopped atomic.Pointer[error]
}

// NewRing returns a ring of depth stages, 1..[MaxDepth], for a cluster of ctas
// CTAs, 1..[MaxCTAs], in which consumers arrivals, 1..[barrier.MaxCount], free a
// stage. A number out of range is an error.
func NewRing(depth, ctas, consumers int) (*Ring, error) {
	r := new(Ring)
	if err := r.Reset(depth, ctas, consumers); err != nil {
		return nil, err
	}
	return r, nil
}

// Reset makes r a fresh ring, as NewRing would, reusing its memory. No role may be
// using it. It returns an error for what NewRing refuses, and leaves r as it was.
func (r *Ring) Reset(depth, ctas, consumers int) error {
	switch {
	case depth < 1 || depth > MaxDepth:
		return fmt.Errorf("pipeline: depth %d is outside 1..%d", depth, MaxDepth)
	case ctas < 1 || ctas > MaxCTAs:
		return fmt.Errorf("pipeline: %d CTAs are outside 1..%d", ctas, MaxCTAs)
	case consumers < 1 || consumers > barrier.MaxCount:
		return fmt.Errorf("pipeline: %d consumers are outside 1..%d", consumers, barrier.MaxCount)
	}
	for i := range r.full[:r.depth*r.ctas] {
		r.full[i].Invalidate()
	}
	for i := range r.empty[:r.depth] {
		r.empty[i].Invalidate()
	}
	if len(r.full) < depth*ctas {
		r.full = make([]barrier.Barrier, depth*ctas)
	}
	if len(r.empty) < depth {
		r.empty = make([]barrier.Barrier, depth)
	}
	for i := range r.full[:depth*ctas] {
		start(&r.full[i], 1)
	}
	for i := range r.empty[:depth] {
		start(&r.empty[i], consumers)
	}
	r.depth, r.ctas = depth, ctas
	r.reopen()
	return nil
}

// start initialises b, which nobody uses, for a count that was found to be in range.
func start(b *barrier.Barrier, count int) {
	if err := b.Init(count); err != nil {
		panic(err)
	}
}

// Depth returns the number of stages.
func (r *Ring) Depth() int { return r.depth }

// CTAs returns the number of CTAs in the cluster.
func (r *Ring) CTAs() int { return r.ctas }

// Full returns the full barrier of cta in a stage, the one that the copies into
// it complete. Like every method that takes a stage, a state or a CTA it panics
// if the ring has no such stage or CTA, or if the state is one of another depth.
func (r *Ring) Full(stage, cta int) *barrier.Barrier {
	r.check(stage, cta)
	return &r.full[stage*r.ctas+cta]
}

// Multicast returns the full barriers of every CTA in a stage: a copy that the
// whole cluster shares completes each of them.
func (r *Ring) Multicast(stage int) []barrier.Barrier {
	r.check(stage, 0)
	return r.full[stage*r.ctas : (stage+1)*r.ctas]
}

// emptyOf returns the empty barrier of the stage of s.
func (r *Ring) emptyOf(s PipelineState) *barrier.Barrier {
	r.check(s.Index, 0)
	r.checkDepth(s)
	return &r.empty[s.Index]
}

// fullOf returns the full barrier of cta in the stage of s.
func (r *Ring) fullOf(s PipelineState, cta int) *barrier.Barrier {
	r.check(s.Index, cta)
	r.checkDepth(s)
	return &r.full[s.Index*r.ctas+cta]
}

// checkDepth panics if s goes round in rings of another depth: in this one it waits
// for stages and phases that are not its own. A state that a caller made without a
// depth says what to wait for once.
func (r *Ring) checkDepth(s PipelineState) {
	if s.depth != r.depth && s.depth != 0 {
		panic(mismatchError{s.depth, r.depth})
	}
}

// check panics if the ring has no such stage or CTA: the barrier in that place
// is another CTA's, or left from a larger ring.
func (r *Ring) check(stage, cta int) {
	if uint(stage) >= uint(r.depth) || uint(cta) >= uint(r.ctas) {
		panic(placeError{stage, cta, r.depth, r.ctas})
	}
}

// A placeError is a place that a ring does not have. It becomes text only when a
// panic is printed, which keeps check small enough to be inlined.
type placeError struct{ stage, cta, depth, ctas int }

func (e placeError) Error() string {
	return fmt.Sprintf("pipeline: stage %d, CTA %d of a ring of %d stages and %d CTAs", e.stage, e.cta, e.depth, e.ctas)
}

// A mismatchError is a state of another depth than its ring's. It becomes text only when
// a panic is printed, as a placeError does.
type mismatchError struct{ state, ring int }

func (e mismatchError) Error() string {
	return fmt.Sprintf("pipeline: state of depth %d for a ring of %d stages", e.state, e.ring)
}

// ProducerAcquire waits until the stage of s is empty. It returns the ring's
// error if the ring was stopped.
func (r *Ring) ProducerAcquire(s PipelineState) error {
	return r.wait(r.emptyOf(s), s.Phase)
}

// ProducerTryAcquire reports whether the stage of s is empty.
func (r *Ring) ProducerTryAcquire(s PipelineState) bool {
	return r.emptyOf(s).TestWaitParity(s.Phase)
}

// ProducerExpect is the producer's arrival at cta's full barrier of the stage of
// s, together with the transaction count that its copies will complete there.
func (r *Ring) ProducerExpect(s PipelineState, cta, tx int) {
	r.fullOf(s, cta).ArriveExpectTx(tx)
}

// ConsumerWait waits until the stage of s is full for cta. It returns the ring's
// error if the ring was stopped.
func (r *Ring) ConsumerWait(s PipelineState, cta int) error {
	return r.wait(r.fullOf(s, cta), s.Phase)
}

// ConsumerTryWait reports whether the stage of s is full for cta.
func (r *Ring) ConsumerTryWait(s PipelineState, cta int) bool {
	return r.fullOf(s, cta).TestWaitParity(s.Phase)
}

// ConsumerRelease is one consumer's arrival at the empty barrier of the stage
// of s: it has read what it needs there.
func (r *Ring) ConsumerRelease(s PipelineState) { r.emptyOf(s).Arrive() }

// Stop makes every present and future wait on the ring return err, or
// [ErrStopped] if err is nil. The first Stop decides the error.
func (r *Ring) Stop(err error) {
	if err == nil {
		err = ErrStopped
	}
	r.stopped.CompareAndSwap(nil, &err)
}

// Err returns the error the ring was stopped with, nil if it was not.
func (r *Ring) Err() error {
	if err := r.stopped.Load(); err != nil {
		return *err
	}
	return nil
}

// reopen takes back a Stop and lets go of its error. No role may be using r.
func (r *Ring) reopen() {
	if r.stopped.Load() != nil {
		r.stopped.Store(nil)
	}
}

func (r *Ring) wait(b *barrier.Barrier, parity uint32) error {
	for !b.TryWaitParity(parity, stopPoll) {
		if err := r.Err(); err != nil {
			return err
		}
	}
	return r.Err()
}
