package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/leafhopper/barrier"
)

func TestGrid(t *testing.T) {
	noLeaks(t)
	rng := random(t)
	c := eager(7)
	defer c.Close()
	var g Grid
	for depth := 1; depth <= MaxDepth; depth++ {
		for workers := 1; workers <= 8; workers++ {
			for ctas := 1; ctas <= 3; ctas++ {
				for _, items := range []int{0, 1, 2, 7, 50} {
					if raceEnabled && rng.IntN(3) != 0 {
						continue
					}
					complete(t, c, &g, Shape{
						Depth: depth, Items: items, CTAs: ctas,
						Slabs:   []int{1, 2, 3, 8}[rng.IntN(4)],
						Private: []int{0, 1, 4}[rng.IntN(3)],
						Shared:  []int{0, 1, 3}[rng.IntN(3)],
					}, workers)
				}
			}
		}
	}
}

// TestGridMembers lets workers join late or never, under any subset of the ids.
func TestGridMembers(t *testing.T) {
	noLeaks(t)
	rng := random(t)
	var g Grid
	for range 200 {
		s := randomShape(rng, 30)
		const workers = 6
		prog := newRecorder(s)
		if err := g.Reset(noContext, s, prog, workers); err != nil {
			t.Fatal(err)
		}
		ids := rng.Perm(workers)[:1+rng.IntN(workers)]
		what := describe(s, workers)
		within(t, what, func() {
			var wg sync.WaitGroup
			for i, id := range ids {
				late := time.Duration(0)
				if i > 0 && rng.IntN(2) == 0 {
					late = time.Duration(rng.IntN(200)) * time.Microsecond
				}
				wg.Go(func() {
					time.Sleep(late)
					g.Work(id)
				})
			}
			wg.Wait()
		})
		if err := g.Err(); err != nil {
			t.Fatalf("%s, of which %v came: %v", what, ids, err)
		}
		prog.check(t, what, false)
	}
}

func randomShape(rng *rand.Rand, items int) Shape {
	return Shape{
		Depth: 1 + rng.IntN(MaxDepth), Items: rng.IntN(items + 1), CTAs: 1 + rng.IntN(3),
		Slabs: 1 + rng.IntN(8), Private: rng.IntN(4), Shared: rng.IntN(3),
	}
}

// TestGridOrder fills three stages and follows one worker through them: the
// slab that is furthest behind comes first, its own before others.
func TestGridOrder(t *testing.T) {
	s := Shape{Depth: 3, Items: 3, CTAs: 2, Slabs: 2, Private: 1, Shared: 1}
	prog := newRecorder(s)
	var g Grid
	if err := g.Reset(noContext, s, prog, 4); err != nil {
		t.Fatal(err)
	}
	w := worker{Grid: &g, first: 2}
	w.begin(&g.team, 0)
	for g.issue() || w.copy() {
	}
	for n := range s.Items * s.CTAs * s.Slabs {
		item, slab := n/4, (2+n)%4
		if !w.compute() || prog.computed[item*4+slab].Load() != 1 {
			t.Fatalf("step %d did not compute slab %d of item %d", n, slab, item)
		}
	}
	if w.compute() || !g.finished.TestWaitParity(0) {
		t.Error("the grid did not end with its last slab")
	}
	prog.check(t, "by hand", false)
}

// TestGridWide has the largest cluster.
func TestGridWide(t *testing.T) {
	c := eager(3)
	defer c.Close()
	complete(t, c, new(Grid), Shape{Depth: 3, Items: 20, CTAs: MaxCTAs, Slabs: 2, Private: 2, Shared: 5}, 4)
}

// TestGridCrowded has many more workers than processors, among them none
// that can run while another spins.
func TestGridCrowded(t *testing.T) {
	for _, procs := range []int{1, runtime.GOMAXPROCS(0)} {
		old := runtime.GOMAXPROCS(procs)
		workers := 16 * procs
		c := eager(workers)
		start := time.Now()
		for range 10 {
			complete(t, c, new(Grid), Shape{Depth: 2, Items: 100, CTAs: 2, Slabs: 3, Private: 2, Shared: 2}, workers)
		}
		took := time.Since(start)
		c.Close()
		runtime.GOMAXPROCS(old)
		if took > 10*time.Second {
			t.Errorf("ten small grids, %d workers on %d processors: %v", workers, procs, took)
		}
	}
}

// TestGridParks has pieces so long that the idle workers park, and must wake.
func TestGridParks(t *testing.T) {
	const slept = 1500 * time.Microsecond
	for _, slow := range []string{"Load", "LoadMulticast", "Compute", "Expect"} {
		s := Shape{Depth: 2, Items: 6, CTAs: 1, Slabs: 1, Private: 1, Shared: 1}
		run := func() Stats {
			prog := newRecorder(s)
			prog.hook = func(piece string, _, _ int) {
				if piece == slow {
					time.Sleep(slept)
				}
			}
			var g Grid
			c := eager(2)
			defer c.Close()
			if err := g.Reset(context.Background(), s, prog, 3); err != nil {
				t.Fatal(err)
			}
			within(t, "slow "+slow, func() { c.Run(&g, 3) })
			if err := g.Err(); err != nil {
				t.Fatal(err)
			}
			prog.check(t, "slow "+slow, false)
			return g.Stats()
		}
		st := run()
		// The workers together idle at least as long as one of them sleeps.
		if idle := st.ProducerWait + st.ConsumerWait; idle < 2*time.Millisecond {
			t.Errorf("slow %s: idle for %v", slow, idle)
		}
		if strings.HasPrefix(slow, "Load") {
			if st.Copy < 6*slept {
				t.Errorf("slow %s: copied for %v, slept for %v", slow, st.Copy, 6*slept)
			}
			continue
		}
		// On a busy machine a copy may lose its processor for as long, but not every time.
		for range 10 {
			if st.Copy < 6*slept/2 {
				break
			}
			st = run()
		}
		if st.Copy >= 6*slept/2 {
			t.Errorf("slow %s: copied for %v every time", slow, st.Copy)
		}
	}
}

func TestGridLimits(t *testing.T) {
	good := Shape{Depth: 1, Items: 1, CTAs: 1, Slabs: 1, Private: 1, Shared: 1}
	with := func(f func(*Shape)) Shape { s := good; f(&s); return s }
	for _, c := range []struct {
		shape   Shape
		workers int
		part    string
	}{
		{with(func(s *Shape) { s.Depth = 0 }), 1, "depth 0 is outside 1..16"},
		{with(func(s *Shape) { s.Depth = 17 }), 1, "depth 17 is outside 1..16"},
		{with(func(s *Shape) { s.CTAs = 0 }), 1, "0 CTAs are outside 1..16"},
		{with(func(s *Shape) { s.CTAs = 1 << 30 }), 1, "1073741824 CTAs are outside 1..16"},
		{with(func(s *Shape) { s.Items = -1 }), 1, "-1 items are outside 0..4294967295"},
		{with(func(s *Shape) { s.Slabs = 0 }), 1, "0 slabs are outside 1..1048575"},
		{with(func(s *Shape) { s.Slabs = math.MaxInt/8 + 2; s.CTAs = 16 }), 1, "slabs are outside 1..1048575"},
		{with(func(s *Shape) { s.Slabs = 1 << 19; s.CTAs = 2 }), 1, "1048576 consumers are outside 1..1048575"},
		{with(func(s *Shape) { s.Private = -1 }), 1, "-1 private copy jobs are outside 0..1048575"},
		{with(func(s *Shape) { s.Shared = 1 << 20 }), 1, "1048576 shared copy jobs are outside 0..1048575"},
		{good, 0, "0 workers, want at least 1"},
	} {
		var g Grid
		err := g.Reset(context.Background(), c.shape, newRecorder(good), c.workers)
		if err == nil || !strings.HasPrefix(err.Error(), "pipeline: ") || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: error %v, want %q", describe(c.shape, c.workers), err, c.part)
		}
	}
	var g Grid
	if err := g.Reset(noContext, good, nil, 1); err == nil || err.Error() != "pipeline: nil Program" {
		t.Errorf("without a program: error %v", err)
	}
}

// TestGridMisuse has a program complete more than the barrier can count.
func TestGridMisuse(t *testing.T) {
	s := Shape{Depth: 1, Items: 2, CTAs: 1, Slabs: 1, Private: 1}
	prog := newRecorder(s)
	var g Grid
	prog.hook = func(piece string, _, _ int) {
		if piece == "Load" {
			g.ring.Full(0, 0).CompleteTx(barrier.MaxTx)
			g.ring.Full(0, 0).CompleteTx(barrier.MaxTx)
		}
	}
	if err := g.Reset(context.Background(), s, prog, 1); err != nil {
		t.Fatal(err)
	}
	within(t, "a grid with a misused barrier", func() { g.Work(0) })
	var m *barrier.Misuse
	if p, ok := thrown(func() { _ = g.Err() }).(*RolePanic); !ok || !errors.As(p, &m) || m.Rule != barrier.RuleTx {
		t.Errorf("Err did not panic with the barrier's misuse but with %v", p)
	}
}

// TestGridWorkers checks that a grid has no more workers than it was reset for.
func TestGridWorkers(t *testing.T) {
	s := Shape{Depth: 1, Items: 3, CTAs: 1, Slabs: 4, Private: 1}
	prog := newRecorder(s)
	var g Grid
	if err := g.Reset(noContext, s, prog, 2); err != nil {
		t.Fatal(err)
	}
	for _, id := range []int{-1, 2} {
		if v := fmt.Sprint(thrown(func() { g.Work(id) })); v != fmt.Sprintf("pipeline: worker %d of a task for 2", id) {
			t.Errorf("Work(%d) panicked with %v", id, v)
		}
	}
	c := eager(7)
	defer c.Close()
	within(t, "a crew with more workers than its grid", func() { c.Run(&g, 8) })
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	prog.check(t, "a grid", false)
}

// TestGridHelpersLeave checks that a helper does not wait for a slab that another
// computes if it is the last one.
func TestGridHelpersLeave(t *testing.T) {
	s := Shape{Depth: 1, Items: 1, CTAs: 1, Slabs: 2, Private: 1}
	prog := newRecorder(s)
	var g Grid
	var helper sync.WaitGroup
	var begun atomic.Bool
	prog.hook = func(piece string, _, _ int) {
		if piece == "Compute" && !begun.Swap(true) {
			helper.Go(func() { g.Work(1) }) // computes the other slab
			within(t, "a helper with nothing left to claim", helper.Wait)
		}
	}
	if err := g.Reset(noContext, s, prog, 2); err != nil {
		t.Fatal(err)
	}
	g.Work(0)
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	if st := g.Stats(); st.Copy <= 0 {
		t.Errorf("%+v: want the time of the copy", st)
	}
	prog.check(t, "a grid", false)
}
