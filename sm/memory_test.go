package sm_test

import (
	"testing"
	"time"

	"example.com/leafhopper/sm"
)

// TestGlobalChain: agents that have looked in vain for long are told one by another, and are no deadlock before all
// have looked once more.
func TestGlobalChain(t *testing.T) {
	t.Parallel()
	flags := make([]uint32, 8)
	for _, m := range modes[:2] {
		cfg := in(m, sm.Config{Grid: sm.Dim3{X: 8}, Resident: 8, Reset: func() { clear(flags) }})
		if err := launch(t, cfg, func(b *sm.Block) {
			full := sm.Global(b, flags)
			b.Threads(func(t *sm.Thread) {
				if b.Idx.X < 7 {
					for sm.AtomicLoad(t, full.At(b.Idx.X+1)) == 0 {
					}
				} else if m.Check {
					for range 300_000 {
						t.SyncWarp()
					}
				} else {
					time.Sleep(toLook + 200*time.Millisecond)
				}
				sm.AtomicStore(t, full.At(b.Idx.X), 1)
			})
		}); err != nil {
			t.Errorf("%s: %v", mode(m), err)
		}
	}
}

// toLook is longer than agents look in vain before they count as waiting.
const toLook = 500 * time.Millisecond

// TestGlobalMany: what many CTAs tell each other by fences and grid.sync takes no longer for what they have told.
func TestGlobalMany(t *testing.T) {
	data, flags := make([]int32, 2048), make([]uint32, 256)
	cfg := sm.Config{Grid: sm.Dim3{X: 264}, Cooperative: true, Check: true, Reset: func() { clear(flags) }}
	soon(t, "20 phases of grid.sync", 100*time.Millisecond, func() {
		if err := launch(t, cfg, func(b *sm.Block) {
			x := sm.Global(b, data)
			b.Threads(func(t *sm.Thread) {
				for i := range 20 {
					x.Store(t, i%2*1024+b.Idx.X, 1)
					t.GridSync()
					x.Load(t, i%2*1024+(b.Idx.X+1)%264)
				}
			})
		}); err != nil {
			t.Fatal(err)
		}
	})
	soon(t, "20 fences of each CTA", 100*time.Millisecond, func() {
		if err := launch(t, cfg, func(b *sm.Block) {
			x, full := sm.Global(b, data), sm.Global(b, flags)
			b.Threads(func(t *sm.Thread) {
				for range 20 {
					x.Store(t, b.Idx.X, 1)
					t.ThreadFence(sm.ScopeDevice)
					sm.AtomicAdd(t, full.At(b.Idx.X/2), 1)
				}
			})
		}); err != nil {
			t.Fatal(err)
		}
	})
	soon(t, "atomics of one word", 100*time.Millisecond, func() {
		if err := launch(t, cfg, func(b *sm.Block) {
			next := sm.Global(b, flags)
			b.Threads(func(t *sm.Thread) {
				for range 100 {
					sm.AtomicAdd(t, next, 1)
					t.SyncThreads()
				}
			})
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// TestGlobalDeadlockOfMany: a grid barrier to which one CTA does not come has one line for all that wait alike.
func TestGlobalDeadlockOfMany(t *testing.T) {
	t.Parallel()
	const ctas = 40
	count := make([]uint32, 1)
	for _, m := range modes[:2] {
		cfg := in(m, sm.Config{
			Grid: sm.Dim3{X: ctas}, Block: sm.Dim3{X: 3}, Resident: ctas, Reset: func() { clear(count) },
		})
		f := fault(t, launch(t, cfg, func(b *sm.Block) {
			arrived := sm.Global(b, count)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 && b.Idx.X > 0 {
					sm.AtomicAdd(t, arrived, 1)
					for sm.AtomicLoad(t, arrived) < ctas {
					}
				}
				t.SyncThreads()
			})
		}))
		contains(t, f, "117 of 120 agents wait", "CTA (1,0,0)", "thread 0 and those of 38 CTAs more",
			"waits for element 0 of arrived to change from 39")
		if n := len(f.Waits); n > 3 { // of SyncThreads with one or the other thread the last
			t.Errorf("%s: %d lines, want 3 at most", mode(m), n)
		}
	}
}

// TestGlobalElsewhere: an array of a launch before, or none.
func TestGlobalElsewhere(t *testing.T) {
	t.Parallel()
	data := make([]int32, 4)
	for _, before := range modes[:2] {
		var kept *sm.Array[int32]
		if err := launch(t, before, func(b *sm.Block) {
			kept = sm.Global(b, data)
			b.Threads(func(t *sm.Thread) { kept.Load(t, 0) })
		}); err != nil {
			t.Fatal(err)
		}
		for _, m := range modes[:2] {
			for _, access := range []func(t *sm.Thread){
				func(t *sm.Thread) { kept.Store(t, 1, 1) },
				func(t *sm.Thread) { sm.AtomicAdd(t, kept, 1) },
			} {
				faultOf(t, launch(t, m, func(b *sm.Block) { b.Threads(access) }), sm.RuleGlobal,
					"kept is of a launch before: a CTA declares what it accesses")
			}
		}
	}
	none := new(sm.Array[int32])
	for _, m := range modes[:2] {
		faultOf(t, launch(t, m, func(b *sm.Block) {
			b.Threads(func(t *sm.Thread) { none.Load(t, 0) })
		}), sm.RuleShared, "Load: element 0 of the zero Array, which has 0")
		faultOf(t, launch(t, m, func(b *sm.Block) {
			b.Threads(func(t *sm.Thread) { sm.SharedRank(none) })
		}), sm.RulePanic, "SharedRank of the zero Array")
	}
}
