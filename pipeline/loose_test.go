package pipeline

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"example.com/leafhopper/barrier"
)

// loose is a program without copies whose memory is gone when Run returns.
type loose struct {
	counts []int // of each slab, not atomic: a slab has one worker at a time
	hook   func(slab int)
}

func (p *loose) Expect(item, cta int) int                                { panic("nothing is copied") }
func (p *loose) Load(_, _, _, _ int, bars []barrier.Barrier)             { panic("nothing is copied") }
func (p *loose) LoadMulticast(stage, _, job int, bars []barrier.Barrier) { panic("nothing is copied") }

func (p *loose) Compute(stage, item, cta, slab int) {
	p.counts[slab]++
	if p.hook != nil {
		p.hook(slab)
	}
}

func looseShape(slabs int) Shape { return Shape{Depth: 1, Items: 1, CTAs: 1, Slabs: slabs} }

// TestLooseReuse runs loose grids in quick succession, so that helpers of one
// are still on their way out when the next is made of the same memory.
func TestLooseReuse(t *testing.T) {
	noLeaks(t)
	c := eager(3)
	within(t, "loose grids", func() {
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				var g Grid
				var p loose
				for n := range 2000 {
					slabs, workers := 1+n%7, 1+n%4
					p.counts = make([]int, slabs)
					if err := g.Reset(noContext, looseShape(slabs), &p, workers); err != nil {
						t.Error(err)
						return
					}
					c.Run(&g, workers)
					if err := g.Err(); err != nil {
						t.Error(err)
					}
					for i, n := range p.counts {
						if n != 1 {
							t.Errorf("slab %d of %d was computed %d times", i, slabs, n)
						}
					}
					g.Clear()
					p = loose{}
				}
			})
		}
		wg.Wait()
	})
	within(t, "Close", c.Close)
}

// uncopied is a program of several items without copies.
type uncopied struct{ loose }

func (*uncopied) Expect(item, cta int) int { return 0 }

// TestLooseAfterStop waits for a helper of a loose grid that was the grid of a ring
// before, which was stopped when all slabs but the last had an item behind them.
func TestLooseAfterStop(t *testing.T) {
	c := eager(1)
	defer c.Close()
	var g Grid
	const slabs = 8
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := &uncopied{loose{counts: make([]int, slabs)}}
	p.hook = func(slab int) {
		if slab == slabs-2 {
			cancel()
		}
	}
	if err := g.Reset(ctx, Shape{Depth: 2, Items: 5, CTAs: 1, Slabs: slabs}, p, 1); err != nil {
		t.Fatal(err)
	}
	g.Work(0)
	if err := g.Err(); !errors.Is(err, context.Canceled) {
		t.Fatalf("the ring stopped with %v", err)
	}
	for i, n := range p.counts {
		if want := min(1, slabs-1-i); n != want {
			t.Fatalf("slab %d was computed %d times, want %d", i, n, want)
		}
	}
	g.Clear()

	entered := make(chan struct{})
	late := &loose{counts: make([]int, 2), hook: func(slab int) {
		if slab == 1 {
			close(entered)
			time.Sleep(20 * SpinFor) // so that the other parks
		}
	}}
	if err := g.Reset(noContext, looseShape(2), late, 2); err != nil {
		t.Fatal(err)
	}
	within(t, "the loose grid", func() {
		var wg sync.WaitGroup
		wg.Go(func() { g.Work(1) })
		<-entered
		g.Work(0)
		wg.Wait()
	})
	if err := g.Err(); err != nil {
		t.Error(err)
	}
}

// TestLooseMixed uses one grid for loose programs and for others in turn.
func TestLooseMixed(t *testing.T) {
	c := eager(2)
	defer c.Close()
	var g Grid
	for n := range 200 {
		s := looseShape(5)
		if n%3 == 0 {
			s = Shape{Depth: 1 + n%2, Items: 3, CTAs: 1 + n%2, Slabs: 3, Private: 1, Shared: 1}
		}
		complete(t, c, &g, s, 3)
	}
}

// TestLooseStops ends loose grids by a panic and by a context: every worker has
// left when Run returns, and the grid can be used again.
func TestLooseStops(t *testing.T) {
	noLeaks(t)
	c := eager(3)
	defer c.Close()
	var g Grid
	boom := errors.New("boom")
	for n := range 300 {
		ctx, cancel := context.WithCancel(context.Background())
		p := &loose{counts: make([]int, 40)}
		p.hook = func(slab int) {
			switch {
			case slab == n%40 && n%2 == 0:
				panic(boom)
			case slab == n%40:
				cancel()
			}
			runtime.Gosched()
		}
		if err := g.Reset(ctx, looseShape(40), p, 4); err != nil {
			t.Fatal(err)
		}
		c.Run(&g, 4)
		p.counts = nil // a worker that is still there panics, or races
		var err error
		v := thrown(func() { err = g.Err() })
		if n%2 == 0 {
			if r, ok := v.(*RolePanic); !ok || r.Value != boom {
				t.Fatalf("Err threw %v", v)
			}
		} else if v != nil || err != nil && err != context.Canceled {
			// Nothing is left to cancel if that was the last slab.
			t.Fatalf("Err returned %v, threw %v", err, v)
		}
		g.Clear()
		cancel()
		complete(t, c, &g, looseShape(6), 4)
	}
}

// TestLooseLate checks that a loose grid ends without any helper, and that a
// worker that comes when all is done leaves at once.
func TestLooseLate(t *testing.T) {
	p := &loose{counts: make([]int, 9)}
	var g Grid
	if err := g.Reset(noContext, looseShape(9), p, 8); err != nil {
		t.Fatal(err)
	}
	g.Work(0)
	for id := range 8 {
		g.Work(id)
	}
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	for i, n := range p.counts {
		if n != 1 {
			t.Errorf("slab %d was computed %d times", i, n)
		}
	}
}

// TestClaim checks that the workers' own slabs are all slabs, each of one worker, and that
// what was claimed of the run before does not count.
func TestClaim(t *testing.T) {
	var g Grid
	for slabs := 1; slabs < 24; slabs++ {
		for workers := 1; workers < 30; workers += 3 {
			s := looseShape(slabs)
			if err := g.Reset(noContext, s, &loose{}, workers); err != nil {
				t.Fatal(err)
			}
			claimed := make(map[int]int)
			for id := range workers {
				first, end := g.own(id)
				for slab, ok := g.claim(id, first, end); ok; slab, ok = g.claim(id, first, end) {
					if claimed[slab]++; slab < first || slab >= end {
						t.Fatalf("%d slabs: worker %d of %d has %d, of %d to %d", slabs, id, workers, slab, first, end)
					}
				}
				if slabs%2 == 0 && id == workers/2 {
					break // the others have claimed nothing when the next run begins
				}
			}
			if slabs%2 == 1 && len(claimed) != slabs {
				t.Errorf("%d workers claimed %d of %d slabs", workers, len(claimed), slabs)
			}
			for slab, n := range claimed {
				if n > 1 || slab >= slabs {
					t.Errorf("slab %d of %d was claimed %d times by %d workers", slab, slabs, n, workers)
				}
			}
		}
	}
}

// TestLooseSome computes the slabs once each, whichever of the workers come.
func TestLooseSome(t *testing.T) {
	c := eager(5)
	defer c.Close()
	var g Grid
	for n := range 600 {
		s, workers := looseShape([]int{1, 2, 6, 12, 36}[n%5]), 1+n%7
		complete(t, c, &g, s, workers)

		prog := newRecorder(s)
		if err := g.Reset(noContext, s, prog, workers); err != nil {
			t.Fatal(err)
		}
		within(t, "some of the workers", func() {
			var wg sync.WaitGroup
			for id := 1; id < workers; id++ {
				if n>>id&1 == 0 {
					wg.Go(func() { g.Work(id) })
				}
			}
			g.Work(0)
			wg.Wait()
		})
		prog.check(t, describe(s, workers), false)
	}
}

// TestShare shares out as many slabs as there may be among as many workers, whose
// product an int of 32 bits does not hold.
func TestShare(t *testing.T) {
	const n, workers = 1<<20 - 1, 4096
	if got := share(n, workers, workers); got != n {
		t.Errorf("the parts of %d slabs end at %d", n, got)
	}
	if got, want := share(n, workers-1, workers), n-n/workers-1; got != want {
		t.Errorf("the last part of %d slabs begins at %d, want %d", n, got, want)
	}
}

// working computes for some time.
type working struct {
	nothing
	time time.Duration
}

func (b working) Compute(_, _, _, _ int) {
	for start := time.Now(); time.Since(start) < b.time; {
	}
}

// BenchmarkLoose has as many slabs of work as workers. What a run takes longer
// than a slab is what sharing them out costs.
func BenchmarkLoose(b *testing.B) {
	all := runtime.GOMAXPROCS(0)
	for _, work := range []time.Duration{0, 5 * time.Microsecond} {
		for _, workers := range []int{2, 4, 5, 8, 16} {
			if workers > all {
				continue
			}
			b.Run(fmt.Sprintf("work=%v/workers=%d", work, workers), func(b *testing.B) {
				c := eager(all - 1)
				defer c.Close()
				var g Grid
				run := func(slabs, workers int) {
					if err := g.Reset(noContext, looseShape(slabs), working{time: work}, workers); err != nil {
						b.Fatal(err)
					}
					c.Run(&g, workers)
				}
				run(all, all) // all helpers are awake
				for b.Loop() {
					run(workers, workers)
				}
			})
		}
	}
}
