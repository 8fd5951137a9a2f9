package pipeline

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"example.com/leafhopper/barrier"
)

func (c *Crew) count() (alive, waiting, open int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.seats {
		if s.call.Load() == &idle {
			waiting++
		}
	}
	return c.alive, waiting, int(c.open.Load())
}

// TestCrewShared runs many grids at once on one crew.
func TestCrewShared(t *testing.T) {
	noLeaks(t)
	const limit, callers = 3, 8
	c := NewCrew(limit)
	within(t, "grids on a shared crew", func() {
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				var g Grid
				var task Task
				for n := range 25 {
					s := Shape{Depth: 1 + n%4, Items: 10, CTAs: 1 + n%3, Slabs: 1 + i%4, Private: 1, Shared: 1}
					workers := 1 + (n+i)%6
					prog := newRecorder(s)
					if err := g.Reset(context.Background(), s, prog, workers); err != nil {
						t.Error(err)
						return
					}
					c.Run(&task, &g, workers)
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
					if alive, idle, open := c.count(); alive > limit || idle < 0 || idle > alive || open < 0 {
						t.Errorf("%d helpers of %d, %d idle, %d places open", alive, limit, idle, open)
					}
				}
			})
		}
		wg.Wait()
	})
	within(t, "Close", c.Close)
	if alive, idle, open := c.count(); alive != 0 || idle != 0 || open != 0 || len(c.tasks) != 0 {
		t.Errorf("after Close: %d helpers, %d idle, %d places open, %d tasks", alive, idle, open, len(c.tasks))
	}
	if n := busy.Load(); n != 0 {
		t.Errorf("after Close: %d goroutines count as busy", n)
	}
}

// TestCrewIdles checks that helpers end by themselves, and that the crew finds
// new ones afterwards.
func TestCrewIdles(t *testing.T) {
	noLeaks(t)
	c := NewCrew(3)
	defer c.Close()
	for range 3 {
		complete(t, c, new(Task), new(Grid), Shape{Depth: 2, Items: 20, CTAs: 1, Slabs: 2, Private: 1}, 4)
		c.waitEmpty(t)
	}
}

// waitEmpty returns when the helpers have ended by themselves.
func (c *Crew) waitEmpty(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		alive, idle, open := c.count()
		if alive == 0 {
			if idle != 0 || open != 0 {
				t.Fatalf("no helpers, but %d idle and %d places open", idle, open)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d helpers (%d idle, %d places open) long after the last grid", alive, idle, open)
		}
		time.Sleep(SpinFor)
	}
}

// TestCrewCounts publishes two grids while one helper is idle: it can serve
// only one of them, so another must start.
func TestCrewCounts(t *testing.T) {
	noLeaks(t)
	c := NewCrew(2)
	counted := make(chan struct{})
	c.help = func() { // or the one that starts may have come and gone when they are counted
		<-counted
		c.helper()
	}
	slow := &seat{taken: true}
	slow.call.Store(&idle)
	c.alive, c.seats = 1, []*seat{slow}
	var tasks [2]Task
	for i := range tasks {
		g := new(Grid)
		if err := g.Reset(context.Background(), Shape{Depth: 1, CTAs: 1, Slabs: 1}, nothing{}, 2); err != nil {
			t.Fatal(err)
		}
		tasks[i] = Task{grid: g, next: 1, want: 1}
		c.publish(&tasks[i])
	}
	if alive, _, _ := c.count(); alive != 2 {
		t.Errorf("%d helpers for two places, want 2", alive)
	}
	close(counted)
	for i := range tasks {
		c.retract(&tasks[i])
	}
	if !c.leave(slow) {
		t.Error("the helper that was called but did not come is still wanted")
	}
	c.waitEmpty(t)
	c.Close()
}

// TestCrewHelps checks that helpers do come, to several grids at once.
func TestCrewHelps(t *testing.T) {
	noLeaks(t)
	c := NewCrew(2)
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
			c.Run(new(Task), &g, 2)
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
			c := NewCrew(limit)
			before := runtime.NumGoroutine()
			s := Shape{Depth: 2, Items: 5, CTAs: 2, Slabs: 2, Private: 1, Shared: 1}
			prog := newRecorder(s)
			prog.hook = func(string, int, int) {
				if n := runtime.NumGoroutine(); n > before {
					prog.errorf("%d goroutines, %d before", n, before)
				}
				if _, _, open := c.count(); open != 0 {
					prog.errorf("%d places open", open)
				}
			}
			var g Grid
			if err := g.Reset(noContext, s, prog, workers); err != nil {
				t.Fatal(err)
			}
			c.Run(new(Task), &g, workers)
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
			c := NewCrew(4)
			var g Grid
			var task Task
			run := func() {
				if err := g.Reset(ctx, s, nothing{}, workers); err != nil {
					t.Fatal(err)
				}
				c.Run(&task, &g, workers)
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
