package barrier

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"example.com/leafhopper/internal/race"
)

const (
	// MaxCount is the largest arrival count of a phase.
	MaxCount = 1<<20 - 1

	// MaxTx bounds the byte balance of a phase, in bytes, on both sides: it
	// stays in -MaxTx..MaxTx. It is also the largest operand of one call.
	MaxTx = 1<<20 - 1
)

// A Barrier is a Hopper mbarrier. The zero value is dead: [Barrier.Init]
// brings it to life, and every other method panics until then. All methods but Init
// may be called from any number of goroutines.
//
// A Barrier must not be copied after Init (go vet reports copies). It fills a cache line of 64 bytes,
// and the barriers of an array do not share one.
type Barrier struct {
	word    atomic.Uint64
	serial  atomic.Uint64 // of the initialisation, as in a Token
	tickets atomic.Uint64 // waiters ever put on the list
	gone    atomic.Uint64 // and taken off it
	seen    atomic.Uint32 // with invariants: bit p, the phase before p was observed; see observe

	mu   sync.Mutex // guards the list and the writes of tickets and gone
	head *waiter    // the list of the blocked

	_ [64 - 48 - unsafe.Sizeof(uintptr(0))]byte
}

// serials numbers the initialisations of all barriers, which the race detector is not to believe are ordered.
var serials atomic.Uint64

func newSerial() uint64 {
	race.Hide()
	defer race.Show()
	for {
		// 0 is kept for the zero Token.
		if s := serials.Add(1) & serialMask; s != 0 {
			return s
		}
	}
}

// New returns a barrier in phase 0 that expects count arrivals a phase, which
// must be in 1..[MaxCount].
func New(count int) (*Barrier, error) {
	b := new(Barrier)
	if err := b.Init(count); err != nil {
		return nil, err
	}
	return b, nil
}

// Init brings a dead barrier to life, in phase 0, expecting count arrivals a
// phase (mbarrier.init). It returns a [*Misuse] and changes nothing when count is
// outside 1..[MaxCount] or when b has not been invalidated since its last
// Init. The caller makes the barrier known to its other users after Init.
func (b *Barrier) Init(count int) error {
	if count < 1 || count > MaxCount {
		return newMisuse("Init", RuleCount, "count %d, want 1..%d", count, MaxCount)
	}
	w := b.word.Load()
	// The word is dead while the serial changes, so that whoever finds it
	// live afterwards finds the new serial too.
	if (w != deadNew && w != deadInvalid) || !b.word.CompareAndSwap(w, deadIniting) {
		return newMisuse("Init", RuleLive, "count %d, but the barrier is in use (%s) and was not invalidated",
			count, stateOf(w))
	}
	b.serial.Store(newSerial())
	if invariants {
		b.seen.Store(1) // nothing precedes phase 0
	}
	b.word.Store(fresh(count))
	return nil
}

// Invalidate ends the life of the barrier (mbarrier.inval): only Init may be
// called on it afterwards. Goroutines still waiting wake up and panic with a
// [*Misuse] of [RuleInvalidated]. Invalidate panics when b is not live; a barrier
// whose participants have all dropped may be invalidated.
func (b *Barrier) Invalidate() {
	for {
		w := b.word.Load()
		if isDead(w) && w != deadDropped {
			misuseDead("Invalidate", w)
		}
		if b.word.CompareAndSwap(w, deadInvalid) {
			b.wake(0)
			return
		}
	}
}

// State is a snapshot of a barrier, for diagnosis.
type State struct {
	Live     bool // the other fields are 0 in a dead barrier
	Phase    int  // completed phases, modulo 8
	Pending  int  // arrivals missing in this phase
	Expected int  // arrivals the next phase starts with
	Tx       int  // bytes expected minus bytes completed in this phase
	Parked   int  // goroutines blocked in a wait, approximately
	Dead     Rule // why the barrier is dead, 0 when it is live
}

func stateOf(w uint64) State {
	if isDead(w) {
		return State{Dead: deadRule(w)}
	}
	return State{
		Live:     true,
		Phase:    int(phaseOf(w)),
		Pending:  pendingOf(w),
		Expected: expectedOf(w),
		Tx:       txOf(w),
	}
}

// State returns a snapshot of b. It may be called on a dead barrier.
func (b *Barrier) State() State {
	s := stateOf(b.word.Load())
	s.Parked = int(b.parked())
	return s
}

// String describes the state, as in
// "phase 1 (mod 8), pending 1 of 2, tx 4096, 0 parked".
func (s State) String() string {
	if !s.Live {
		return "dead: " + s.Dead.String()
	}
	return fmt.Sprintf("phase %d (mod %d), pending %d of %d, tx %d, %d parked",
		s.Phase, phaseMod, s.Pending, s.Expected, s.Tx, s.Parked)
}

// String describes the state of b; see [State.String].
func (b *Barrier) String() string { return "barrier: " + b.State().String() }
