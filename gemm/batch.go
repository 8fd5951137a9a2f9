package gemm

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sort"
	"strings"

	"example.com/leafhopper/internal/ended"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/internal/race"
)

// MultiplyBatch computes C[i] = alpha·A[i]·B[i] + beta·C[i] for every i: what as many calls of [Multiply] with the same
// options would, with the same bits. The products may be of different sizes, as those of experts are. One worker
// computes each of them if that keeps all workers busy, as it does of the many small ones of attention; the others are
// shared, one after the other.
//
// A matrix of slices that lie one after the other, or side by side, becomes a batch by a loop: see the example. In
// steady state MultiplyBatch allocates nothing.
//
// It returns an error, before it writes anything, if there are not as many A and B as C, if Multiply would return one
// for a product, which it numbers, if a C shares memory with another C or with an A or B of another product, or if
// there are [WithStats] or [WithTrace], which tell of one product; and later only if the context of [WithContext] ends.
func MultiplyBatch[O Output, I Element, B Operand[I]](c []Matrix[O], a []Matrix[I], b []B, opts ...Option) error {
	bt, err := newBatch(len(c), len(a), len(b))
	if err != nil {
		return err
	}
	for i := range bt.products {
		in := &bt.products[i]
		c[i].viewTo(&in.c)
		a[i].viewTo(&in.a)
		// By way of its address an element becomes an any without a copy of it.
		switch b := any(&b[i]).(type) {
		case *Matrix[I]:
			b.viewTo(&in.b)
		case **Packed[I]:
			(*b).viewTo(&in.b)
		default:
			if m := *b.(*B); !in.b.set(m) {
				bt.release()
				return wrong(i, errNilB)
			}
		}
	}
	return sharedEngine.multiplyBatch(bt, opts)
}

// MultiplyBatch computes C[i] = alpha·A[i]·B[i] + beta·C[i] for every i on the engine e; see the package function
// [MultiplyBatch], and [Engine.Multiply] for what the inputs may hold.
func (e *Engine) MultiplyBatch(c, a, b []AnyMatrix, opts ...Option) error {
	if e == nil || e.crew == nil {
		return errZero
	}
	bt, err := newBatch(len(c), len(a), len(b))
	if err != nil {
		return err
	}
	for i := range bt.products {
		if err := bt.products[i].set(c[i], a[i], b[i]); err != nil {
			bt.release()
			return wrong(i, err)
		}
	}
	return e.multiplyBatch(bt, opts)
}

// batch is what a batch is computed with, and the program of the products that are one worker's each: a slab is some of
// them.
type batch struct {
	products []slab
	whole    []*slab // one worker's each
	shared   []*slab
	slabs    int
	outputs  []output // in the order in which they begin
	near     int      // among them, see check
}

// batches keeps the memory of batches.
var batches race.Pool[batch]

// newBatch returns a batch of so many products, none of whose operands is known.
func newBatch(c, a, b int) (*batch, error) {
	if a != c || b != c {
		return nil, fmt.Errorf("gemm: a batch of %d C has %d A and %d B", c, a, b)
	}
	bt := batches.Get()
	bt.products = slices.Grow(bt.products, c)[:c]
	return bt, nil
}

// release gives the memory back, without what it points to.
func (bt *batch) release() {
	for i := range bt.products {
		if f := bt.products[i].finish; f != nil {
			f.release()
		}
	}
	clear(bt.products)
	bt.products, bt.outputs = bt.products[:0], bt.outputs[:0]
	bt.whole, bt.shared = bt.whole[:0], bt.shared[:0]
	batches.Put(bt)
}

// wrong says that err is that of product i.
func wrong(i int, err error) error {
	return fmt.Errorf("gemm: product %d of the batch: %s", i, strings.TrimPrefix(err.Error(), "gemm: "))
}

// multiplyBatch computes the products of bt's operands, of which nothing else is known, and releases it.
func (e *Engine) multiplyBatch(bt *batch, opts []Option) error {
	defer bt.release()
	if e.closed.Load() {
		return ErrClosed
	}
	s := e.defaults
	if err := s.apply(opts); err != nil {
		return err
	}
	if s.stats != nil || s.trace != nil {
		return errors.New("gemm: WithStats and WithTrace tell of one product, not of a batch")
	}
	for i := range bt.products {
		if err := s.prepare(&bt.products[i].product); err != nil {
			return wrong(i, err)
		}
	}
	if err := bt.disjoint(); err != nil {
		return err
	}
	if err := ended.Err(s.ctx); err != nil || len(bt.products) == 0 {
		return err
	}
	bt.tellRaces(&s)
	defer bt.tellRaces(&s)
	var call product
	s.workers = s.workerCount(&call)
	defer call.leave()
	if err := e.computeWhole(bt, &s); err != nil {
		return err
	}
	for _, in := range bt.shared {
		if err := ended.Err(s.ctx); err != nil {
			return err
		}
		if err := e.compute(in, &s); err != nil {
			return err
		}
	}
	return nil
}

func (bt *batch) tellRaces(s *settings) {
	if race.Enabled {
		for i := range bt.products {
			bt.products[i].tellRaces(s)
		}
	}
}

// computeWhole tells the products that are one worker's each from those that are shared, and computes them.
func (e *Engine) computeWhole(bt *batch, s *settings) error {
	workers := min(s.workers, runtime.GOMAXPROCS(0))
	all := e.divide(bt, plan.Here, workers)
	bt.slabs = all.Slabs(plan.Here.Tuned(bt.products[0].Kernel), workers)
	if bt.slabs == 1 {
		for _, in := range bt.whole {
			if err := ended.Err(s.ctx); err != nil {
				return err
			}
			in.runAlone()
		}
		return nil
	}
	turns := e.turns(all.Flops())
	r, err := e.begin(s, turns)
	if err != nil {
		return err
	}
	defer e.end(r, turns)
	defer r.release(&e.slots)
	if err := r.loose.Reset(s.ctx, bt.slabs, bt, workers); err != nil {
		return err
	}
	e.crew.Run(&r.loose, workers)
	return r.loose.Err()
}

// divide plans the products, tells them apart, and returns what there is of those that are one worker's each.
func (e *Engine) divide(bt *batch, on *plan.Machine, workers int) (all plan.Batch) {
	for i := range bt.products {
		in := &bt.products[i]
		in.plan = &plan.TinyPlan
		if min(in.M, in.N, in.K) > 0 && (in.Asked.Any || !in.Tiny()) {
			in.survey(on)
			in.follow(e.planOf(&in.Problem, in.Alone(plan.Many)))
		}
		switch {
		case min(in.M, in.N) == 0:
		case in.plan.Share == plan.ByCaller && in.K > 0: // it takes no time without K
			bt.whole = append(bt.whole, in)
			all.Add(&in.Problem)
		default:
			bt.shared = append(bt.shared, in)
		}
	}
	if all.Whole(workers) {
		return all
	}
	may := bt.whole
	bt.whole, all = bt.whole[:0], plan.Batch{}
	for _, in := range may {
		if in.plan == &plan.TinyPlan || in.Alone(plan.CrowdOf(workers)) {
			bt.whole = append(bt.whole, in)
			all.Add(&in.Problem)
		} else {
			bt.shared = append(bt.shared, in)
		}
	}
	return all
}

// Compute implements [pipeline.SlabProgram].
func (bt *batch) Compute(slab int) {
	for _, in := range bt.whole[bt.first(slab):bt.first(slab+1)] {
		in.runAlone()
	}
}

// first returns the first product of a slab.
func (bt *batch) first(slab int) int {
	return int(int64(slab) * int64(len(bt.whole)) / int64(bt.slabs))
}

// output is a C of a batch.
type output struct {
	*view
	of      int     // the product
	reaches uintptr // where the last ends of those up to this one
}

// disjoint returns an error if a C shares memory with another, or with an input of another product.
func (bt *batch) disjoint() error {
	for i := range bt.products {
		if c := &bt.products[i].c; c.len > 0 {
			bt.outputs = append(bt.outputs, output{view: c, of: i})
		}
	}
	slices.SortFunc(bt.outputs, func(c, d output) int { return cmp.Compare(c.begin(), d.begin()) })
	reaches := uintptr(0)
	for i := range bt.outputs {
		c := &bt.outputs[i]
		if err := bt.check(bt.outputs[:i], c.view, "C", c.of); err != nil {
			return err
		}
		reaches = max(reaches, c.end())
		c.reaches = reaches
	}
	for i := range bt.products {
		in := &bt.products[i]
		a, b := "A", "B"
		if in.transposed {
			a, b = b, a
		}
		if err := bt.check(bt.outputs, &in.a, a, i); err != nil {
			return err
		}
		if err := bt.check(bt.outputs, &in.b, b, i); err != nil {
			return err
		}
	}
	return nil
}

// check returns an error if v, which has a name in the product of, shares memory with one of cs, of another product.
func (bt *batch) check(cs []output, v *view, name string, of int) error {
	if len(cs) == 0 || v.len == 0 || v.packed || v.begin() >= cs[len(cs)-1].reaches || v.end() <= cs[0].begin() {
		return nil
	}
	// What lies one after the other often belongs to products that do.
	n, end := min(bt.near, len(cs)), v.end()
	if n < len(cs) && cs[n].begin() < end {
		n++
	}
	if n < len(cs) && cs[n].begin() < end || n > 0 && cs[n-1].begin() >= end {
		n = sort.Search(len(cs), func(i int) bool { return cs[i].begin() >= end })
	}
	bt.near = n
	for n--; n >= 0 && cs[n].reaches > v.begin(); n-- {
		c := &cs[n]
		if c.of != of && c.overlaps(v) {
			return fmt.Errorf("gemm: %s of product %d of the batch (%dx%d) shares memory with C of product %d (%dx%d)",
				name, of, v.rows, v.cols, c.of, c.rows, c.cols)
		}
		// In rows side by side, as heads have them, those that begin between v and c are beside v, too.
		if gap := c.beside(v); gap > 0 {
			n = sort.Search(n, func(i int) bool { return cs[i].begin() >= c.begin()-uintptr(gap) })
		}
	}
	return nil
}
