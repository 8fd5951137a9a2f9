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

// TestBarReductions has warps, single threads and a warpgroup reduce a predicate at a named barrier, in phase after
// phase.
func TestBarReductions(t *testing.T) {
	silent(t, sm.Config{Block: sm.Dim3{X: 224}}, func(b *sm.Block) {
		x := sm.Shared[int32](b, 224, 4)
		reduce := func(a anyAgent, rank, lanes int) {
			for i := range 4 {
				for l := range lanes {
					x.Store(a, rank+l, int32(i))
				}
				n := a.BarSyncCount(3, 224, rank >= 160)
				assert(n == 64, "round %d: %v counts %d", i, a, n)
				assert(x.Load(a, (rank+100)%224) == int32(i), "round %d", i)
				assert(a.BarSyncAnd(3, 224, true) && !a.BarSyncAnd(3, 224, rank != 160), "round %d: %v: and", i, a)
				assert(!a.BarSyncOr(3, 224, false) && a.BarSyncOr(3, 224, rank == 192), "round %d: %v: or", i, a)
			}
		}
		b.Start(
			sm.Warpgroups(0, 1, func(w *sm.Warpgroup) { reduce(w, 0, 128) }),
			sm.Warps(4, 6, func(w *sm.Warp) { reduce(w, 32*w.Rank(), 32) }),
			sm.Threads(192, 224, func(t *sm.Thread) { reduce(t, t.Rank(), 1) }),
		)
	})
}

// TestBarSyncCountOfPart: a block's last warp arrives as a whole one, of which those count that there are.
func TestBarSyncCountOfPart(t *testing.T) {
	for _, m := range modes {
		if err := launch(t, in(m, sm.Config{Block: sm.Dim3{X: 40}}), func(b *sm.Block) {
			b.Threads(func(t *sm.Thread) {
				n := t.BarSyncCount(1, 64, true)
				assert(n == 40, "%d", n)
			})
		}); err != nil {
			t.Errorf("%s: %v", mode(m), err)
		}
	}
}

// TestBarReductionMisuse has reductions that PTX leaves undefined.
func TestBarReductionMisuse(t *testing.T) {
	for _, c := range []struct {
		name string
		f    func(w *sm.Warp)
		want []string
	}{
		{"no such barrier", func(w *sm.Warp) { w.BarSyncCount(16, 64, true) },
			[]string{": BarSyncCount: barrier 16, want 0 to 15"}},
		{"no whole warps", func(w *sm.Warp) { w.BarSyncOr(1, 33, true) },
			[]string{": BarSyncOr: barrier 1 for 33 threads, want a multiple of 32"}},
		{"another reduction", func(w *sm.Warp) {
			if w.Rank() == 0 {
				w.BarSyncAnd(2, 64, true)
			} else {
				w.BarSyncOr(2, 64, true)
			}
		}, []string{"barrier 2: barrier.red.", ", but those who have arrived (last: warp ", ") have come by barrier.red."}},
		{"beside an arrival", func(w *sm.Warp) {
			if w.Rank() == 0 {
				w.BarArrive(2, 64)
			} else {
				w.BarSyncCount(2, 64, true)
			}
		}, []string{"barrier.red.popc", "barrier.sync or barrier.arrive"}},
	} {
		for _, m := range modes {
			t.Run(c.name+"/"+mode(m), func(t *testing.T) {
				faultOf(t, launch(t, in(m, sm.Config{Block: sm.Dim3{X: 64}}), func(b *sm.Block) {
					b.Start(sm.Warps(0, 2, c.f))
				}), sm.RuleSync, c.want...)
			})
		}
	}
}
