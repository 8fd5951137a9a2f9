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
					t.Fatalf("the pool returned a used waiter %+v", w)
				}
				b.enqueue(w)
				in = append(in, w)
			} else {
				i := r.IntN(len(in))
				b.leave(in[i])
				in = append(in[:i], in[i+1:]...)
			}
			check()
		}
		gone := in
		in = nil
		b.wake()
		check()
		for _, w := range gone {
			if len(w.ch) != 1 {
				t.Fatalf("%d wake-ups sent, want 1", len(w.ch))
			}
			b.leave(w) // as after a timeout that lost the race
			if len(w.ch) != 0 {
				t.Fatal("leave left the wake-up in the channel")
			}
		}
	}
}
