package barrier

import (
	"math"
	"runtime"
	"time"

	"example.com/leafhopper/internal/spin"
)

// TestWait reports whether the phase of t has completed
// (mbarrier.test_wait). It panics when t is more than one phase old or not of
// this barrier.
func (b *Barrier) TestWait(t Token) bool { return b.test("TestWait", t) }

func (b *Barrier) test(op string, t Token) bool {
	w := b.word.Load()
	d := (phaseOf(w) - t.bits) % phaseMod
	if s := b.serial.Load(); isDead(w) || d > 1 || t.serial() != s {
		misuseToken(op, w, s, t)
	}
	if invariants && d == 1 {
		b.observe(phaseOf(w))
	}
	return d == 1
}

// TestWaitParity reports whether the phase of that parity, of which only the low
// bit counts, has completed (mbarrier.test_wait.parity): true when the
// current phase has the other parity, as on a fresh barrier for parity 1.
func (b *Barrier) TestWaitParity(parity uint32) bool {
	return b.awaitParity("TestWaitParity", parity, 0)
}

// Wait blocks until the phase of t has completed. It panics as TestWait does,
// and when the barrier dies during the wait.
func (b *Barrier) Wait(t Token) {
	if !b.test("Wait", t) {
		b.await("Wait", t.phase(), t.serial(), forever)
	}
}

// TryWait waits for the phase of t to complete, but no longer than about
// timeout, and reports whether it has (mbarrier.try_wait). With a timeout of
// 0 or less it is TestWait. Where other goroutines keep every processor busy, it
// may take longer by one [runtime.Gosched], which is a scheduling slice of 10 ms
// or more for each goroutine whose turn comes first.
func (b *Barrier) TryWait(t Token, timeout time.Duration) bool {
	return b.test("TryWait", t) ||
		timeout > 0 && b.await("TryWait", t.phase(), t.serial(), timeout)
}

// WaitParity blocks until the phase of that parity has completed; see
// [Barrier.TestWaitParity]. A wait that did block returns once the phase it
// blocked on is over, however many phases others have completed by the time it runs
// again.
func (b *Barrier) WaitParity(parity uint32) {
	b.awaitParity("WaitParity", parity, forever)
}

// TryWaitParity is [Barrier.WaitParity] with the timeout of [Barrier.TryWait].
func (b *Barrier) TryWaitParity(parity uint32, timeout time.Duration) bool {
	return b.awaitParity("TryWaitParity", parity, max(timeout, 0))
}

// awaitParity waits until the phase of that parity has completed, at most for
// limit, which may be 0, and reports whether it has.
func (b *Barrier) awaitParity(op string, parity uint32, limit time.Duration) bool {
	w := b.word.Load()
	if isDead(w) {
		misuseDead(op, w)
	}
	if (uint32(phaseOf(w))^parity)&1 != 0 {
		if invariants {
			b.observe(phaseOf(w))
		}
		return true
	}
	return limit != 0 && b.await(op, phaseOf(w), b.serial.Load(), limit)
}

const (
	// forever is the limit of a wait without one.
	forever time.Duration = -1

	// A round of polls is some 0.5 to 1.5 µs of PAUSE, after which a spinner
	// offers its processor to whoever it may be waiting for.
	spinRound = 32

	// singleYields is how often a wait on a single processor, where
	// spinning cannot help, lets the others run before it parks.
	singleYields = 16
)

// spinFor is how long a wait spins before it parks. To park and to be woken
// costs 1 to 20 µs, and up to 100 µs if the processor has gone to sleep
// meanwhile (docs/findings/waking.md), so spinning about as long wastes at most
// half of the total.
var spinFor = 50 * time.Microsecond

// await blocks until the barrier of that serial has left the phase (mod 8), at
// most for limit, and reports whether it has: it polls, and then puts itself on the
// list (block), where it lingers and in the end sleeps. The caller has seen the barrier
// in that phase, so whatever other phase it is in later, the awaited one has
// completed.
func (b *Barrier) await(op string, phase, serial uint64, limit time.Duration) bool {
	how := waiting
	// The first round costs neither a place on the list nor a clock.
	if spinFor > 0 && procs.Load() > 1 {
		how = b.poll(phase, serial)
	}
	if how == waiting {
		how = b.block(phase, serial, limit)
	}
	switch how {
	case waiting:
		return false
	case died:
		misuseWaiting(op, b.word.Load(), b.serial.Load(), serial)
	}
	if invariants {
		b.observe(phase + 1)
	}
	return true
}

// look compares the barrier with the phase and the life that a wait began in.
func (b *Barrier) look(phase, serial uint64) outcome {
	// The word first, as Init changes the serial while the word is dead.
	w := b.word.Load()
	switch {
	case isDead(w) || b.serial.Load() != serial:
		return died
	case phaseOf(w) != phase:
		return passed
	}
	return waiting
}

// poll is one round of looks.
func (b *Barrier) poll(phase, serial uint64) outcome {
	for range spinRound {
		if how := b.look(phase, serial); how != waiting {
			return how
		}
		spin.Pause(1)
	}
	return waiting
}

// linger yields and looks for a bounded time, until the phase is over or
// somebody has taken n off the list.
func (b *Barrier) linger(n *waiter, start time.Time, limit time.Duration) outcome {
	look, yields, budget := b.look, singleYields, limit
	if procs.Load() > 1 && countProcs() > 1 {
		look, yields = b.poll, math.MaxInt
		if limit == forever || limit > spinFor {
			start, budget = time.Now(), spinFor
		}
	}
	for range yields {
		if budget != forever && time.Since(start) >= budget {
			break
		}
		runtime.Gosched()
		if how := look(n.phase, n.serial); how != waiting || n.state.Load() == woken {
			return how
		}
	}
	return waiting
}
