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
	return sharedEngine.multiplyBatch(len(c), len(a), len(b), opts, func(i int, in *product) error {
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
				return errNilB
			}
		}
		return nil
	})
}

// MultiplyBatch computes C[i] = alpha·A[i]·B[i] + beta·C[i] for every i on the engine e; see the package function
// [MultiplyBatch], and [Engine.Multiply] for what the inputs may hold.
func (e *Engine) MultiplyBatch(c, a, b []AnyMatrix, opts ...Option) error {
	if e == nil || e.crew == nil {
		return errZero
	}
	return e.multiplyBatch(len(c), len(a), len(b), opts, func(i int, in *product) error {
		return in.set(c[i], a[i], b[i])
	})
}

// batch is what a batch is computed with, and the program of the products that are one worker's each: a slab is some of
// them.
type batch struct {
	products []slab
	whole    []*slab    // one worker's each
	all      plan.Batch // of them
	shared   []*slab
	slabs    int
	outputs  []output // in the order in which they begin
	near     int      // among them, see begun
	written  extent   // where those lie that are known to be apart
	read     extent   // where all of A and B lie
}

// batches keeps the memory of batches.
var batches race.Pool[batch]

// release gives the memory back, without what it points to.
func (bt *batch) release() {
	for i := 0; i < len(bt.products) && bt.products[i].finish != nil; i++ { // after one without there are none
		bt.products[i].finish.release()
	}
	clear(bt.products)
	*bt = batch{products: bt.products[:0], outputs: bt.outputs[:0], whole: bt.whole[:0], shared: bt.shared[:0]}
	batches.Put(bt)
}

// multiplyBatch computes a batch of so many C, A and B; operands sets those of product i, which is zero.
func (e *Engine) multiplyBatch(c, a, b int, opts []Option, operands func(i int, in *product) error) error {
	s := e.defaults
	switch err := s.apply(opts); {
	case a != c || b != c:
		return fmt.Errorf("gemm: a batch of %d C has %d A and %d B", c, a, b)
	case e.closed.Load():
		return ErrClosed
	case err != nil:
		return err
	case s.stats != nil || s.trace != nil:
		return errors.New("gemm: WithStats and WithTrace tell of one product, not of a batch")
	}
	bt := batches.Get()
	defer bt.release()
	bt.products, bt.written, bt.read = slices.Grow(bt.products, c)[:c], nowhere, nowhere
	for i := range bt.products {
		in := &bt.products[i]
		err := operands(i, &in.product)
		if err == nil {
			err = s.prepare(&in.product)
		}
		if err != nil {
			return fmt.Errorf("gemm: product %d of the batch: %s", i, strings.TrimPrefix(err.Error(), "gemm: "))
		}
		e.add(bt, in, plan.Here)
	}
	if err := bt.disjoint(); err != nil {
		return err
	}
	if err := ended.Err(s.ctx); err != nil || c == 0 {
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

// add plans the next product, whose operands are known, and tells whether it may be one worker's.
func (e *Engine) add(bt *batch, in *slab, on *plan.Machine) {
	bt.outputs = append(bt.outputs, output{extent: in.c.extent(), of: len(bt.outputs)})
	bt.read = bt.read.with(in.a.extent()).with(in.b.extent())
	in.plan = &plan.TinyPlan
	if min(in.M, in.N, in.K) > 0 && (in.Asked.Any || !in.Tiny()) {
		in.survey(on)
		in.follow(e.planOf(&in.Problem))
	}
	switch {
	case min(in.M, in.N) == 0:
	case in.plan.Share == plan.ByCaller && in.K > 0: // it takes no time without K
		bt.whole = append(bt.whole, in)
		bt.all.Add(&in.Problem)
	default:
		bt.shared = append(bt.shared, in)
	}
}

// computeWhole computes the products that are one worker's each.
func (e *Engine) computeWhole(bt *batch, s *settings) error {
	workers := min(s.workers, runtime.GOMAXPROCS(0))
	bt.divide(workers)
	bt.slabs = bt.all.Slabs(plan.Here.Tuned(bt.products[0].Kernel), workers)
	if bt.slabs == 1 {
		for _, in := range bt.whole {
			if err := ended.Err(s.ctx); err != nil {
				return err
			}
			in.runAlone()
		}
		return nil
	}
	turns := e.turns(bt.all.Flops())
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

// divide has those shared that had better be, of the products that may be one worker's each.
func (bt *batch) divide(workers int) {
	if bt.all.Whole(workers) {
		return
	}
	bt.all = plan.Batch{}
	bt.whole = slices.DeleteFunc(bt.whole, func(in *slab) bool {
		if in.plan == &plan.TinyPlan || in.Alone(plan.CrowdOf(workers)) {
			bt.all.Add(&in.Problem)
			return false
		}
		bt.shared = append(bt.shared, in)
		return true
	})
}

// Compute implements [pipeline.SlabProgram].
func (bt *batch) Compute(slab int) {
	first := func(slab int) int { return int(int64(slab) * int64(len(bt.whole)) / int64(bt.slabs)) }
	for _, in := range bt.whole[first(slab):first(slab+1)] {
		in.runAlone()
	}
}

// output is a C of a batch.
type output struct {
	extent
	of     int // the product
	longer int // the last of the outputs before this one that ends after it, or -1
}

// disjoint returns an error if a C shares memory with another, or with an input.
func (bt *batch) disjoint() error {
	slices.SortFunc(bt.outputs, func(c, d output) int { return cmp.Compare(c.begin, d.begin) })
	for i := range bt.outputs {
		c := &bt.outputs[i]
		if c.meets(bt.written) {
			if err := bt.apart(i, &bt.products[c.of].c, c.of); err != nil {
				return err
			}
		}
		bt.written = bt.written.with(c.extent)
		for c.longer = i - 1; c.longer >= 0 && bt.outputs[c.longer].end <= c.end; {
			c.longer = bt.outputs[c.longer].longer
		}
	}
	for i := 0; i < len(bt.products) && bt.read.meets(bt.written); i++ {
		in := &bt.products[i]
		for _, v := range [...]*view{&in.a, &in.b} {
			if e := v.extent(); e.meets(bt.written) {
				if err := bt.apart(bt.begun(e.end), v, i); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// begun returns how many outputs begin before an address. Mostly they are as many as when last asked, or one more, as
// what lies one after the other often belongs to products that do.
func (bt *batch) begun(before uintptr) int {
	cs, n := bt.outputs, bt.near
	if n < len(cs) && cs[n].begin < before {
		n++
	}
	if n < len(cs) && cs[n].begin < before || n > 0 && cs[n-1].begin >= before {
		n = sort.Search(len(cs), func(i int) bool { return cs[i].begin >= before })
	}
	bt.near = n
	return n
}

// apart returns an error if v, an operand of a product, shares memory with one of the first n outputs, which begin
// before it ends.
func (bt *batch) apart(n int, v *view, of int) error {
	for n--; n >= 0; {
		o := &bt.outputs[n]
		if o.end <= uintptr(v.ptr) {
			n = o.longer // those between end before it
			continue
		}
		c := &bt.products[o.of].c
		gap := c.beside(v)
		if gap < 0 {
			in := &bt.products[of]
			names := map[*view]string{&in.c: "C", &in.a: "A", &in.b: "B"}
			if in.transposed {
				names[&in.a], names[&in.b] = "B", "A"
			}
			return fmt.Errorf("gemm: %s of product %d of the batch (%dx%d) shares memory with C of product %d (%dx%d)",
				names[v], of, v.rows, v.cols, o.of, c.rows, c.cols)
		}
		// In rows side by side, as heads have them, those that begin between v and c are beside v, too.
		n = min(n, bt.begun(o.begin-uintptr(gap))) - 1
	}
	return nil
}
