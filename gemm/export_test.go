package gemm

import (
	"runtime"
	"time"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/tile"
)

// Tests pretend machines with more processors than this one.
func init() { here.cores = func() int { return runtime.GOMAXPROCS(0) } }

// OnRing multiplies as e.Multiply does, but on the ring, or by columns if the rows
// are few, however small the product is. No dimension may be 0.
func OnRing(e *Engine, c, a, b AnyMatrix, opts ...Option) (Stats, error) {
	in, s, err := e.prepared(c, a, b, opts)
	if err != nil {
		return Stats{}, err
	}
	q := &in.problem
	q.workers, q.procs, q.waits = s.workerCount(), s.processors(), s.ctx != nil
	g := q.planRing()
	if !q.asked.any && q.sharesColumns() {
		g = q.planColumns()
	}
	return e.follow(in, s, g)
}

// OnGrid multiplies as e.Multiply does, but never inline.
func OnGrid(e *Engine, c, a, b AnyMatrix, opts ...Option) (Stats, error) {
	in, s, err := e.prepared(c, a, b, opts)
	if err != nil {
		return Stats{}, err
	}
	q := &in.problem
	q.workers, q.procs, q.waits = s.workerCount(), s.processors(), true
	g := choose(q)
	if g.share == byCaller {
		g = q.planRing()
	}
	return e.follow(in, s, g)
}

// follow computes the product by a plan for a grid.
func (e *Engine) follow(in *slab, s *settings, g Plan) (st Stats, err error) {
	s.stats = &st
	err = e.grid(in, s, &g, time.Now())
	return st, err
}

// prepared returns the product of a call, of which nothing is decided.
func (e *Engine) prepared(c, a, b AnyMatrix, opts []Option) (*slab, *settings, error) {
	s := e.defaults
	in := slab{product: product{c: c.view(), a: a.view(), b: b.view(), packed: b.packing()}}
	err := s.prepare(&in.product, opts)
	if err == nil {
		in.survey(here, &s)
	}
	return &in, &s, err
}

// A Path is the plan of a product, for tests to ask about.
type Path struct{ *Plan }

// PathOf returns how e.Multiply computes the product.
func PathOf(e *Engine, c, a, b AnyMatrix, opts ...Option) (path Path, err error) {
	in, s, err := e.prepared(c, a, b, opts)
	defer s.leave()
	if err != nil {
		return path, err
	}
	if s.unnamed() && in.tiny() != nil {
		return Path{&tinyPlan}, nil
	}
	return Path{e.plan(&in.product, s)}, nil
}

// What tests ask about it.
func (p Path) Route() string        { return p.share.String() }
func (p Path) FewRows() bool        { return p.share <= bySlabs && p.b == streamedB }
func (p Path) Unpacked() bool       { return p.b == unpackedB }
func (p Path) StreamsInPlace() bool { return p.share == byColumns && p.b == streamedB }
func (p Path) StreamsAlong() bool   { return p.b == alongB }

// planned returns the ring of e.Multiply with these arguments.
func (e *Engine) planned(c, a, b AnyMatrix, opts []Option) (ringCut, error) {
	in, s, err := e.prepared(c, a, b, opts)
	defer s.leave()
	if err != nil {
		return ringCut{}, err
	}
	q := &in.problem
	q.workers, q.procs = s.workerCount(), s.processors()
	return q.planRing().ring, nil
}

// RingBytes returns the memory that it takes.
func RingBytes(e *Engine, c, a, b AnyMatrix, opts ...Option) (int, error) {
	g, err := e.planned(c, a, b, opts)
	return int(g.Bytes()), err
}

// RingSlabs returns how many slabs a stage of it has, which workers share.
func RingSlabs(e *Engine, c, a, b AnyMatrix, opts ...Option) (int, error) {
	g, err := e.planned(c, a, b, opts)
	return g.slabs(), err
}

// MovePacked moves the panels of p to memory of their size.
func MovePacked[T Element](p *Packed[T], memory []byte) {
	copy(memory[:len(p.p.data)], p.p.data)
	p.p.data = memory
}

// RestorePacked makes anew what the panels in the binary form of a Packed say of their elements, if
// everything before them is right.
func RestorePacked[T Element](data []byte) {
	p, panels, err := parsePacking(data, elementType[T]())
	if err != nil {
		return
	}
	p.data = tile.HeapSlots(len(panels))
	copy(p.data, panels)
	for k0 := 0; k0 < p.k && p.n > 1; k0 += p.bk { // a single column says nothing else
		for col := 0; col < p.n; col += p.kernel.NR {
			p.kernel.RestoreB(p.elem, p.at(k0, col), min(p.bk, p.k-k0))
		}
	}
	copy(panels, p.data)
}

// PackedStage returns the elements of K in a stage of p.
func PackedStage[T Element](p *Packed[T]) int { return p.p.bk }

// PretendL3 makes the engine plan for a last-level cache of n bytes until the
// function it returns is called.
func PretendL3(n int) (restore func()) { return pretend(func(m *machine) { m.l3 = n }) }

// PretendL2 does the same for a second-level cache.
func PretendL2(n int) (restore func()) { return pretend(func(m *machine) { m.l2 = n }) }

// PretendIntel does the same for a processor of Intel's, or for a Zen 5.
func PretendIntel(is bool) (restore func()) { return pretendName(is, "intel") }

// PretendHalves does the same for a processor that carries out AVX-512 in halves.
func PretendHalves(is bool) (restore func()) { return pretendName(is, "zen4") }

func pretendName(is bool, name string) (restore func()) {
	return pretend(func(m *machine) {
		if is {
			m.name = name
		} else if m.name == name {
			m.name = "zen5"
		}
	})
}

// OnIntel reports whether it plans for one.
func OnIntel() bool { return here.name == "intel" }

// pretend has the engine plan for another machine.
func pretend(change func(m *machine)) (restore func()) {
	old, other := here, *here
	other.tunings = nil
	change(&other)
	here = other.tune()
	return func() { here = old }
}

// StreamColumns returns the columns of a slab of e.Multiply with these arguments,
// 0 if workers do not share out columns.
func StreamColumns(e *Engine, c, a, b AnyMatrix, opts ...Option) (int, error) {
	path, err := PathOf(e, c, a, b, opts...)
	return path.columns.cols, err
}

// PlaceSlabs returns the slabs into which so many workers cut a product of elements of
// type t, 0 if it is not computed in place.
func PlaceSlabs(k *asm.Kernel, t asm.Type, m, n, depth, workers int) (slabs int) {
	for _, b := range []view{{packed: true}, {trans: true}, {}} {
		b.rows, b.cols, b.stride, b.elem = depth, n, n, t
		p := product{a: view{rows: m, cols: depth, stride: depth, elem: t}, b: b, c: view{rows: m, cols: n, stride: n}, problem: problem{k: depth, kernel: k}}
		p.pose()
		p.survey(here, &settings{})
		p.workers, p.procs = workers, workers
		if g := choose(&p.problem); g.share == bySlabs {
			slabs = g.slabs.count
		}
	}
	return slabs
}

// Alone reports whether a product of such a size stays with its caller, who may have so many workers.
func Alone(k *asm.Kernel, t asm.Type, m, n, depth, workers int) bool {
	q := problem{m: m, n: n, k: depth, kernel: k, elem: t, elemA: t, on: here.tuned(k)}
	return q.alone(q.crowd(workers))
}

// Starves reports whether k multiplies faster than operands come from the last cache.
func Starves(k *asm.Kernel) bool { return here.tuned(k).fetchRows > 0 }
