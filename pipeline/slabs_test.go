package pipeline

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
)

// counted is a program of slabs whose memory is gone when Run returns.
type counted struct {
	counts []int // of each slab, not atomic: a slab has one worker at a time
	hook   func(slab int)
}

func (p *counted) Compute(slab int) {
	p.counts[slab]++
	if p.hook != nil {
		p.hook(slab)
	}
}

// check wants every slab to be computed once.
func (p *counted) check(t *testing.T, what string) {
	t.Helper()
	for i, n := range p.counts {
		if n != 1 {
			t.Errorf("%s: slab %d of %d was computed %d times", what, i, len(p.counts), n)
		}
	}
}

// completeSlabs runs n slabs on s and c to their end and checks them.
func completeSlabs(t *testing.T, c *Crew, s *Slabs, n, workers int) {
	t.Helper()
	what := fmt.Sprintf("%d slabs, %d workers", n, workers)
	p := &counted{counts: make([]int, n)}
	if err := s.Reset(noContext, n, p, workers); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	within(t, what, func() { c.Run(s, workers) })
	if err := s.Err(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	p.check(t, what)
}

// TestSlabsReuse runs slabs in quick succession, so that helpers of one run
// are still on their way out when the next is made of the same memory.
func TestSlabsReuse(t *testing.T) {
	noLeaks(t)
	c := eager(3)
	within(t, "runs of slabs", func() {
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				var s Slabs
				var p counted
				for n := range 2000 {
					slabs, workers := 1+n%7, 1+n%4
					p.counts = make([]int, slabs)
					if err := s.Reset(noContext, slabs, &p, workers); err != nil {
						t.Error(err)
						return
					}
					c.Run(&s, workers)
					if err := s.Err(); err != nil {
						t.Error(err)
					}
					p.check(t, "a run")
					s.Clear()
					p = counted{}
				}
			})
		}
		wg.Wait()
	})
	within(t, "Close", c.Close)
}

// TestSlabsPark has a slab take so long that the first worker, which waits for it, parks.
func TestSlabsPark(t *testing.T) {
	entered, waits := make(chan struct{}), make(chan struct{})
	p := &counted{counts: make([]int, 2), hook: func(slab int) {
		if slab == 0 {
			close(waits)
			return
		}
		close(entered)
		<-waits
		time.Sleep(100 * SpinFor)
	}}
	var s Slabs
	if err := s.Reset(noContext, 2, p, 2); err != nil {
		t.Fatal(err)
	}
	within(t, "the slabs", func() {
		var wg sync.WaitGroup
		wg.Go(func() { s.Work(1) })
		<-entered
		s.Work(0)
		wg.Wait()
	})
	if err := s.Err(); err != nil {
		t.Error(err)
	}
	p.check(t, "two slabs")
	if st := s.Stats(); st.ConsumerWait <= 0 || st.ProducerWait != 0 || st.Copy != 0 {
		t.Errorf("%+v, want a wait for the other's slab", st)
	}
}

// TestSlabsAndGrid has a crew lend the same helpers to slabs and to grids in turn.
func TestSlabsAndGrid(t *testing.T) {
	c := eager(2)
	defer c.Close()
	var g Grid
	var s Slabs
	for n := range 200 {
		if n%3 != 0 {
			completeSlabs(t, c, &s, 5, 3)
			continue
		}
		complete(t, c, &g, Shape{Depth: 1 + n%2, Items: 3, CTAs: 1 + n%2, Slabs: 3, Private: 1, Shared: 1}, 3)
	}
}

// TestSlabsLimits checks what Reset refuses.
func TestSlabsLimits(t *testing.T) {
	for _, c := range []struct {
		n, workers int
		prog       SlabProgram
		want       string
	}{
		{0, 1, working{}, "pipeline: 0 slabs are outside 1..1048575"},
		{1 << 20, 1, working{}, "pipeline: 1048576 slabs are outside 1..1048575"},
		{1, 0, working{}, "pipeline: 0 workers, want at least 1"},
		{1, 1, nil, "pipeline: nil SlabProgram"},
	} {
		if err := new(Slabs).Reset(noContext, c.n, c.prog, c.workers); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// TestSlabsStop ends slabs by a panic and by a context: every worker has
// left when Run returns, and the slabs can be used again.
func TestSlabsStop(t *testing.T) {
	noLeaks(t)
	c := eager(3)
	defer c.Close()
	var s Slabs
	boom := errors.New("boom")
	for n := range 300 {
		ctx, cancel := context.WithCancel(context.Background())
		p := &counted{counts: make([]int, 40)}
		p.hook = func(slab int) {
			switch {
			case slab == n%40 && n%2 == 0:
				panic(boom)
			case slab == n%40:
				cancel()
			}
			runtime.Gosched()
		}
		if err := s.Reset(ctx, 40, p, 4); err != nil {
			t.Fatal(err)
		}
		c.Run(&s, 4)
		p.counts = nil // a worker that is still there panics, or races
		var err error
		v := thrown(func() { err = s.Err() })
		if n%2 == 0 {
			if r, ok := v.(*RolePanic); !ok || r.Value != boom {
				t.Fatalf("Err threw %v", v)
			}
		} else if v != nil || err != nil && err != context.Canceled {
			// Nothing is left to cancel if that was the last slab.
			t.Fatalf("Err returned %v, threw %v", err, v)
		}
		s.Clear()
		cancel()
		completeSlabs(t, c, &s, 6, 4)
	}
}

// TestSlabsLate checks that slabs end without any helper, and that a
// worker that comes when all is done leaves at once.
func TestSlabsLate(t *testing.T) {
	p := &counted{counts: make([]int, 9)}
	var s Slabs
	if err := s.Reset(noContext, 9, p, 8); err != nil {
		t.Fatal(err)
	}
	s.Work(0)
	for id := range 8 {
		s.Work(id)
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	p.check(t, "the first worker alone")
}

// TestClaim checks that the workers' own slabs are all slabs, each of one worker, and that
// what was claimed of the run before does not count.
func TestClaim(t *testing.T) {
	var s Slabs
	for slabs := 1; slabs < 24; slabs++ {
		for workers := 1; workers < 30; workers += 3 {
			if err := s.Reset(noContext, slabs, &counted{}, workers); err != nil {
				t.Fatal(err)
			}
			claimed := make(map[int]int)
			for id := range workers {
				first, end := s.own(id)
				for slab, ok := s.claim(id, first, end); ok; slab, ok = s.claim(id, first, end) {
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

// TestSlabsSome computes the slabs once each, whichever of the workers come.
func TestSlabsSome(t *testing.T) {
	c := eager(5)
	defer c.Close()
	var s Slabs
	for n := range 600 {
		slabs, workers := []int{1, 2, 6, 12, 36}[n%5], 1+n%7
		completeSlabs(t, c, &s, slabs, workers)

		p := &counted{counts: make([]int, slabs)}
		if err := s.Reset(noContext, slabs, p, workers); err != nil {
			t.Fatal(err)
		}
		within(t, "some of the workers", func() {
			var wg sync.WaitGroup
			for id := 1; id < workers; id++ {
				if n>>id&1 == 0 {
					wg.Go(func() { s.Work(id) })
				}
			}
			s.Work(0)
			wg.Wait()
		})
		p.check(t, fmt.Sprintf("%d slabs, some of %d workers", slabs, workers))
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
type working struct{ time time.Duration }

func (b working) Compute(int) {
	for start := time.Now(); time.Since(start) < b.time; {
	}
}

// BenchmarkSlabs has as many slabs of work as workers. What a run takes longer
// than a slab is what sharing them out costs.
func BenchmarkSlabs(b *testing.B) {
	all := runtime.GOMAXPROCS(0)
	for _, work := range []time.Duration{0, 5 * time.Microsecond} {
		for _, workers := range []int{2, 4, 5, 8, 16} {
			if workers > all {
				continue
			}
			b.Run(fmt.Sprintf("work=%v/workers=%d", work, workers), func(b *testing.B) {
				c := eager(all - 1)
				defer c.Close()
				var s Slabs
				run := func(slabs, workers int) {
					if err := s.Reset(noContext, slabs, working{work}, workers); err != nil {
						b.Fatal(err)
					}
					c.Run(&s, workers)
				}
				run(all, all) // all helpers are awake
				for b.Loop() {
					run(workers, workers)
				}
			})
		}
	}
}
