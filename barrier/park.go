package barrier

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Parking.
//
// A waiter that gives up spinning puts itself on the barrier's list, counts
// itself in parked, looks at the word again, and only then sleeps. A completer
// replaces the word, and then looks at parked. These are two stores and two
// loads in the pattern of Dekker: Go's atomic operations are sequentially
// consistent, so in their single order either the waiter's count comes
// before the completer's look, which makes the completer take the list and wake
// all of it, or the completer's new word comes before the waiter's second
// look, which makes the waiter leave without sleeping.
//
//	waiter                      completer
//	parked++  (under mu)        CAS word
//	load word, left? ─ leave    load parked, 0? ─ done
//	sleep on n.ch               lock mu, take the list, wake all
//
// A completer that is late wakes goroutines which wait for the next phase; they
// look at the word and park again. Wake-ups may be spurious, never lost.

// A waiter is a goroutine on a list. It is either queued, and then whoever
// takes it off the list sends on ch exactly once, or it is the goroutine's own.
type waiter struct {
	ch         chan struct{} // capacity 1, so that sending never blocks
	timer      *time.Timer   // nil until a wait with a limit needs it
	next, prev *waiter
	queued     bool // guarded by mu of the barrier
}

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
	stageSleeping        // after the second look, before the sleep
)

// park sleeps until a wake-up of b, at most for limit, unless the barrier has
// left the phase or died meanwhile. The caller finds out which.
func (b *Barrier) park(phase, serial uint64, limit time.Duration) {
	countProcs()
	n := waiters.Get().(*waiter)
	b.enqueue(n)
	if parkHook != nil {
		parkHook(stageQueued)
	}
	w := b.word.Load()
	if isDead(w) || phaseOf(w) != phase || b.serial.Load() != serial {
		b.leave(n)
		return
	}
	if parkHook != nil {
		parkHook(stageSleeping)
	}
	if limit == forever {
		<-n.ch
		waiters.Put(n)
		return
	}
	if n.timer == nil {
		n.timer = time.NewTimer(limit)
	} else {
		n.timer.Reset(limit)
	}
	select {
	case <-n.ch:
		// A stopped timer sends nothing later, so n can be used again.
		n.timer.Stop()
		waiters.Put(n)
	case <-n.timer.C:
		b.leave(n)
	}
}

func (b *Barrier) enqueue(n *waiter) {
	b.mu.Lock()
	n.queued = true
	n.next = b.head
	if b.head != nil {
		b.head.prev = n
	}
	b.head = n
	b.parked.Add(1)
	b.mu.Unlock()
}

// leave takes n off the list, or, if a completer has done so, consumes the
// wake-up that is coming.
func (b *Barrier) leave(n *waiter) {
	b.mu.Lock()
	queued := n.queued
	if queued {
		if n.prev != nil {
			n.prev.next = n.next
		} else {
			b.head = n.next
		}
		if n.next != nil {
			n.next.prev = n.prev
		}
		n.next, n.prev, n.queued = nil, nil, false
		b.parked.Add(-1)
	}
	b.mu.Unlock()
	if !queued {
		<-n.ch
	}
	waiters.Put(n)
}

// wake wakes every parked goroutine. The caller has replaced the word.
func (b *Barrier) wake() {
	if b.parked.Load() != 0 {
		b.wakeAll()
	}
}

func (b *Barrier) wakeAll() {
	b.mu.Lock()
	list := b.head
	b.head = nil
	b.parked.Store(0)
	for n := list; n != nil; n = n.next {
		n.queued = false
	}
	b.mu.Unlock()
	for n := list; n != nil; {
		next := n.next // n is its goroutine's again after the send
		n.next, n.prev = nil, nil
		n.ch <- struct{}{}
		n = next
	}
}
