package pipeline

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"example.com/leafhopper/barrier"
)

// eager returns a crew that starts helpers at once, also for a P that has something to run.
func eager(limit int) *Crew {
	c := NewCrew(limit)
	c.least, c.idle = 0, func() int { return max(0, limit) }
	return c
}

// count returns how many helpers exist, how many of them sit idle, and how many bells ring.
func (c *Crew) count() (alive, waiting, ringing int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.bells {
		for i, s := range b.seats {
			if b.taken[i] && s.heard.Load() == 0 {
				waiting++
			}
		}
		if wanted(b.call.Load()) > 0 {
			ringing++
		}
	}
	return c.alive, waiting, ringing
}

// TestCrewShared runs many grids at once on one crew.
func TestCrewShared(t *testing.T) {
	noLeaks(t)
	const limit, callers = 3, 8
	c := eager(limit)
	within(t, "grids on a shared crew", func() {
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				var g Grid
				for n := range 25 {
					s := Shape{Depth: 1 + n%4, Items: 10, CTAs: 1 + n%3, Slabs: 1 + i%4, Private: 1, Shared: 1}
					workers := 1 + (n+i)%6
					prog := newRecorder(s)
					if err := g.Reset(context.Background(), s, prog, workers); err != nil {
						t.Error(err)
						return
					}
					c.Run(&g, workers)
					if err := g.Err(); err != nil {
						t.Error(err)
					}
					for _, err := range prog.errs {
						t.Error(err)
					}
					for j := range prog.computed {
						if n := prog.computed[j].Load(); n != 1 {
							t.Errorf("slab executed %d times", n)
						}
					}
					if alive, idle, _ := c.count(); alive > limit || idle > alive {
						t.Errorf("%d helpers of %d, %d idle", alive, limit, idle)
					}
				}
			})
		}
		wg.Wait()
	})
	within(t, "Close", c.Close)
	if alive, idle, ringing := c.count(); alive != 0 || idle != 0 || ringing != 0 || len(c.free) != len(c.bells) ||
		len(c.bells) > callers {
		t.Errorf("after Close: %d helpers, %d idle, %d bells ring; %d of %d bells are free", alive, idle, ringing,
			len(c.free), len(c.bells))
	}
	if n := busy.Load(); n != 0 {
		t.Errorf("after Close: %d goroutines count as busy", n)
	}
}

// TestCrewIdles checks that helpers end by themselves, and that the crew finds
// new ones afterwards.
func TestCrewIdles(t *testing.T) {
	noLeaks(t)
	c := eager(3)
	defer c.Close()
	for range 3 {
		complete(t, c, new(Grid), Shape{Depth: 2, Items: 20, CTAs: 1, Slabs: 2, Private: 1}, 4)
		c.waitEmpty(t)
	}
}

// waitEmpty returns when the helpers have ended by themselves.
func (c *Crew) waitEmpty(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		alive, idle, ringing := c.count()
		if alive == 0 {
			if idle != 0 || ringing != 0 {
				t.Fatalf("no helpers, but %d idle and %d bells ring", idle, ringing)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d helpers (%d idle, %d bells ring) long after the last grid", alive, idle, ringing)
		}
		time.Sleep(SpinFor)
	}
}

// TestCrewCounts has two grids ring for a helper each while one is idle, and the first
// ring again when its helper has not come yet.
func TestCrewCounts(t *testing.T) {
	noLeaks(t)
	c := eager(3)
	b := newBell(c)
	slow := helper{Crew: c}
	slow.sit(b)
	counted := make(chan struct{})
	other := newBell(c)
	other.help = func() { // or the one that starts may have come and gone when they are counted
		<-counted
		c.helper(other)
	}
	c.alive, c.bells, c.free = 1, []*bell{b, other}, []*bell{other, b}
	var grids [2]Grid
	var bells [2]*bell
	for i := range grids {
		if err := grids[i].Reset(noContext, Shape{Depth: 1, CTAs: 1, Slabs: 1}, nothing{}, 2); err != nil {
			t.Fatal(err)
		}
		bells[i] = c.publish(&grids[i], 1)
	}
	if bells[0] != b || bells[1] != other {
		t.Error("the first grid does not ring for the helper that exists, or the second does")
	}
	if alive, _, ringing := c.count(); alive != 2 || ringing != 2 {
		t.Errorf("%d helpers for two grids, and %d bells ring, want 2", alive, ringing)
	}
	if slow.leave() {
		t.Error("the helper leaves though it is called")
	}
	close(counted)
	for i := range grids {
		c.retract(&grids[i], bells[i])
	}
	if !slow.leave() {
		t.Error("the helper that was called but did not come is still wanted")
	}
	c.waitEmpty(t)
	c.Close()
}

// TestCrewMoves has a crew of one helper, who sits at another bell than the one that
// rings: it moves there rather than end.
func TestCrewMoves(t *testing.T) {
	c := eager(1)
	b := newBell(c)
	h := helper{Crew: c}
	h.sit(b)
	c.alive, c.bells = 1, []*bell{b}
	var s Slabs
	if err := s.Reset(noContext, 2, working{}, 2); err != nil {
		t.Fatal(err)
	}
	rings := c.publish(&s, 1)
	if h.hear() != nil {
		t.Error("the helper hears another's bell")
	}
	if h.leave() || h.bell != rings || b.taken[0] || !rings.taken[0] {
		t.Errorf("the helper ends, or sits at %p; %p rings", h.bell, rings)
	}
	if h.hear() != &s || h.hear() != nil {
		t.Error("the helper does not hear the bell once")
	}
	h.lend(&s)
	s.Work(0)
	c.retract(&s, rings)
	if !h.leave() || c.alive != 0 {
		t.Error("the helper does not end when no bell rings")
	}
	if err := s.Err(); err != nil {
		t.Error(err)
	}
}

// TestCrewHelps checks that helpers do come, to several grids at once.
func TestCrewHelps(t *testing.T) {
	noLeaks(t)
	c := eager(2)
	defer c.Close()
	// Each grid needs two workers: the slabs of an item meet.
	var wg sync.WaitGroup
	for range 2 {
		s := Shape{Depth: 1, Items: 5, CTAs: 1, Slabs: 2}
		prog := newRecorder(s)
		meet := make(chan int)
		prog.hook = func(piece string, item, _ int) {
			if piece != "Compute" {
				return
			}
			select {
			case meet <- item:
			case other := <-meet:
				if other != item {
					prog.errorf("items %d and %d meet", other, item)
				}
			case <-time.After(20 * time.Second):
				prog.errorf("item %d: no helper came", item)
			}
		}
		var g Grid
		if err := g.Reset(context.Background(), s, prog, 2); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			c.Run(&g, 2)
			for _, err := range prog.errs {
				t.Error(err)
			}
		})
	}
	within(t, "two grids that need two workers each", wg.Wait)
}

// TestCrewAlone checks that a grid for one worker, or without a crew to speak
// of, runs inline.
func TestCrewAlone(t *testing.T) {
	for _, limit := range []int{-1, 0, 1} {
		for _, workers := range []int{1, 2} {
			if limit > 0 && workers > 1 {
				continue
			}
			c := eager(limit)
			before := runtime.NumGoroutine()
			s := Shape{Depth: 2, Items: 5, CTAs: 2, Slabs: 2, Private: 1, Shared: 1}
			prog := newRecorder(s)
			prog.hook = func(string, int, int) {
				if n := runtime.NumGoroutine(); n > before {
					prog.errorf("%d goroutines, %d before", n, before)
				}
				if _, _, ringing := c.count(); ringing != 0 {
					prog.errorf("%d bells ring", ringing)
				}
			}
			var g Grid
			if err := g.Reset(noContext, s, prog, workers); err != nil {
				t.Fatal(err)
			}
			c.Run(&g, workers)
			if err := g.Err(); err != nil {
				t.Fatal(err)
			}
			prog.check(t, describe(s, workers), false)
			c.Close()
		}
	}
}

// nothing is a program whose pieces neither cost nor allocate anything.
type nothing struct{}

func (nothing) Expect(item, cta int) int { return 4 }

func (nothing) Load(_, _, _, _ int, bars []barrier.Barrier) { bars[0].CompleteTx(1) }

func (nothing) LoadMulticast(_, _, _ int, bars []barrier.Barrier) {
	for i := range bars {
		bars[i].CompleteTx(1)
	}
}

func (nothing) Compute(_, _, _, _ int) {}

func TestCrewAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	s := Shape{Depth: 4, Items: 12, CTAs: 2, Slabs: 4, Private: 2, Shared: 2}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, workers := range []int{1, 2, 3} {
		for _, pause := range []time.Duration{0, 3 * SpinFor} {
			c := eager(4)
			var g Grid
			run := func() {
				if err := g.Reset(ctx, s, nothing{}, workers); err != nil {
					t.Fatal(err)
				}
				c.Run(&g, workers)
				if err := g.Err(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(pause) // helpers end, and new ones must start
			}
			for range 20 {
				run()
			}
			if n := testing.AllocsPerRun(50, run); n != 0 {
				t.Errorf("%d workers, pause %v: %v allocations a run on one processor", workers, pause, n)
			}
			var before, after runtime.MemStats
			const runs = 50
			runtime.ReadMemStats(&before)
			for range runs {
				run()
			}
			runtime.ReadMemStats(&after)
			if n := after.Mallocs - before.Mallocs; n >= runs {
				t.Errorf("%d workers, pause %v: %d allocations in %d runs", workers, pause, n, runs)
			}
			c.Close()
		}
	}
}
