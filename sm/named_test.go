package sm_test

import (
	"testing"

	"example.com/leafhopper/sm"
)

// TestBarrierZero has threads of the same warps come to __syncthreads as barrier 0 too, of a block whose last warp
// has two threads and of one that is whole, some beside warps in lockstep.
func TestBarrierZero(t *testing.T) {
	for _, m := range modes {
		err := launch(t, in(m, sm.Config{Block: sm.Dim3{X: 66}}), func(b *sm.Block) {
			b.Threads(func(t *sm.Thread) {
				for i := range 20 {
					assert(t.SyncThreadsCount(t.Rank() >= i) == 66-i, "round %d", i)
				}
			})
		})
		if err != nil {
			t.Errorf("%s: %v", mode(m), err)
		}
		err = launch(t, in(m, sm.Config{Block: sm.Dim3{X: 128}}), func(b *sm.Block) {
			slots := sm.Shared[int](b, 128, 8)
			b.Start(sm.Threads(0, 64, func(t *sm.Thread) {
				for i := range 20 {
					slots.Store(t, t.Rank(), i)
					switch (t.Rank() + i) % 3 {
					case 0:
						t.SyncThreads()
					case 1:
						t.BarSync(0, 128)
					default:
						assert(t.BarSyncCount(0, 128, true) < 128, "count")
					}
					assert(slots.Load(t, (t.Rank()+37)%64) == i, "round %d", i)
					assert(t.SyncThreadsOr(t.Rank() == 63) && !t.SyncThreadsAnd(t.Rank() != 63), "or, and")
				}
				if t.Rank() == 5 {
					t.BarArrive(0, 128)
				} else {
					t.SyncThreads()
				}
			}), sm.Warps(2, 4, func(w *sm.Warp) {
				for range 20 {
					w.BarSync(0, 128)
					assert(w.SyncThreadsOr(false) && !w.SyncThreadsAnd(true), "or, and")
				}
				w.SyncThreads()
			}))
		})
		if err != nil {
			t.Errorf("%s: %v", mode(m), err)
		}
	}
}

// TestBarrierZeroApart has one thread come to barrier 0 for fewer threads than others of its warp, or of another.
func TestBarrierZeroApart(t *testing.T) {
	for _, m := range modes {
		for who := range 40 {
			err := launch(t, in(m, sm.Config{Block: sm.Dim3{X: 64}}), func(b *sm.Block) {
				b.Threads(func(t *sm.Thread) {
					switch {
					case t.Rank() == who:
						t.BarSync(0, 32)
					case t.Rank() < 31: // no warp comes as a whole
						t.SyncThreads()
					}
				})
			})
			faultOf(t, err, sm.RuleSync, "threads, but those who have arrived (last: ", "at named_test.go:", "named ")
		}
	}
}
