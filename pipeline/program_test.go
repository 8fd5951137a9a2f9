package pipeline

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/leafhopper/barrier"
)

// recorder is a program that checks how a grid executes it. Slots and
// accumulators are plain memory, so that the race detector sees a missing wait;
// the counters are atomic, so that they order as little as possible.
type recorder struct {
	Shape
	slots []int // [stage][CTA's private jobs, ..., shared jobs]: the item copied there
	acc   []int // [cta][slab]: a hash of the items computed, in their order

	copied   []atomic.Int32 // [item][job]: executions
	computed []atomic.Int32 // [item][cta][slab]: executions
	gone     []atomic.Int32 // [item]: slabs computed

	hook func(piece string, item, cta int) // called in every piece, unless nil

	mu   sync.Mutex
	errs []error
}

func newRecorder(s Shape) *recorder {
	r := &recorder{Shape: s}
	r.slots = make([]int, s.Depth*r.jobs())
	for i := range r.slots {
		r.slots[i] = -1
	}
	r.acc = make([]int, s.CTAs*s.Slabs)
	r.copied = make([]atomic.Int32, s.Items*r.jobs())
	r.computed = make([]atomic.Int32, s.Items*s.CTAs*s.Slabs)
	r.gone = make([]atomic.Int32, s.Items)
	return r
}

func (r *recorder) jobs() int { return r.CTAs*r.Private + r.Shared }

func (r *recorder) errorf(format string, args ...any) {
	r.mu.Lock()
	if len(r.errs) < 10 {
		r.errs = append(r.errs, fmt.Errorf(format, args...))
	}
	r.mu.Unlock()
}

// tx is what a copy job brings.
func tx(item, job int) int { return 1 + (item*7+job*3)%50 }

func (r *recorder) Expect(item, cta int) int {
	if r.hook != nil {
		r.hook("Expect", item, cta)
	}
	n := 0
	for job := range r.Private {
		n += tx(item, job)
	}
	for job := range r.Shared {
		n += tx(item, job)
	}
	return n
}

func (r *recorder) Load(stage, item, cta, job int, bars []barrier.Barrier) {
	if r.hook != nil {
		r.hook("Load", item, cta)
	}
	if len(bars) != 1 || cta < 0 || cta >= r.CTAs || job < 0 || job >= r.Private {
		r.errorf("Load of CTA %d, job %d with %d barriers", cta, job, len(bars))
		return
	}
	r.copy(stage, item, cta*r.Private+job)
	n := tx(item, job)
	bars[0].CompleteTx(n / 2)
	bars[0].CompleteTx(n - n/2)
}

func (r *recorder) LoadMulticast(stage, item, job int, bars []barrier.Barrier) {
	if r.hook != nil {
		r.hook("LoadMulticast", item, 0)
	}
	if len(bars) != r.CTAs || job < 0 || job >= r.Shared {
		r.errorf("LoadMulticast, job %d with %d barriers for %d CTAs", job, len(bars), r.CTAs)
		return
	}
	r.copy(stage, item, r.CTAs*r.Private+job)
	for i := range bars {
		bars[i].CompleteTx(tx(item, job))
	}
}

// copy writes the slot of job, which nobody may be reading any more.
func (r *recorder) copy(stage, item, job int) {
	if stage != item%r.Depth {
		r.errorf("item %d is loaded into stage %d of %d", item, stage, r.Depth)
	}
	if old := item - r.Depth; old >= 0 && int(r.gone[old].Load()) != r.CTAs*r.Slabs {
		r.errorf("item %d is loaded when %d of %d slabs of item %d are computed", item, r.gone[old].Load(),
			r.CTAs*r.Slabs, old)
	}
	r.slots[stage*r.jobs()+job] = item
	r.copied[item*r.jobs()+job].Add(1)
}

func (r *recorder) Compute(stage, item, cta, slab int) {
	if r.hook != nil {
		r.hook("Compute", item, cta)
	}
	if stage != item%r.Depth || cta < 0 || cta >= r.CTAs || slab < 0 || slab >= r.Slabs {
		r.errorf("item %d is computed in stage %d of %d, CTA %d, slab %d", item, stage, r.Depth, cta, slab)
		return
	}
	slots := r.slots[stage*r.jobs():][:r.jobs()]
	for job := range r.Private {
		if got := slots[cta*r.Private+job]; got != item {
			r.errorf("item %d, CTA %d, slab %d reads item %d of private job %d", item, cta, slab, got, job)
		}
	}
	for job := range r.Shared {
		if got := slots[r.CTAs*r.Private+job]; got != item {
			r.errorf("item %d, CTA %d, slab %d reads item %d of shared job %d", item, cta, slab, got, job)
		}
	}
	i := cta*r.Slabs + slab
	r.acc[i] = r.acc[i]*31 + item + 1
	r.computed[item*r.CTAs*r.Slabs+i].Add(1)
	r.gone[item].Add(1)
}

// check reports what went wrong. Every piece must have been executed exactly
// once or, in a grid that was stopped, at most once.
func (r *recorder) check(t *testing.T, what string, stopped bool) {
	t.Helper()
	for _, err := range r.errs {
		t.Errorf("%s: %v", what, err)
	}
	wrong := func(n int32) bool { return n != 1 && !(stopped && n == 0) }
	for i := range r.copied {
		if n := r.copied[i].Load(); wrong(n) {
			t.Fatalf("%s: job %d of item %d executed %d times", what, i%r.jobs(), i/r.jobs(), n)
		}
	}
	slabs := r.CTAs * r.Slabs
	for i := range r.computed {
		if n := r.computed[i].Load(); wrong(n) {
			t.Fatalf("%s: slab %d of item %d computed %d times", what, i%slabs, i/slabs, n)
		}
	}
	for i, got := range r.acc {
		want := 0
		for item := 0; item < r.Items && r.computed[item*slabs+i].Load() == 1; item++ {
			want = want*31 + item + 1
		}
		if got != want {
			t.Fatalf("%s: slab %d did not compute its items in order", what, i)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

// noContext is the context of a grid that cannot be cancelled.
var noContext context.Context

func describe(s Shape, workers int) string { return fmt.Sprintf("%+v, %d workers", s, workers) }

// complete runs the shape on g and c to its end and checks it.
func complete(t *testing.T, c *Crew, g *Grid, s Shape, workers int) {
	t.Helper()
	what := describe(s, workers)
	prog := newRecorder(s)
	if err := g.Reset(context.Background(), s, prog, workers); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	within(t, what, func() { c.Run(g, workers) })
	g.Stats() // what helpers wrote of it is behind them
	if err := g.Err(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	prog.check(t, what, false)
}
