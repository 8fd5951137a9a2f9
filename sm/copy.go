package sm

import (
	"errors"
	"math"
	"math/bits"
	"slices"
	"time"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/tile"
)

// A copyOp is a copy that an agent has issued.
type copyOp struct {
	*tile.Transfer
	cta     *cta // that issued it
	op      string
	by      mark
	bar     *mbar    // that its bytes complete, or nil
	arrival *arrival // at bar, if it is no copy
	now     clock    // what the CTA knew when it issued it

	from, into area      // memory that it reads and writes
	event      *event    // of the latter, under Check
	reads      bool      // shared memory of its CTA
	issued     time.Time // if there is a trace
}

// String returns what a schedule calls the copy.
func (c *copyOp) String() string { return c.op + " by " + c.by.String() }

// step lands a piece, and reports whether all have landed.
func (c *copyOp) step() (done bool) {
	defer func() {
		if v := recover(); v != nil {
			c.broken(v)
			done = true
		}
	}()
	return !c.Step()
}

// broken makes a fault of a panic in the copy, in the name of who issued it.
func (c *copyOp) broken(v any) { c.standIn().recovered(v, false) }

// standIn returns a runner in whose name the copy fails.
func (c *copyOp) standIn() *runner {
	r := newRunner(c.cta, nil)
	r.op, r.site = c.op, c.by.site
	what := "copy"
	if c.arrival != nil {
		what = "arrival"
	}
	r.by = &agent{run: r, cta: c.cta, kind: what + " issued by " + c.by.agent.String()}
	return r
}

// execute decides when the pieces of a copy land that t has just issued.
func (t *Thread) execute(c *tile.Transfer) {
	l := t.cta.launch
	op := t.issuing
	op.by, t.issuing = t.deed(), copyOp{}
	if c.Empty() && op.arrival == nil {
		return // nothing to wait for
	}
	op.Transfer, op.cta, op.op, op.issued = c, t.cta, t.run.op, l.Trace.now()
	if m := op.bar; op.arrival != nil {
		c.Complete = func(*barrier.Barrier, int) { op.arrive() }
	} else if m != nil {
		m.load(&t.agent)
		c.Complete = func(_ *barrier.Barrier, bytes int) {
			op.lands()
			m.landed(&op.now, bytes)
		}
	} else if c.Grouped() {
		t.stored = op
	} else {
		t.loose = append(t.loose, op)
	}
	t.orders(&op)
	switch {
	case c.Grouped() && !(l.Check && l.Schedule == Random):
		// The thread's waits, or its end, see to it, which is as late as the rules allow.
		if l.Check && l.Schedule == Eager {
			c.Finish()
		}
		if l.Trace != nil {
			t.stores = append(t.stores, op)
		}
	case l.sched != nil && l.Schedule != Eager:
		l.sched.fly(t.run, op)
	default:
		defer func() {
			if v := recover(); v != nil {
				op.broken(v)
				t.run.unwind()
			}
		}()
		c.Finish()
		l.Trace.copied(&op)
	}
}

// use begins a copy of t.
func (t *Thread) use(op string) {
	t.enterBelow(op)
	if !t.used {
		t.used = true
		t.run.handles = append(t.run.handles, t)
	}
}

// ruleOf is the rule of a launch that a copy breaks with one of package tile.
var ruleOf = [...]Rule{
	tile.RuleBytes: RuleBytes, tile.RuleAlignment: RuleAlignment, tile.RuleMap: RuleMap,
}

// check makes a fault of an error of package tile, which is of a barrier if it is no misuse of the copy.
func (t *Thread) check(err error) {
	if err == nil {
		return
	}
	rule := RuleBarrier
	if m := (*tile.Misuse)(nil); errors.As(err, &m) {
		rule = ruleOf[m.Rule]
	}
	t.failWith(err, rule, "%s", says(err))
}

// operand returns a region that a copy reads or writes.
func (t *Thread) operand(of Region, what string) region {
	r := regionOf(of)
	switch {
	case r.memory == nil:
		t.fail(RuleShared, "%s is nil", what)
	case r.cta == nil:
		t.fail(RuleShared, "%s is %s, in global memory, which copies take as a slice or by a tensor map", what, r.decl.name())
	}
	return r
}

// own returns an operand that must lie in the thread's own CTA.
func (t *Thread) own(of Region, what string) region {
	r := t.operand(of, what)
	if r.cta != t.cta {
		t.fail(RuleShared, "%s lies in CTA %v; this copy has only the CTA's own shared memory", what, r.cta.idx)
	}
	return r
}

// bar returns the mbarrier of a copy whose destination lies in dst.
func (t *Thread) bar(b *Barrier, dst *cta) *mbar {
	m := b.of(&t.agent)
	t.beside(m, dst)
	return m
}

// beside reports a barrier that does not lie where the destination of its copy does.
func (t *Thread) beside(m *mbar, dst *cta) {
	if m.cta != dst {
		t.fail(RuleBarrier, "%s is a barrier of CTA %v, the destination lies in CTA %v", m.name(), m.cta.idx, dst.idx)
	}
}

// arriving notes the barrier that a copy is to complete, which is about to be issued.
func (t *Thread) arriving(m *mbar) { t.issuing = copyOp{bar: m, now: t.reach(m.cta)} }

// coords returns coordinates as a tensor map takes them.
func (t *Thread) coords(at []int) []int32 {
	to := make([]int32, len(at))
	for i, c := range at {
		if c < math.MinInt32 || c > math.MaxInt32 {
			t.fail(RuleMap, "coordinate %d of dimension %d is no 32-bit integer", c, i)
		}
		to[i] = int32(c)
	}
	return to
}

// tensor returns the box at coord of a tensor, which lies in global memory.
func (t *Thread) tensor(box *tile.TensorMap, coord []int32, how manner) area {
	return area{memory: &t.cta.launch.global, box: box, coord: coord, how: how}
}

// outside returns what a copy reads or writes of global memory.
func (t *Thread) outside(data tile.Global, how manner) area {
	return area{memory: &t.cta.launch.global, at: addressOf(data.Bytes), n: len(data.Bytes), how: how}
}

// fitsBox reports a box that is larger than its array.
func (t *Thread) fitsBox(m *tile.TensorMap, r region, what string) {
	if m != nil && m.SharedBytes() > r.bytes {
		t.fail(RuleMap, "a box of %d bytes in a %s of %d", m.SharedBytes(), what, r.bytes)
	}
}

// LoadTensor issues the copy of the box at coord of a tensor to dst, whose bytes, those of
// the whole box, it completes on bar (PTX cp.async.bulk.tensor with
// mbarrier::complete_tx::bytes). The innermost coordinate comes first; behind the last come the
// offsets of W, H and D if the map is an im2col one. See [tile.Load].
func (t *Thread) LoadTensor(dst Region, m TensorMap, bar *Barrier, coord ...int) {
	t.use("LoadTensor")
	r, box := t.own(dst, "destination"), t.through(m)
	t.fitsBox(box, r, "destination")
	b := t.bar(bar, r.cta)
	at := t.coords(coord)
	t.arriving(b)
	t.issuing.from = t.tensor(box, at, 0)
	t.issuing.into = area{memory: r.memory, at: r.offset, box: box, origin: at}
	t.reads(m, b)
	t.check(t.bulk.Load(r.cta.shared(), r.offset, box, at, b.b))
}

// LoadTensorMulticast issues the copy of a box to dst's address in every CTA of the cluster
// whose bit in mask is set, rank 0 being bit 0. In each it completes the bytes of the whole
// box on the barrier with bar's address (PTX cp.async.bulk.tensor with
// multicast::cluster).
func (t *Thread) LoadTensorMulticast(dst Region, m TensorMap, bar *Barrier, mask uint16, coord ...int) {
	t.use("LoadTensorMulticast")
	r, box := t.own(dst, "destination"), t.through(m)
	t.fitsBox(box, r, "destination")
	at := t.coords(coord)
	bars := t.receivers(mask, bar)
	t.reads(m, bars...)
	for _, b := range bars {
		t.arriving(b)
		t.issuing.from = t.tensor(box, at, 0)
		t.issuing.into = area{memory: &b.cta.memory, at: r.offset, box: box, origin: at}
		t.check(t.bulk.Load(b.cta.shared(), r.offset, box, at, b.b))
	}
}

// receivers returns the barriers, one of each CTA of mask, that a multicast completes.
func (t *Thread) receivers(mask uint16, bar *Barrier) (to []*mbar) {
	own := t.bar(bar, t.cta)
	ctas := t.cta.cluster.ctas
	if n := bits.Len16(mask); n > len(ctas) {
		t.fail(RuleMap, "mask %#b names CTA %d of a cluster of %d", mask, n-1, len(ctas))
	}
	for rank, c := range ctas {
		if mask>>rank&1 == 0 {
			continue
		}
		m := c.barrier(bar.at)
		if m == nil {
			t.fail(RuleBarrier, "CTA %v has not declared %s", c.idx, own.name())
		}
		m.comesAfter(&t.agent, &m.made)
		to = append(to, m)
	}
	return to
}

// StoreTensor issues the copy of src to the box at coord of a tensor, a transfer of the
// bulk group that is committed next (PTX cp.async.bulk.tensor.global.shared::cta). See
// [tile.Store].
func (t *Thread) StoreTensor(m TensorMap, src Region, coord ...int) {
	t.use("StoreTensor")
	r, box := t.own(src, "source"), t.through(m)
	t.fitsBox(box, r, "source")
	at := t.coords(coord)
	t.issuing.from = area{memory: r.memory, at: r.offset, box: box, coord: at}
	t.issuing.into = t.tensor(box, at, writes)
	t.reads(m)
	t.check(t.bulk.Store(box, at, r.cta.shared(), r.offset))
}

// ReduceTensor is StoreTensor that combines each element with the tensor's (PTX
// cp.reduce.async.bulk.tensor). See [tile.Reduce].
func (t *Thread) ReduceTensor(op tile.ReduceOp, m TensorMap, src Region, coord ...int) {
	t.use("ReduceTensor")
	r, box := t.own(src, "source"), t.through(m)
	t.fitsBox(box, r, "source")
	at := t.coords(coord)
	t.issuing.from = area{memory: r.memory, at: r.offset, box: box, coord: at}
	t.issuing.into = t.tensor(box, at, writes|combines)
	t.reads(m)
	t.check(t.bulk.Reduce(box, op, at, r.cta.shared(), r.offset))
}

// PrefetchTensor is the hint that the box at coord will be loaded (PTX
// cp.async.bulk.prefetch.tensor): it checks the coordinates.
func (t *Thread) PrefetchTensor(m TensorMap, coord ...int) {
	t.use("PrefetchTensor")
	t.check(tile.Prefetch(t.through(m), t.coords(coord)))
}

// CommitGroup makes a bulk group of the stores and reductions to global memory that the
// thread has issued since the last time (PTX cp.async.bulk.commit_group).
func (t *Thread) CommitGroup() {
	t.use("CommitGroup")
	t.bulk.CommitGroup()
	t.bulks.close()
	t.written.close()
}

// WaitGroup waits until at most the n latest bulk groups of the thread are pending: what the
// others store is in global memory (PTX cp.async.bulk.wait_group).
func (t *Thread) WaitGroup(n int) {
	t.use("WaitGroup")
	t.checkGroups(n)
	t.bulk.WaitGroup(n)
	t.bulks.wait(t.run.history, n)
	t.written.wait(t.run.history, n)
	t.settle()
}

// settle notes which copies a wait, or the thread's end, has brought to their end.
func (t *Thread) settle() {
	t.cta.launch.sched.settle()
	t.stores = slices.DeleteFunc(t.stores, func(c copyOp) bool {
		if c.Done() {
			t.cta.launch.Trace.copied(&c)
		}
		return c.Done()
	})
}

// WaitGroupRead waits until the sources of all but the n latest bulk groups of the thread
// may be written again (PTX cp.async.bulk.wait_group.read).
func (t *Thread) WaitGroupRead(n int) {
	t.use("WaitGroupRead")
	t.checkGroups(n)
	t.bulk.WaitGroupRead(n)
	t.bulks.wait(t.run.history, n)
}

// checkGroups reports a number of groups that none can be pending of.
func (a *agent) checkGroups(n int) {
	if n < 0 {
		a.fail(RuleBytes, "%d groups, want 0 or more", n)
	}
}

// exit is the end of an agent: what it has committed lands now at the latest.
func (a *agent) exit() {
	r := a.run
	for _, t := range r.handles {
		if n := t.bulk.Open(); n > 0 {
			t.blame(&t.stored, RuleExit, "stores to global memory were never committed (%d, this the last): "+
				"nothing says when they have read shared memory", n)
		}
		t.bulk.Exit() // its complaint, that nobody waited for the sources, is none on a GPU: they outlive the thread
		t.settle()
	}
	for _, t := range r.copiers {
		if len(t.loose) > t.covered {
			t.blame(&t.loose[t.covered], RuleExit, "nobody has waited for the copy: it may still be on its way")
		}
	}
	r.cta.launch.sched.settle()
	if a.lanes == 1 {
		a.cta.warps[a.rank/warpSize].leave(a.rank % warpSize)
	}
}

// blame is a fault of a copy that the thread has issued before.
func (t *Thread) blame(c *copyOp, rule Rule, format string, args ...any) {
	r := t.run
	r.op, r.by, r.site = c.op, &t.agent, c.by.site
	t.fail(rule, format, args...)
}
