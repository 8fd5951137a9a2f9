package gemm

import (
	"runtime"
	"time"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/plan"
)

// Tests pretend machines with more processors than this one.
func init() { processors = func() int { return runtime.GOMAXPROCS(0) } }

// OnRing multiplies as e.Multiply does, but on the ring, or by columns if the rows
// are few, however small the product is. No dimension may be 0.
func OnRing(e *Engine, c, a, b AnyMatrix, opts ...Option) (Stats, error) {
	in, s, err := e.prepared(c, a, b, opts)
	if err != nil {
		return Stats{}, err
	}
	q := &in.Problem
	q.Workers, q.Procs, q.Waits = s.workerCount(&in.product), runtime.GOMAXPROCS(0), s.ctx != nil
	g := q.PlanRing()
	if !q.Asked.Any && q.SharesColumns() {
		g = q.PlanColumns()
	}
	return e.byPlan(in, s, g)
}

// OnGrid multiplies as e.Multiply does, but never inline.
func OnGrid(e *Engine, c, a, b AnyMatrix, opts ...Option) (Stats, error) {
	in, s, err := e.prepared(c, a, b, opts)
	if err != nil {
		return Stats{}, err
	}
	q := &in.Problem
	q.Workers, q.Procs, q.Waits = s.workerCount(&in.product), runtime.GOMAXPROCS(0), true
	g := plan.Choose(q)
	if g.Share == plan.ByCaller {
		g = q.PlanRing()
	}
	return e.byPlan(in, s, g)
}

// byPlan computes the product by a plan for workers.
func (e *Engine) byPlan(in *slab, s *settings, g plan.Plan) (st Stats, err error) {
	s.stats = &st
	in.follow(&g)
	err = e.share(in, s, time.Now())
	return st, err
}

// prepared returns the product of a call, of which nothing is decided.
func (e *Engine) prepared(c, a, b AnyMatrix, opts []Option) (*slab, *settings, error) {
	s := e.defaults
	in := slab{product: product{c: c.view(), a: a.view(), b: b.view()}}
	err := s.apply(opts)
	if err == nil {
		err = s.prepare(&in.product)
	}
	if err == nil {
		in.survey(plan.Here)
	}
	return &in, &s, err
}

// A Path is the plan of a product, for tests to ask about.
type Path struct{ *plan.Plan }

// PathOf returns how e.Multiply computes the product.
func PathOf(e *Engine, c, a, b AnyMatrix, opts ...Option) (path Path, err error) {
	in, s, err := e.prepared(c, a, b, opts)
	defer in.leave()
	if err != nil {
		return path, err
	}
	if !in.Asked.Any && in.Tiny() {
		return Path{&plan.TinyPlan}, nil
	}
	return Path{e.plan(&in.product, s)}, nil
}

// What tests ask about it.
func (p Path) FewRows() bool  { return p.Share <= plan.BySlabs && p.B == plan.StreamedB }
func (p Path) Unpacked() bool { return p.B == plan.UnpackedB }

// planned returns the ring of e.Multiply with these arguments.
func (e *Engine) planned(c, a, b AnyMatrix, opts []Option) (plan.RingCut, error) {
	in, s, err := e.prepared(c, a, b, opts)
	defer in.leave()
	if err != nil {
		return plan.RingCut{}, err
	}
	q := &in.Problem
	q.Workers, q.Procs = s.workerCount(&in.product), runtime.GOMAXPROCS(0)
	return q.PlanRing().Ring, nil
}

// RingBytes returns the memory that it takes.
func RingBytes(e *Engine, c, a, b AnyMatrix, opts ...Option) (int, error) {
	g, err := e.planned(c, a, b, opts)
	return int(g.Bytes()), err
}

// MovePacked moves the panels of p to memory of their size.
func MovePacked[T Element](p *Packed[T], memory []byte) {
	copy(memory, unsafe.Slice((*byte)(p.b.ptr), p.Size()))
	p.b.ptr = unsafe.Pointer(unsafe.SliceData(memory))
}

// RestorePacked makes anew what the panels in the binary form of a Packed say of their elements, if
// everything before them is right.
func RestorePacked[T Element](data []byte) {
	b, panels, err := parsePacked(data, elementType[T]())
	if err != nil {
		return
	}
	data = b.hold(len(panels))
	copy(data, panels)
	for k0 := 0; k0 < b.rows && b.cols > 1; k0 += b.stride { // a single column says nothing else
		for col := 0; col < b.cols; col += b.kernel.NR {
			b.kernel.RestoreB(b.elem, b.panel(k0, col), min(b.stride, b.rows-k0))
		}
	}
	copy(panels, data)
}

// PackedStage returns the elements of K in a stage of p.
func PackedStage[T Element](p *Packed[T]) int { return p.b.stride }

// PretendL3 makes the engine plan for a last-level cache of n bytes until the
// function it returns is called.
func PretendL3(n int) (restore func()) { return pretend(func(m *plan.Machine) { m.L3 = n }) }

// PretendL2 does the same for a second-level cache.
func PretendL2(n int) (restore func()) { return pretend(func(m *plan.Machine) { m.L2 = n }) }

// PretendIntel does the same for a processor of Intel's, or for a Zen 5.
func PretendIntel(is bool) (restore func()) { return pretendName(is, "intel") }

// PretendHalves does the same for a processor that carries out AVX-512 in halves.
func PretendHalves(is bool) (restore func()) { return pretendName(is, "zen4") }

func pretendName(is bool, name string) (restore func()) {
	return pretend(func(m *plan.Machine) {
		if is {
			m.Name = name
		} else if m.Name == name {
			m.Name = "zen5"
		}
	})
}

// pretend has the engine plan for another machine.
func pretend(change func(m *plan.Machine)) (restore func()) {
	old, other := plan.Here, *plan.Here
	other.Tunings = nil
	change(&other)
	plan.Here = other.Tune()
	return func() { plan.Here = old }
}

// Alone reports whether a product of such a size stays with its caller, who may have so many workers.
func Alone(k *asm.Kernel, t asm.Type, m, n, depth, workers int) bool {
	q := plan.Problem{M: m, N: n, K: depth, Kernel: k, Elem: t, ElemA: t, On: plan.Here.Tuned(k)}
	return q.Alone(plan.CrowdOf(workers))
}

// WaitsForB reports whether k multiplies faster than operands come from the last cache.
func WaitsForB(k *asm.Kernel) bool { return plan.Here.Tuned(k).FetchRows > 0 }
