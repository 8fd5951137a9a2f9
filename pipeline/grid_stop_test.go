package pipeline

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestGridStops cancels grids at random moments.
func TestGridStops(t *testing.T) {
	noLeaks(t)
	rng := random(t)
	c := eager(5)
	defer c.Close()
	var g Grid
	ended := 0
	for range 150 {
		s := randomShape(rng, 0)
		s.Items = 3000
		prog := newRecorder(s)
		ctx, cancel := context.WithCancel(context.Background())
		workers := 1 + rng.IntN(6)
		what := describe(s, workers)
		if err := g.Reset(ctx, s, prog, workers); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Duration(rng.IntN(1000))*time.Microsecond, cancel)
		within(t, what, func() { c.Run(&g, workers) })
		err := g.Err()
		if err != nil && err != context.Canceled {
			t.Fatalf("%s: %v", what, err)
		}
		if err == nil {
			ended++
		}
		prog.check(t, what, err != nil)
		cancel()
		complete(t, c, &g, randomShape(rng, 10), workers)
	}
	t.Logf("%d of 150 grids ended before they were cancelled", ended)
}

// TestGridLostBytes has a copy that never completes: only the context ends
// such a grid, and it does so when every worker has parked.
func TestGridLostBytes(t *testing.T) {
	s := Shape{Depth: 2, Items: 4, CTAs: 2, Slabs: 2, Private: 1, Shared: 1}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	var g Grid
	if err := g.Reset(ctx, s, lossy{newRecorder(s)}, 3); err != nil {
		t.Fatal(err)
	}
	c := eager(2)
	defer c.Close()
	within(t, "a grid with a lost copy", func() { c.Run(&g, 3) })
	if err := g.Err(); err != context.DeadlineExceeded {
		t.Errorf("%v, want %v", err, context.DeadlineExceeded)
	}
}

// lossy expects a byte more than its copies bring.
type lossy struct{ *recorder }

func (l lossy) Expect(item, cta int) int { return l.recorder.Expect(item, cta) + 1 }

// TestGridPanics has a program panic, or end its goroutine, in each of its
// methods.
func TestGridPanics(t *testing.T) {
	noLeaks(t)
	rng := random(t)
	c := eager(4)
	defer c.Close()
	var g Grid
	boom := errors.New("boom")
	for i := range 120 {
		s := randomShape(rng, 0)
		s.Items, s.Private, s.Shared = 40, 1+s.Private, 1+s.Shared
		workers := 1 + i%5
		method := []string{"Expect", "Load", "LoadMulticast", "Compute"}[i%4]
		item, exit := rng.IntN(s.Items), i%3 == 0
		prog := newRecorder(s)
		prog.hook = func(piece string, at, cta int) {
			if piece == method && at == item {
				if exit {
					runtime.Goexit()
				}
				panic(boom)
			}
		}
		what := method + " in " + describe(s, workers)
		if err := g.Reset(context.Background(), s, prog, workers); err != nil {
			t.Fatal(err)
		}
		within(t, what, func() { c.Run(&g, workers) })
		var err error
		v := thrown(func() { err = g.Err() })
		p, ok := v.(*RolePanic)
		switch {
		case exit:
			if v != nil || err != errGoexit {
				t.Fatalf("Goexit of %s: panic %v, error %v", what, v, err)
			}
		case !ok || p.Value != boom || !errors.Is(p, boom) || !strings.Contains(string(p.Stack), "TestGridPanics"):
			t.Fatalf("panic of %s: Err panicked with %v", what, v)
		}
		prog.check(t, what, true)
		complete(t, c, &g, randomShape(rng, 10), workers)
	}
	c.waitEmpty(t) // a helper that a Goexit has ended is not missed
}

// faulty panics when it first says what the last CTA expects of an item.
type faulty struct {
	*recorder
	item  int
	asked atomic.Int32
}

func (f *faulty) Expect(item, cta int) int {
	if item == f.item && cta == f.CTAs-1 && f.asked.Add(1) == 1 {
		panic("first")
	}
	return f.recorder.Expect(item, cta)
}

// TestGridPanicsOnce has a program panic between the expectations of an item: no other
// worker posts them again while the first is on its way out.
func TestGridPanicsOnce(t *testing.T) {
	c := eager(4)
	defer c.Close()
	var g Grid
	s := Shape{Depth: 3, Items: 8, CTAs: 2, Slabs: 2, Private: 1, Shared: 1}
	for i := range 200 {
		prog := &faulty{recorder: newRecorder(s), item: i % s.Items}
		if err := g.Reset(noContext, s, prog, 4); err != nil {
			t.Fatal(err)
		}
		within(t, "a faulty program", func() { c.Run(&g, 4) })
		p, ok := thrown(func() { t.Errorf("run %d: Err returned %v", i, g.Err()) }).(*RolePanic)
		if !ok || p.Value != "first" || prog.asked.Load() != 1 {
			t.Fatalf("run %d: Err panicked with %v, the last CTA's expectation was asked for %d times", i, p,
				prog.asked.Load())
		}
	}
}

// TestGridCancelledAtTheEnd has the context end while the last slab is
// computed: the grid is complete, so there is nothing to report.
func TestGridCancelledAtTheEnd(t *testing.T) {
	s := Shape{Depth: 2, Items: 3, CTAs: 1, Slabs: 1, Private: 1}
	c := eager(1)
	defer c.Close()
	for range 20 {
		ctx, cancel := context.WithCancel(context.Background())
		prog := newRecorder(s)
		prog.hook = func(piece string, item, _ int) {
			if piece == "Compute" && item == s.Items-1 {
				cancel()
				time.Sleep(100 * time.Microsecond) // the other worker looks at the context
			}
		}
		var g Grid
		if err := g.Reset(ctx, s, prog, 2); err != nil {
			t.Fatal(err)
		}
		within(t, "the grid", func() { c.Run(&g, 2) })
		if err := g.Err(); err != nil {
			t.Fatalf("all of the grid was computed, but Err is %v", err)
		}
		prog.check(t, "cancelled at the end", false)
		cancel()
	}
}
