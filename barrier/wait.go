package barrier

import (
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
	w := b.word.Load()
	if isDead(w) {
		misuseDead("TestWaitParity", w)
	}
	done := (uint32(phaseOf(w))^parity)&1 != 0
	if invariants && done {
		b.observe(phaseOf(w))
	}
	return done
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
// 0 or less it is TestWait.
func (b *Barrier) TryWait(t Token, timeout time.Duration) bool {
	return b.test("TryWait", t) ||
		timeout > 0 && b.await("TryWait", t.phase(), t.serial(), timeout)
}

// WaitParity blocks until the phase of that parity has completed; see
// [Barrier.TestWaitParity]. A wait that did block returns once the phase it
// blocked on is over, even if others have gone on by the time it runs again.
func (b *Barrier) WaitParity(parity uint32) {
	b.awaitParity("WaitParity", parity, forever)
}

// TryWaitParity is [Barrier.WaitParity] with the timeout of [Barrier.TryWait].
func (b *Barrier) TryWaitParity(parity uint32, timeout time.Duration) bool {
	return b.awaitParity("TryWaitParity", parity, max(timeout, 0))
}

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
// meanwhile, so spinning about as long wastes at most half of the total.
var spinFor = 50 * time.Microsecond

// await blocks until the barrier of that serial has left the phase (mod 8), at
// most for limit, and reports whether it has. The caller has seen the barrier in that
// phase, so whatever other phase it is in later, the awaited one has
// completed.
func (b *Barrier) await(op string, phase, serial uint64, limit time.Duration) bool {
	var start time.Time
	if limit != forever {
		start = time.Now()
	}
	if b.spin(op, phase, serial, limit) {
		return b.passed(phase)
	}
	rest := forever
	for {
		if limit != forever {
			if rest = limit - time.Since(start); rest <= 0 {
				return false
			}
		}
		b.park(phase, serial, rest)
		if b.left(op, phase, serial) {
			return b.passed(phase)
		}
	}
}

// passed notes the observation of the phase's completion and returns true.
func (b *Barrier) passed(phase uint64) bool {
	if invariants {
		b.observe(phase + 1)
	}
	return true
}

// left reports whether the barrier has left the phase. It panics when the
// barrier is dead, or lives another life: the word is loaded first, because
// Init changes the serial while the word is dead.
func (b *Barrier) left(op string, phase, serial uint64) bool {
	w := b.word.Load()
	if s := b.serial.Load(); isDead(w) || s != serial {
		misuseWaiting(op, w, s, serial)
	}
	return phaseOf(w) != phase
}

// spin polls for a bounded time and reports whether the barrier left the phase.
func (b *Barrier) spin(op string, phase, serial uint64, limit time.Duration) bool {
	if spinFor <= 0 {
		return false
	}
	if procs.Load() == 1 {
		return b.yield(op, phase, serial)
	}
	budget := spinFor
	if limit != forever {
		budget = min(budget, limit)
	}
	var start time.Time
	for round := 0; ; round++ {
		for range spinRound {
			if b.left(op, phase, serial) {
				return true
			}
			spin.Pause(1)
		}
		// The first round is over before a clock would have been worth reading.
		if round == 0 {
			start = time.Now()
			if countProcs() == 1 {
				return b.yield(op, phase, serial)
			}
		} else if time.Since(start) >= budget {
			return false
		}
		runtime.Gosched()
	}
}

// yield is spin where nobody else can run meanwhile.
func (b *Barrier) yield(op string, phase, serial uint64) bool {
	for range singleYields {
		runtime.Gosched()
		if b.left(op, phase, serial) {
			return true
		}
	}
	return false
}
