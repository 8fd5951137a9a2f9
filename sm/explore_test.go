package sm_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/sm"
)

// lost is a kernel whose threads lose an update if one is switched away between a load and a
// store, which no check sees.
func lost(b *sm.Block) {
	count := &sm.Shared[atomic.Int32](b, 1, 4).Elements()[0]
	count.Store(0)
	b.Threads(func(t *sm.Thread) {
		t.ThreadFence(sm.ScopeBlock)
		n := count.Load()
		t.ThreadFence(sm.ScopeBlock)
		count.Store(n + 1)
		t.SyncThreads()
		n = count.Load()
		assert(n == int32(b.Dim.Size()), "an update is lost: %d", n)
	})
}

// TestExploreShrinks: one switch is what it takes to lose an update, and one is what is reported.
func TestExploreShrinks(t *testing.T) {
	for _, c := range []struct {
		cfg  sm.Config
		want []string
	}{
		{sm.Config{Block: sm.Dim3{X: 2}}, []string{"before ThreadFence at explore_test.go:", " -> thread "}},
		{sm.Config{Block: sm.Dim3{X: 64}}, []string{"before ThreadFence at explore_test.go:", " -> thread "}},
		{sm.Config{Block: sm.Dim3{X: 8}, Grid: sm.Dim3{X: 3}}, []string{
			" of CTA (", "before ThreadFence at explore_test.go:", " -> thread ",
		}},
	} {
		f := fault(t, sm.Explore(t.Context(), c.cfg, 100, lost))
		t.Log(f)
		if f.Rule != sm.RulePanic || len(f.Switches) != 1 {
			t.Errorf("%v of threads: %d switches, want 1: %v", c.cfg.Block, len(f.Switches), f)
		}
		contains(t, f, append(c.want, "an update is lost", "seed", "agents run until they wait, except:")...)
		again := c.cfg
		again.Check, again.Seed = true, f.Seed
		if g := fault(t, launch(t, again, lost)); g.Rule != f.Rule || g.Site != f.Site {
			t.Errorf("seed %d: %v at %s, then %v at %s", f.Seed, f.Rule, f.Site, g.Rule, g.Site)
		}
	}
}

// TestExploreCopies: that a copy lands too early for a kernel that overwrites what it reads
// takes one switch, to the copy.
func TestExploreCopies(t *testing.T) {
	in := ramp(4)
	kernel := func(b *sm.Block) {
		x, bar := sm.Shared[int32](b, 4, 16), b.Barrier()
		b.Threads(func(t *sm.Thread) {
			bar.Init(t, 1)
			x.Write(t, 0, in)
			bar.ArriveTx(t, 1, 16)
			sm.LoadBulk(t, x, []int32{7, 7, 7, 7}, bar)
			t.ThreadFence(sm.ScopeBlock)
			n := x.Elements()[3] // which no check sees
			bar.WaitParity(t, 0)
			assert(n == 3, "the copy has landed: %d", n)
		})
	}
	f := fault(t, sm.Explore(t.Context(), sm.Config{Schedule: sm.Random}, 200, kernel))
	t.Log(f)
	if len(f.Switches) != 1 {
		t.Errorf("%d switches, want 1", len(f.Switches))
	}
	contains(t, f, "thread 0 before ", " -> the LoadBulk by thread 0 at explore_test.go:")
	if err := sm.Explore(t.Context(), sm.Config{Schedule: sm.Late}, 50, kernel); err != nil {
		t.Errorf("as late as it may: %v", err)
	}
	f = fault(t, sm.Explore(t.Context(), sm.Config{Schedule: sm.Eager}, 5, kernel))
	if len(f.Switches) != 0 {
		t.Errorf("as early as it may: %d switches, want 0", len(f.Switches))
	}
}

// TestExploreSpins: an agent that loops until another has stored something lets it do so, in the
// schedules that Explore tries as well.
func TestExploreSpins(t *testing.T) {
	f := fault(t, sm.Explore(t.Context(), sm.Config{Block: sm.Dim3{X: 8}}, 5, func(b *sm.Block) {
		turn := &sm.Shared[atomic.Int32](b, 1, 4).Elements()[0]
		b.Threads(func(t *sm.Thread) {
			if t.Rank() == 7 {
				turn.Store(7)
			}
			for turn.Load() != int32(t.Rank()) {
				t.ThreadFence(sm.ScopeBlock)
			}
			turn.Store(int32(t.Rank() - 1))
			assert(t.Rank() != 0, "the last")
		})
	}))
	if len(f.Switches) != 0 {
		t.Errorf("%d switches, want 0", len(f.Switches))
	}
	contains(t, f, "the last")
}

// TestExploreSpinsBesideCopy: of agents that loop until memory changes, any number lets a copy land that somebody
// waits for to change it.
func TestExploreSpinsBesideCopy(t *testing.T) {
	src := ramp(4)
	var flag atomic.Bool
	for _, mode := range modes[1:] {
		cfg := sm.Config{Grid: sm.Dim3{X: 3}, Resident: 3, Schedule: mode.Schedule, Reset: func() { flag.Store(false) }}
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		if err := sm.Explore(ctx, cfg, 20, func(b *sm.Block) {
			dst, bar := sm.Shared[int32](b, 4, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				for b.Idx.X > 0 && !flag.Load() {
					t.ThreadFence(sm.ScopeDevice)
				}
				if b.Idx.X == 0 {
					bar.Init(t, 1)
					bar.ArriveTx(t, 1, dst.Size())
					sm.LoadBulk(t, dst, src, bar)
					bar.WaitParity(t, 0)
					flag.Store(true)
				}
			})
		}); err != nil {
			t.Errorf("%v: %v", mode.Schedule, err)
		}
		stop()
	}
}

// TestExplore checks what Explore returns if there is no fault.
func TestExplore(t *testing.T) {
	launches := 0
	kernel := func(*sm.Block) { launches++ }
	if err := sm.Explore(t.Context(), sm.Config{}, 17, kernel); err != nil || launches != 17 {
		t.Errorf("%d launches, want 17: %v", launches, err)
	}
	if err := sm.Explore(t.Context(), sm.Config{}, 0, kernel); err == nil {
		t.Error("no seeds are accepted")
	}
	if err := sm.Explore(t.Context(), sm.Config{Block: sm.Dim3{X: 2000}}, 1, kernel); err == nil {
		t.Error("a block of 2,000 threads is accepted")
	}
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	err := sm.Explore(ctx, sm.Config{}, 1000, func(b *sm.Block) {
		b.Threads(func(t *sm.Thread) {
			cancel(why)
			for {
				t.SyncThreads()
			}
		})
	})
	if !errors.Is(err, why) {
		t.Errorf("%v, want the cause", err)
	}
}

// TestExploreLate: what goes wrong only if somebody begins hundreds of operations after others is found, by threads and
// by CTAs.
func TestExploreLate(t *testing.T) {
	thread := func(b *sm.Block) {
		x := sm.Shared[int32](b, 2, 4)
		b.Threads(func(t *sm.Thread) {
			if t.Rank() == 0 {
				x.Store(t, 0, 7)
				return
			}
			for range 300 {
				x.Store(t, 1, 1)
			}
			assert(x.Load(t, 0) == 7, "thread 0 is late")
		})
	}
	cta := func(b *sm.Block) {
		x, bar := sm.Shared[int32](b, 1, 4), b.Barrier()
		b.Threads(func(t *sm.Thread) {
			if b.ClusterRank() == 0 {
				bar.Init(t, 1)
				bar.WaitParity(t, 0)
			} else {
				for range 300 {
					x.Store(t, 0, 1)
				}
				bar.MapShared(0).Arrive(t)
			}
			t.ClusterSync()
		})
	}
	for name, c := range map[string]struct {
		cfg    sm.Config
		kernel sm.Kernel
	}{
		"thread": {sm.Config{Block: sm.Dim3{X: 2}}, thread},
		"CTA":    {sm.Config{Grid: sm.Dim3{X: 2}, Cluster: sm.Dim3{X: 2}}, cta},
	} {
		f := fault(t, sm.Explore(t.Context(), c.cfg, 100, c.kernel))
		t.Log(name, f)
		if len(f.Switches) > 2 {
			t.Errorf("%s: %d switches, want 2 at most", name, len(f.Switches))
		}
	}
}

// TestSeedsDiffer: another seed is another order.
func TestSeedsDiffer(t *testing.T) {
	orders := map[string]bool{}
	for seed := range uint64(20) {
		var order []byte
		err := launch(t, sm.Config{Check: true, Seed: seed, Block: sm.Dim3{X: 8}}, func(b *sm.Block) {
			b.Threads(func(t *sm.Thread) {
				t.FenceProxyAsync()
				order = append(order, byte('0'+t.Rank()))
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		orders[string(order)] = true
	}
	if len(orders) < 15 {
		t.Errorf("20 seeds make %d orders", len(orders))
	}
}

// TestMemoryOfSpin has agents loop under Check for twice as many switches as are kept.
func TestMemoryOfSpin(t *testing.T) {
	if race.Enabled {
		t.Skip("millions of operations take seconds")
	}
	const operations = 8 * sm.MostNoted // of which every fourth is a switch
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var n atomic.Int32
	err := launch(t, sm.Config{Grid: sm.Dim3{X: 2}, Check: true}, func(b *sm.Block) {
		b.Threads(func(th *sm.Thread) {
			for n.Add(1) < operations {
				th.ThreadFence(sm.ScopeDevice)
			}
		})
	})
	runtime.ReadMemStats(&after)
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; err != nil || mb > 64 {
		t.Errorf("%d MB for %d operations: %v", mb, operations, err)
	}
}

// TestExploreNamesSeed finds a fault that no switch is needed for.
func TestExploreNamesSeed(t *testing.T) {
	err := sm.Explore(t.Context(), sm.Config{Seed: 7}, 1, func(b *sm.Block) {
		bar := b.Barrier()
		b.Threads(func(t *sm.Thread) { bar.Arrive(t) })
	})
	if err == nil || !strings.Contains(err.Error(), "seed 7") {
		t.Errorf("got %v, want its seed, 7", err)
	}
}

// TestReset explores a kernel that changes what it reads in global memory.
func TestReset(t *testing.T) {
	var next atomic.Int32
	kernel := func(b *sm.Block) {
		b.Threads(func(t *sm.Thread) {
			if next.Add(1) != 1 {
				panic("not the first")
			}
		})
	}
	reset := func() { next.Store(0) }
	if err := sm.Explore(t.Context(), sm.Config{Reset: reset}, 20, kernel); err != nil {
		t.Error(err)
	}
	faultOf(t, sm.Explore(t.Context(), sm.Config{}, 20, kernel), sm.RulePanic, "not the first")
}

// TestVerify explores a kernel that has no fault, and in some orders a wrong result.
func TestVerify(t *testing.T) {
	var out int32
	errWrong := errors.New("out is wrong")
	cfg := sm.Config{Block: sm.Dim3{X: 2}, Name: "unsynced", Reset: func() { out = 0 }, Verify: func() error {
		if out != 42 {
			return errWrong
		}
		return nil
	}}
	kernel := func(sync bool) sm.Kernel {
		return func(b *sm.Block) {
			x := &sm.Shared[atomic.Int32](b, 1, 4).Elements()[0]
			b.Threads(func(t *sm.Thread) {
				t.ThreadFence(sm.ScopeBlock)
				if t.Rank() == 0 {
					x.Store(42)
				}
				if sync {
					t.SyncThreads()
				}
				if t.Rank() == 1 {
					out = x.Load()
				}
			})
		}
	}
	if err := sm.Explore(t.Context(), cfg, 50, kernel(true)); err != nil {
		t.Error(err)
	}
	err := sm.Explore(t.Context(), cfg, 50, kernel(false))
	faultOf(t, err, sm.RuleResult, "sm: result: unsynced: out is wrong\n  seed ", "-> thread 1 at its start")
	f := fault(t, err)
	if !errors.Is(err, errWrong) || len(f.Switches) != 1 {
		t.Errorf("%d switches, want 1: %v", len(f.Switches), err)
	}
	cfg.Check, cfg.Seed = true, f.Seed
	faultOf(t, launch(t, cfg, kernel(false)), sm.RuleResult)
	cfg.Check = false
	if err := launch(t, cfg, func(*sm.Block) {}); err == nil || err.Error() != "sm: result: unsynced: out is wrong" {
		t.Errorf("in free mode: %v", err)
	}
	cfg.Verify = func() error { t.Error("a launch with a fault is verified"); return nil }
	faultOf(t, launch(t, cfg, func(*sm.Block) { panic("no result") }), sm.RulePanic)
}
