package barrier

import (
	"math/rand/v2"
	"testing"
)

// TestList takes waiters off the list in random order, some themselves and the
// rest by a wake-up, and checks the links and the count after each step.
func TestList(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var b Barrier
		var in []*waiter
		check := func() {
			t.Helper()
			n := 0
			var prev *waiter
			for w := b.head; w != nil; prev, w = w, w.next {
				if w.prev != prev || !w.queued {
					t.Fatalf("entry %d of %d: prev %p, want %p, queued %v", n, len(in), w.prev, prev, w.queued)
				}
				n++
			}
			if n != len(in) || b.State().Parked != n {
				t.Fatalf("%d entries, %d counted, want %d", n, b.State().Parked, len(in))
			}
		}
		for range 50 {
			if len(in) == 0 || r.IntN(3) > 0 {
				w := waiters.Get().(*waiter)
				if w.next != nil || w.prev != nil || w.queued || len(w.ch) != 0 {
					t.Fatalf("the pool returned a used waiter: next %p, prev %p, queued %v, %d wake-ups", w.next,
						w.prev, w.queued, len(w.ch))
				}
				b.enqueue(w, 0, 0)
				w.state.Store(asleep)
				in = append(in, w)
			} else {
				i := r.IntN(len(in))
				b.withdraw(in[i])
				in = append(in[:i], in[i+1:]...)
			}
			check()
		}
		gone := in
		in = nil
		b.wake(0)
		check()
		for _, w := range gone {
			if len(w.ch) != 1 {
				t.Fatalf("%d wake-ups sent, want 1", len(w.ch))
			}
			if !b.withdraw(w) || w.how != died { // as after a timeout that lost the race
				t.Fatalf("outcome %d, want that of a dead barrier", w.how)
			}
			if len(w.ch) != 0 {
				t.Fatal("withdraw left the wake-up in the channel")
			}
		}
	}
}

// TestWhoIsDone has completers of every lateness go through a list of waiters
// for every phase: only those whose phase is certainly over may be taken off.
func TestWhoIsDone(t *testing.T) {
	for current := range uint64(phaseMod) {
		for old := range uint64(phaseMod + 1) {
			b := mustNew(t, 1)
			for range current {
				observing(b)
				b.Arrive()
			}
			ns := make([]*waiter, phaseMod) // of phase i and ticket i+1
			for i := range ns {
				ns[i] = waiters.New().(*waiter)
				b.enqueue(ns[i], uint64(i), b.serial.Load())
			}
			b.wakeDone(old)
			kept := 0
			for i, n := range ns {
				keep := uint64(i) == current && n.ticket > old
				if keep {
					kept++
				}
				if n.queued != keep || (n.state.Load() != woken) != keep || (n.how != passed) != keep {
					t.Errorf("phase %d, tickets up to %d: ticket %d of phase %d: queued %v, outcome %d", current, old,
						n.ticket, n.phase, n.queued, n.how)
				}
			}
			if b.State().Parked != kept {
				t.Errorf("phase %d, tickets up to %d: %d parked, want %d", current, old, b.State().Parked, kept)
			}
		}
	}
}
