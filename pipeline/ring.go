package pipeline

import (
	"errors"
	"fmt"
	"sync/atomic"

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

// Ring is the synchronisation of a circular buffer of depth stages (QSIZE)
// shared by the CTAs of a cluster. Stage s has one full barrier for each CTA,
// completed when the producers have arrived there and all the bytes that they
// expect have, and one empty barrier, or one for each CTA, completed when the
// consumers have let go of the stage. The ring does not own the memory of its stages.
//
// A Ring must not be copied after first use.
type Ring struct {
	depth, ctas int
	empties     int               // empty barriers of a stage: 1 or ctas
	full        []barrier.Barrier // [stage*ctas + cta]
	empty       []barrier.Barrier // [stage*empties + cta]

	stopped stopped

	whole *Ring // of which this is what a role sees, nil if it is not
	waits waits
}

// A RingConfig says how many stages a [Ring] has and who takes part in them.
type RingConfig struct {
	Depth     int  // stages (QSIZE), 1..MaxDepth
	CTAs      int  // of the cluster, 1..MaxCTAs
	Producers int  // arrivals that fill a stage for a CTA once the bytes are there, 1..barrier.MaxCount
	Consumers int  // arrivals that empty a stage, 1..barrier.MaxCount
	PerCTA    bool // a stage has an empty barrier for each CTA, Consumers being those of one, not of the cluster
}

// NewRing returns a ring of depth stages for a cluster of ctas CTAs, in each of which
// one producer arrives, and in which consumers arrivals free a stage for all. A number
// out of the range of its field in [RingConfig] is an error.
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
	return r.Configure(RingConfig{Depth: depth, CTAs: ctas, Producers: 1, Consumers: consumers})
}

// Configure makes r, which may be a zero Ring, a fresh one, reusing its memory. No role
// may be using it. A number out of range is an error and leaves r as it was.
func (r *Ring) Configure(c RingConfig) error {
	switch {
	case c.Depth < 1 || c.Depth > MaxDepth:
		return fmt.Errorf("pipeline: depth %d is outside 1..%d", c.Depth, MaxDepth)
	case c.CTAs < 1 || c.CTAs > MaxCTAs:
		return fmt.Errorf("pipeline: %d CTAs are outside 1..%d", c.CTAs, MaxCTAs)
	case c.Producers < 1 || c.Producers > barrier.MaxCount:
		return fmt.Errorf("pipeline: %d producers are outside 1..%d", c.Producers, barrier.MaxCount)
	case c.Consumers < 1 || c.Consumers > barrier.MaxCount:
		return fmt.Errorf("pipeline: %d consumers are outside 1..%d", c.Consumers, barrier.MaxCount)
	}
	empties := 1
	if c.PerCTA {
		empties = c.CTAs
	}
	restart(&r.full, r.depth*r.ctas, c.Depth*c.CTAs, c.Producers)
	restart(&r.empty, r.depth*r.empties, c.Depth*empties, c.Consumers)
	r.depth, r.ctas, r.empties = c.Depth, c.CTAs, empties
	r.stopped.reopen()
	return nil
}

// restart ends the lives of the first old of bars and starts those of the first n, which
// it makes if there are fewer.
func restart(bars *[]barrier.Barrier, old, n, count int) {
	for i := range (*bars)[:old] {
		(*bars)[i].Invalidate()
	}
	if len(*bars) < n {
		*bars = make([]barrier.Barrier, n)
	}
	for i := range (*bars)[:n] {
		start(&(*bars)[i], count)
	}
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

// Empty returns the empty barrier of cta in a stage, the one that its consumers arrive
// at: the same one for every CTA if the cluster has one.
func (r *Ring) Empty(stage, cta int) *barrier.Barrier {
	r.check(stage, cta)
	return &r.empty[stage*r.empties+min(cta, r.empties-1)]
}

// fullOf returns the full barrier of cta in the stage of s.
func (r *Ring) fullOf(s PipelineState, cta int) *barrier.Barrier {
	b := r.Full(s.Index, cta)
	r.checkDepth(s)
	return b
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

// every lists CTAs.
var every = [MaxCTAs]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

// emptiesOf returns for which CTAs to look at the empty barriers of the stage of s, if
// ctas are named.
func (r *Ring) emptiesOf(s PipelineState, ctas []int) []int {
	r.check(s.Index, 0)
	r.checkDepth(s)
	for _, cta := range ctas {
		r.check(s.Index, cta)
	}
	if len(ctas) == 0 || r.empties == 1 {
		return every[:r.empties]
	}
	return ctas
}

// ProducerAcquire waits until the stage of s is empty: for the CTAs that are named, or,
// as who multicasts into it needs it to be, for all if none is. If the cluster has one
// empty barrier there is no difference. It returns the ring's error if the ring was
// stopped.
func (r *Ring) ProducerAcquire(s PipelineState, ctas ...int) error {
	for _, cta := range r.emptiesOf(s, ctas) {
		if err := r.wait(r.Empty(s.Index, cta), opAcquire, s, cta); err != nil {
			return err
		}
	}
	return nil
}

// ProducerTryAcquire reports whether the stage of s is empty, for the CTAs of which
// ProducerAcquire would wait for it to be.
func (r *Ring) ProducerTryAcquire(s PipelineState, ctas ...int) bool {
	for _, cta := range r.emptiesOf(s, ctas) {
		if !r.Empty(s.Index, cta).TestWaitParity(s.Phase) {
			return false
		}
	}
	return true
}

// ProducerExpect is the producer's arrival at cta's full barrier of the stage of
// s, together with the transaction count that its copies will complete there.
func (r *Ring) ProducerExpect(s PipelineState, cta, tx int) {
	r.fullOf(s, cta).ArriveExpectTx(tx)
}

// ConsumerWait waits until the stage of s is full for cta. It returns the ring's
// error if the ring was stopped.
func (r *Ring) ConsumerWait(s PipelineState, cta int) error {
	return r.wait(r.fullOf(s, cta), opWait, s, cta)
}

// ConsumerTryWait reports whether the stage of s is full for cta.
func (r *Ring) ConsumerTryWait(s PipelineState, cta int) bool {
	return r.fullOf(s, cta).TestWaitParity(s.Phase)
}

// ConsumerRelease is one consumer's arrival at the empty barrier of the stage of s: it
// has read what it needs there. If every CTA has one, it arrives at those of the CTAs
// that are named, the ones that multicast to it and its own, or at all if none is.
func (r *Ring) ConsumerRelease(s PipelineState, ctas ...int) {
	for _, cta := range r.emptiesOf(s, ctas) {
		r.Empty(s.Index, cta).Arrive()
	}
}

// Stop makes every present and future wait on the ring return err, or
// [ErrStopped] if err is nil. The first Stop decides the error.
func (r *Ring) Stop(err error) {
	if err == nil {
		err = ErrStopped
	}
	r.root().stopped.stop(err)
}

// Err returns the error the ring was stopped with, nil if it was not.
func (r *Ring) Err() error { return r.root().stopped.why() }

// root returns the ring of which r is what a role sees, or r.
func (r *Ring) root() *Ring {
	if r.whole != nil {
		return r.whole
	}
	return r
}

// see makes r, which is zero, what a role sees of a ring: its barriers and its stop, and
// waits of its own.
func (r *Ring) see(whole *Ring) {
	r.depth, r.ctas, r.empties = whole.depth, whole.ctas, whole.empties
	r.full, r.empty = whole.full, whole.empty
	r.whole = whole.root()
}

// stopped is why a ring or a task was stopped, if it was.
type stopped struct{ err atomic.Pointer[error] }

// stop stops with err, unless there was a stop before.
func (s *stopped) stop(err error) { s.err.CompareAndSwap(nil, &err) }

func (s *stopped) why() error {
	if err := s.err.Load(); err != nil {
		return *err
	}
	return nil
}

// reopen takes back a stop and lets go of its error. Nobody may be waiting.
func (s *stopped) reopen() {
	if s.err.Load() != nil {
		s.err.Store(nil)
	}
}
