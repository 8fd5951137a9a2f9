package barrier

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Blocking.
//
// A wait that a round of polls has not ended puts itself on the barrier's list, which
// gives it a ticket, and looks at the word again. Only then does it yield its
// processor, and in the end sleep. A completer replaces the word, and then looks
// whether anybody is on the list. These are two stores and two loads in the
// pattern of Dekker: Go's atomic operations are sequentially consistent, so in
// their single order either the waiter's ticket comes before the completer's
// look, which makes the completer go through the list, or the completer's new
// word comes before the waiter's second look, which makes the waiter leave.
//
//	waiter                       completer
//	tickets++  (under mu)        load tickets
//	load word, over? ─ leave     CAS word
//	yield and poll               list empty? ─ done
//	sleep on n.ch                lock mu, take off whose phase is over, wake them
//
// The word counts phases modulo 8 only and a completer may be late, so whose
// phase is over is told by the tickets first. Who had his ticket when the
// completer loaded tickets was waiting when it replaced the word: his phase is
// over, even if the barrier has come round to the same number since. Who got his
// later may have come after that completion: his phase is over if the word
// has another number now, and if not he stays on the list, asleep.
//
// So there are no spurious wake-ups. For one to be lost, all of eight completers
// in a row, beginning with that of the waiter's phase, would have to load tickets
// before he takes his and replace the word after it. That is eight goroutines
// stopped between two neighbouring instructions, seven of them for a whole lap, at
// the end of which the word is bit for bit what each has loaded.

// A waiter is a goroutine on a list, or its own. A completer that takes it off
// sets how, then makes the state woken, and then sends on ch, once, if the state was
// asleep. One that its goroutine has abandoned goes back to the pool instead.
type waiter struct {
	phase, serial, ticket uint64

	state      atomic.Uint32
	ch         chan struct{} // capacity 1, so that sending never blocks
	timer      *time.Timer   // nil until a wait with a limit needs it
	next, prev *waiter
	queued     bool // guarded by mu of the barrier
	how        outcome
}

// States of a waiter.
const (
	listed = iota
	asleep
	woken
	abandoned // on the list still: its goroutine saw the end of the wait in the word and has gone
)

// An outcome is how a wait stands. Of two that were found the greater holds: a
// phase that is over stays so when the barrier dies.
type outcome int

const (
	waiting outcome = iota
	died            // the barrier is dead or lives another life
	passed          // the phase is over
)

var waiters = sync.Pool{New: func() any {
	return &waiter{ch: make(chan struct{}, 1)}
}}

// procs caches how many goroutines can run at once. GOMAXPROCS takes a lock of
// the scheduler, so only waits that have become long ask it.
var procs atomic.Int32

func init() { countProcs() }

func countProcs() int32 {
	n := int32(min(runtime.GOMAXPROCS(0), runtime.NumCPU()))
	if n != procs.Load() {
		procs.Store(n)
	}
	return n
}

// parkHook lets tests stop at the two places where a wake-up could get lost.
var parkHook func(stage int)

const (
	stageQueued   = iota // on the list, before the second look
	stageSleeping        // after the last look, before the sleep
)

// block waits on the list, at most for limit.
func (b *Barrier) block(phase, serial uint64, limit time.Duration) outcome {
	var start time.Time
	if limit != forever {
		start = time.Now()
	}
	n := waiters.Get().(*waiter)
	b.enqueue(n, phase, serial)
	if parkHook != nil {
		parkHook(stageQueued)
	}
	how := b.look(phase, serial)
	if how != waiting {
		limit = 0 // the completer may not have seen n, so n must be taken off here
	} else if spinFor > 0 {
		how = b.linger(n, start, limit)
		if how != waiting && n.state.CompareAndSwap(listed, abandoned) {
			return how
		}
	}
	if n.sleep(start, limit) || b.withdraw(n) {
		how = max(how, n.how)
	} else if how == waiting {
		how = b.look(phase, serial) // both may be over, the time and the phase
	}
	waiters.Put(n)
	return how
}

// sleep reports whether a wake-up came before the limit was over.
func (n *waiter) sleep(start time.Time, limit time.Duration) bool {
	if parkHook != nil {
		parkHook(stageSleeping)
	}
	if !n.state.CompareAndSwap(listed, asleep) {
		return true
	}
	countProcs()
	if limit == forever {
		<-n.ch
		return true
	}
	rest := limit - time.Since(start)
	if rest <= 0 {
		return false
	}
	if n.timer == nil {
		n.timer = time.NewTimer(rest)
	} else {
		n.timer.Reset(rest)
	}
	select {
	case <-n.ch:
		// A stopped timer sends nothing later, so n can be used again.
		n.timer.Stop()
		return true
	case <-n.timer.C:
		return false
	}
}

func (b *Barrier) enqueue(n *waiter, phase, serial uint64) {
	n.phase, n.serial, n.how = phase, serial, waiting
	n.state.Store(listed)
	b.mu.Lock()
	n.ticket = b.tickets.Add(1)
	n.queued = true
	n.next = b.head
	if b.head != nil {
		b.head.prev = n
	}
	b.head = n
	b.mu.Unlock()
}

// withdraw takes n, which is asleep, off the list, or, if somebody has done so,
// consumes the wake-up that is coming and reports true.
func (b *Barrier) withdraw(n *waiter) bool {
	b.mu.Lock()
	queued := n.queued
	if queued {
		b.unlink(n)
		b.gone.Add(1)
	}
	b.mu.Unlock()
	if !queued {
		<-n.ch
	}
	return !queued
}

// unlink takes n off the list. The caller holds mu.
func (b *Barrier) unlink(n *waiter) {
	if n.prev != nil {
		n.prev.next = n.next
	} else {
		b.head = n.next
	}
	if n.next != nil {
		n.next.prev = n.prev
	}
	n.next, n.prev, n.queued = nil, nil, false
}

// wake wakes those on the list who have nothing left to wait for. The caller
// has replaced the word; old is what it found in tickets before it completed
// a phase, or 0 if it did not complete one.
func (b *Barrier) wake(old uint64) {
	if b.parked() != 0 {
		b.wakeDone(old)
	}
}

func (b *Barrier) wakeDone(old uint64) {
	b.mu.Lock()
	// The word first, as Init changes the serial while the word is dead.
	w := b.word.Load()
	serial := b.serial.Load()
	var done *waiter
	gone := uint64(0)
	for n := b.head; n != nil; {
		next := n.next
		switch {
		case isDead(w) || n.serial != serial:
			n.how = died
		case n.ticket <= old || n.phase != phaseOf(w):
			n.how = passed
		}
		if n.how != waiting {
			b.unlink(n)
			n.next, done = done, n
			gone++
		}
		n = next
	}
	b.gone.Add(gone)
	b.mu.Unlock()
	for n := done; n != nil; {
		next := n.next
		n.next = nil
		switch n.state.Swap(woken) {
		case asleep:
			n.ch <- struct{}{}
		case abandoned:
			waiters.Put(n)
		}
		n = next
	}
}

// parked is the length of the list. With gone loaded first it may count somebody
// who has left meanwhile, but misses nobody who is there.
func (b *Barrier) parked() uint64 {
	gone := b.gone.Load()
	return b.tickets.Load() - gone
}
