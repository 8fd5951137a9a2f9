package sm

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"unsafe"

	"example.com/leafhopper/tile"
)

// A copyOp is a copy that an agent has issued.
type copyOp struct {
	*tile.Transfer
	cta *cta // that issued it
	op  string
	by  mark
	bar *mbar // that its bytes complete, or nil
	now clock // what the CTA knew when it issued it
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
	more := c.Step()
	c.landed()
	return !more
}

// landed tells who waits for the copy's barrier.
func (c *copyOp) landed() {
	if c.bar != nil {
		c.bar.landed(&c.now)
	}
}

// broken makes a fault of a panic in the copy, in the name of who issued it.
func (c *copyOp) broken(v any) {
	r := newRunner(c.cta, nil, nil)
	r.op, r.site = c.op, c.by.site
	r.by = &agent{run: r, cta: c.cta, kind: "copy issued by " + c.by.agent.String()}
	r.recovered(v, false)
}

// begin prepares the thread's copies.
func (t *Thread) begin() { t.bulk.Execute = t.execute }

// execute decides when the pieces of a copy land that t has just issued.
func (t *Thread) execute(c *tile.Transfer) {
	l := t.cta.launch
	op := t.flight
	t.flight = copyOp{}
	op.Transfer, op.cta, op.op, op.by = c, t.cta, t.run.op, t.mark()
	if op.bar == nil && !c.Grouped() {
		t.loose = append(t.loose, c)
	}
	switch {
	case c.Grouped() && !(l.Check && l.Schedule == Random):
		// The thread's waits, or its end, see to it, which is as late as the rules allow.
		if l.Check && l.Schedule == Eager {
			c.Finish()
		}
	case l.sched != nil && l.Schedule != Eager:
		l.sched.fly(op)
	default:
		start := l.Trace.now()
		defer func() {
			if v := recover(); v != nil {
				op.broken(v)
				panic(abandon{})
			}
		}()
		c.Finish()
		op.landed()
		l.Trace.copied(&op, start)
	}
}

// use begins a copy of t.
func (t *Thread) use(op string) {
	t.enterFrom(op, 1)
	if !t.used {
		t.used = true
		t.run.handles = append(t.run.handles, t)
	}
}

// check makes a fault of an error of package tile.
func (t *Thread) check(err error) {
	if err == nil {
		return
	}
	text := strings.TrimPrefix(err.Error(), "tile: ")
	rule := RuleBytes
	switch {
	case strings.Contains(text, "multiple of") || strings.Contains(text, "negative"):
		rule = RuleAlignment
	case strings.Contains(text, "map") || strings.Contains(text, "coordinate") || strings.Contains(text, "box") || strings.Contains(text, "not defined"):
		rule = RuleMap
	}
	t.failWith(err, rule, "%s", text)
}

// operand returns a region that a copy reads or writes.
func (t *Thread) operand(r Region, what string) region {
	var g region
	if r != nil {
		g = r.region()
	}
	if g.cta == nil {
		t.fail(RuleShared, "%s is nil", what)
	}
	return g
}

// own returns an operand that must lie in the thread's own CTA.
func (t *Thread) own(r Region, what string) region {
	g := t.operand(r, what)
	if g.cta != t.cta {
		t.fail(RuleShared, "%s lies in CTA %v; this copy has only the CTA's own shared memory", what, g.cta.idx)
	}
	return g
}

// bar returns the mbarrier of a copy whose destination lies in dst.
func (t *Thread) bar(b *Barrier, dst *cta) *mbar {
	m := b.of(&t.agent)
	if m.cta != dst {
		t.fail(RuleBarrier, "%s is a barrier of CTA %v, the destination lies in CTA %v", m.name(), m.cta.idx, dst.idx)
	}
	return m
}

// arriving notes a copy into dst that completes a barrier there.
func (t *Thread) arriving(m *mbar) {
	t.flight = copyOp{bar: m, now: t.reach(m.cta)}
	m.load(&t.agent)
}

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

// fits reports a box that is larger than its array.
func (t *Thread) fits(m *tile.TensorMap, g region, what string) {
	if m != nil && m.SharedBytes() > g.bytes {
		t.fail(RuleMap, "a box of %d bytes in a %s of %d", m.SharedBytes(), what, g.bytes)
	}
}

// LoadTensor issues the copy of the box at coord of a tensor to dst, whose bytes, those of
// the whole box, it completes on bar (PTX cp.async.bulk.tensor with
// mbarrier::complete_tx::bytes). The innermost coordinate comes first. See [tile.Load].
func (t *Thread) LoadTensor(dst Region, m *tile.TensorMap, bar *Barrier, coord ...int) {
	t.use("LoadTensor")
	g := t.own(dst, "destination")
	t.fits(m, g, "destination")
	b := t.bar(bar, g.cta)
	at := t.coords(coord)
	t.arriving(b)
	t.check(t.bulk.Load(g.cta.shared(), g.offset, m, at, b.b))
}

// LoadTensorMulticast issues the copy of a box to dst's address in every CTA of the cluster
// whose bit in mask is set, rank 0 being bit 0. In each it completes the bytes of the whole
// box on the barrier with bar's address (PTX cp.async.bulk.tensor with
// multicast::cluster).
func (t *Thread) LoadTensorMulticast(dst Region, m *tile.TensorMap, bar *Barrier, mask uint16, coord ...int) {
	t.use("LoadTensorMulticast")
	g := t.own(dst, "destination")
	t.fits(m, g, "destination")
	at := t.coords(coord)
	for _, b := range t.receivers(mask, bar) {
		t.arriving(b)
		t.check(t.bulk.Load(b.cta.shared(), g.offset, m, at, b.b))
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
		to = append(to, m)
	}
	return to
}

// StoreTensor issues the copy of src to the box at coord of a tensor, a transfer of the
// bulk group that is committed next (PTX cp.async.bulk.tensor.global.shared::cta). See
// [tile.Store].
func (t *Thread) StoreTensor(m *tile.TensorMap, src Region, coord ...int) {
	t.use("StoreTensor")
	g := t.own(src, "source")
	t.fits(m, g, "source")
	t.check(t.bulk.Store(m, t.coords(coord), g.cta.shared(), g.offset))
}

// ReduceTensor is StoreTensor that combines each element with the tensor's (PTX
// cp.reduce.async.bulk.tensor). See [tile.Reduce].
func (t *Thread) ReduceTensor(op tile.ReduceOp, m *tile.TensorMap, src Region, coord ...int) {
	t.use("ReduceTensor")
	g := t.own(src, "source")
	t.fits(m, g, "source")
	t.check(t.bulk.Reduce(m, op, t.coords(coord), g.cta.shared(), g.offset))
}

// PrefetchTensor is the hint that the box at coord will be loaded (PTX
// cp.async.bulk.prefetch.tensor): it checks the coordinates.
func (t *Thread) PrefetchTensor(m *tile.TensorMap, coord ...int) {
	t.use("PrefetchTensor")
	t.check(tile.Prefetch(m, t.coords(coord)))
}

// global is a slice as bulk copies see it.
func global[T any](s []T) tile.Global {
	p := unsafe.SliceData(s)
	return tile.Global{
		Bytes:   unsafe.Slice((*byte)(unsafe.Pointer(p)), len(s)*sizeof[T]()),
		Address: uint64(uintptr(unsafe.Pointer(p))),
	}
}

// NewTensorMap returns the map of a tensor in data, of which cfg says the rest
// (cuTensorMapEncodeTiled): Dims, Box and Swizzle. Nil Strides are those of a dense tensor.
// A zero DataType is that of T.
func NewTensorMap[T any](data []T, cfg tile.Config) (*tile.TensorMap, error) {
	typ, ok := dataTypeOf[T]()
	switch {
	case cfg.DataType != 0:
	case !ok:
		return nil, fmt.Errorf("sm: NewTensorMap: no DataType is that of %T", data)
	default:
		cfg.DataType = typ
	}
	if cfg.Strides == nil {
		stride := uint64(sizeof[T]())
		for _, n := range cfg.Dims[:max(len(cfg.Dims)-1, 0)] {
			stride *= n
			cfg.Strides = append(cfg.Strides, stride)
		}
	}
	g := global(data)
	cfg.Global, cfg.Address = g.Bytes, g.Address
	return tile.NewTensorMap(cfg)
}

// LoadBulk issues the copy of src to dst, a multiple of 16 bytes between multiples of 16,
// which it completes on bar; it arrives for nobody (cuda::device::memcpy_async_tx, PTX
// cp.async.bulk).
func LoadBulk[T any](t *Thread, dst *Array[T], src []T, bar *Barrier) {
	t.use("LoadBulk")
	g := t.own(dst, "destination")
	from := global(src)
	t.holds(g, "destination", len(from.Bytes))
	b := t.bar(bar, g.cta)
	t.arriving(b)
	t.check(t.bulk.LoadBulk(g.cta.shared(), g.offset, from, 0, len(from.Bytes), b.b))
}

// LoadBulkMulticast is LoadBulk to dst's address in every CTA of mask, as
// [Thread.LoadTensorMulticast] does.
func LoadBulkMulticast[T any](t *Thread, dst *Array[T], src []T, bar *Barrier, mask uint16) {
	t.use("LoadBulkMulticast")
	g := t.own(dst, "destination")
	from := global(src)
	t.holds(g, "destination", len(from.Bytes))
	for _, b := range t.receivers(mask, bar) {
		t.arriving(b)
		t.check(t.bulk.LoadBulk(b.cta.shared(), g.offset, from, 0, len(from.Bytes), b.b))
	}
}

// StoreBulk issues the copy of src to dst, as many bytes as dst has, a transfer of the bulk
// group that is committed next (PTX cp.async.bulk.global.shared::cta).
func StoreBulk[T any](t *Thread, dst []T, src *Array[T]) {
	t.use("StoreBulk")
	g := t.own(src, "source")
	to := global(dst)
	t.holds(g, "source", len(to.Bytes))
	t.check(t.bulk.StoreBulk(to, 0, g.cta.shared(), g.offset, len(to.Bytes)))
}

// StoreReduceBulk is StoreBulk that combines each element with dst's (PTX
// cp.reduce.async.bulk.global.shared::cta). See [tile.ReduceBulk].
func StoreReduceBulk[T any](t *Thread, op tile.ReduceOp, dst []T, src *Array[T]) {
	t.use("StoreReduceBulk")
	g := t.own(src, "source")
	to := global(dst)
	t.holds(g, "source", len(to.Bytes))
	if !g.typed {
		t.fail(RuleBytes, "%T has no elements that a copy can combine", src)
	}
	t.check(t.bulk.ReduceBulk(to, 0, op, g.typ, g.cta.shared(), g.offset, len(to.Bytes)))
}

// holds reports a region that is smaller than what a copy moves.
func (t *Thread) holds(g region, what string, bytes int) {
	if bytes > g.bytes {
		t.fail(RuleBytes, "%d bytes in a %s of %d", bytes, what, g.bytes)
	}
}

// CopyBulk issues the copy of src to dst, which lies in any CTA of the cluster and is at
// least as large. It completes the bytes on bar, a barrier of that CTA (PTX
// cp.async.bulk.shared::cluster.shared::cta).
func (t *Thread) CopyBulk(dst, src Region, bar *Barrier) {
	t.use("CopyBulk")
	to, from, b := t.exchange(dst, src, bar)
	t.check(t.bulk.CopyBulk(to.cta.shared(), to.offset, from.cta.shared(), from.offset, from.bytes, b.b))
}

// ReduceBulk is CopyBulk that combines each element with dst's, whose type both have (PTX
// cp.reduce.async.bulk.shared::cluster.shared::cta). See [tile.ReduceShared].
func (t *Thread) ReduceBulk(op tile.ReduceOp, dst, src Region, bar *Barrier) {
	t.use("ReduceBulk")
	to, from, b := t.exchange(dst, src, bar)
	if !from.typed || from.typ != to.typ {
		t.fail(RuleBytes, "%T and %T are not of one type that a copy can combine", dst, src)
	}
	t.check(t.bulk.ReduceShared(to.cta.shared(), to.offset, op, from.typ, from.cta.shared(), from.offset, from.bytes, b.b))
}

func (t *Thread) exchange(dst, src Region, bar *Barrier) (to, from region, b *mbar) {
	to, from = t.operand(dst, "destination"), t.own(src, "source")
	t.holds(to, "destination", from.bytes)
	b = t.bar(bar, to.cta)
	t.arriving(b)
	return to, from, b
}

// StoreAsync stores v in dst's first element, in any CTA of the cluster, and completes its
// bytes, 4, 8 or 16, on bar, a barrier of that CTA (PTX st.async).
func StoreAsync[T any](t *Thread, dst *Array[T], v T, bar *Barrier) {
	t.use("StoreAsync")
	bytes := global([]T{v}).Bytes
	if n := len(bytes); n != 4 && n != 8 && n != 16 {
		t.fail(RuleBytes, "%T has %d bytes, st.async stores 4, 8 or 16", v, n)
	}
	g := t.operand(dst, "destination")
	t.holds(g, "destination", len(bytes))
	b := t.bar(bar, g.cta)
	t.arriving(b)
	t.check(t.bulk.StoreAsync(g.cta.shared(), g.offset, bytes, b.b))
}

// ReduceAsync combines v with dst's first element, in any CTA of the cluster, and completes
// its bytes on bar, a barrier of that CTA (PTX red.async).
func ReduceAsync[T uint32 | int32 | uint64](t *Thread, op tile.ReduceOp, dst *Array[T], v T, bar *Barrier) {
	t.use("ReduceAsync")
	g := t.operand(dst, "destination")
	bytes := global([]T{v}).Bytes
	t.holds(g, "destination", len(bytes))
	b := t.bar(bar, g.cta)
	t.arriving(b)
	t.check(t.bulk.ReduceAsync(g.cta.shared(), g.offset, op, g.typ, bytes, b.b))
}

// CommitGroup makes a bulk group of the stores and reductions to global memory that the
// thread has issued since the last time (PTX cp.async.bulk.commit_group).
func (t *Thread) CommitGroup() {
	t.use("CommitGroup")
	t.bulk.CommitGroup()
}

// WaitGroup waits until at most the n latest bulk groups of the thread are pending: what the
// others store is in global memory (PTX cp.async.bulk.wait_group).
func (t *Thread) WaitGroup(n int) {
	t.use("WaitGroup")
	t.groups(n)
	t.bulk.WaitGroup(n)
}

// WaitGroupRead waits until the sources of all but the n latest bulk groups of the thread
// may be written again (PTX cp.async.bulk.wait_group.read).
func (t *Thread) WaitGroupRead(n int) {
	t.use("WaitGroupRead")
	t.groups(n)
	t.bulk.WaitGroupRead(n)
}

func (t *Thread) groups(n int) {
	if n < 0 {
		t.fail(RuleBytes, "%d groups, want 0 or more", n)
	}
}

// exit is the end of an agent: what it has committed lands now at the latest.
func (a *agent) exit() {
	r := a.run
	for _, t := range r.handles {
		r.op, r.by = "exit", &t.agent
		if n := t.bulk.Open(); n > 0 {
			t.fail(RuleExit, "%d stores to global memory were never committed: nothing says when they have read shared memory", n)
		}
		t.bulk.Exit() // its complaint, that nobody has waited for the sources, is none on a GPU: they outlive the thread
	}
}
