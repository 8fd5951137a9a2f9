package sm_test

import (
	"testing"

	"example.com/leafhopper/sm"
)

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
