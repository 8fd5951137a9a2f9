package gemm

import (
	"runtime"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/tile"
)

// Tests pretend machines with more processors than this one.
func init() { here.cores = func() int { return runtime.GOMAXPROCS(0) } }

// OnRing multiplies as e.Multiply does, but on the ring, or streamed if the rows
// are few, however small the product is. No dimension may be 0.
func OnRing(e *Engine, c, a, b AnyMatrix, opts ...Option) (Stats, error) {
	in, s, err := e.prepared(c, a, b, opts)
	if err != nil {
		return Stats{}, err
	}
	if !in.skinny(s) && s.depth == 0 {
		s.depth = 1 // not in place
	}
	return e.grid(in, s, in.gridRoute(s))
}

// OnGrid multiplies as e.Multiply does, but never inline.
func OnGrid(e *Engine, c, a, b AnyMatrix, opts ...Option) (Stats, error) {
	in, s, err := e.prepared(c, a, b, opts)
	if err != nil {
		return Stats{}, err
	}
	return e.grid(in, s, in.gridRoute(s))
}

// prepared returns the product of a call, which nobody has laid out.
func (e *Engine) prepared(c, a, b AnyMatrix, opts []Option) (*inlined, *settings, error) {
	s := e.defaults
	in := inlined{product: product{c: c.view(), a: a.view(), b: b.view(), packed: b.packing()}}
	err := s.prepare(&in.product, opts)
	return &in, &s, err
}

// A Path is how a product is computed, beyond its route.
type Path struct {
	Route        string
	WholeTiles   bool // inline, of whole tiles and no more
	FewRows      bool // inline, by kernels that stream
	Unpacked     bool // inline or in place, with neither A nor B packed
	StreamsAlong bool // streams columns of B as rows
	KeepsB       bool // several workers' caches keep B, which is then not streamed
}

// PathOf returns how e.Multiply computes the product.
func PathOf(e *Engine, c, a, b AnyMatrix, opts ...Option) (path Path, err error) {
	in, s, err := e.prepared(c, a, b, opts)
	defer s.leave()
	if err != nil {
		return path, err
	}
	path.KeepsB = in.keepsB(s.parallelism())
	how := in.route(s)
	path.Route = routeNames[how]
	switch how {
	case routeStream:
		path.StreamsAlong = in.streamMode(s.parallelism()) == streamAlong
		return path, nil
	case routeRing:
		return path, nil
	case routePlace:
		var pl place
		pl.init(in, s.parallelism())
		in = &pl.inlined
	case routeInline:
		path.WholeTiles, path.FewRows = in.whole, in.few
	}
	in.past = in.exceeds(1)
	path.Unpacked = in.unpacked != nil
	return path, nil
}

// StarveFlops is the size of a product up to which a starving kernel's is inline,
// StarveMany the same for many workers.
const StarveFlops, StarveMany = starveFlops, starveMany

// planned returns the plan of the ring of e.Multiply with these arguments.
func planned(e *Engine, c, a, b AnyMatrix, opts []Option) (plan, error) {
	in, s, err := e.prepared(c, a, b, opts)
	defer s.leave()
	if err != nil {
		return plan{}, err
	}
	return newPlan(&in.product, s), nil
}

// RingBytes returns the memory that it takes.
func RingBytes(e *Engine, c, a, b AnyMatrix, opts ...Option) (int, error) {
	g, err := planned(e, c, a, b, opts)
	return int(g.bytes()), err
}

// RingSlabs returns how many slabs a stage of it has, which workers share.
func RingSlabs(e *Engine, c, a, b AnyMatrix, opts ...Option) (int, error) {
	g, err := planned(e, c, a, b, opts)
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
	for k0 := 0; k0 < p.k && p.n > 0; k0 += p.bk {
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

// PretendIntel does the same for a processor of Intel's, or of others.
func PretendIntel(is bool) (restore func()) { return pretend(func(m *machine) { m.intel = is }) }

// PretendHalves does the same for a processor that carries out AVX-512 in halves.
func PretendHalves(is bool) (restore func()) { return pretend(func(m *machine) { m.halved = is }) }

// pretend has the engine plan for another machine.
func pretend(change func(m *machine)) (restore func()) {
	old, other := here, *here
	change(&other)
	here = &other
	return func() { here = old }
}

// StreamColumns returns the columns of a slab of e.Multiply with these arguments,
// 0 if it is not streamed.
func StreamColumns(e *Engine, c, a, b AnyMatrix, opts ...Option) (int, error) {
	in, s, err := e.prepared(c, a, b, opts)
	defer s.leave()
	if err != nil || !in.skinny(s) {
		return 0, err
	}
	var st stream
	err = st.init(&in.product, s.parallelism())
	return st.cols, err
}

// PlaceSlabs returns the slabs into which so many workers cut a product of elements of
// type t, 0 if it is not computed in place, and -1 if scratch memory is not enough for
// them. The same product with a B that is packed, and transposed, is cut before.
func PlaceSlabs(k *asm.Kernel, t asm.Type, m, n, depth, workers int) (slabs int) {
	var pl place
	for _, b := range []view{{packed: true}, {trans: true}, {}} {
		b.rows, b.cols, b.stride, b.elem = depth, n, n, t
		in := inlined{product: product{
			a: view{rows: m, cols: depth, stride: depth, elem: t}, b: b,
			m: m, n: n, k: depth, kernel: k, on: here,
			packed: packing{kernel: k, elem: t, k: depth, n: n, bk: stageElements(k, t)},
		}}
		s := settings{workers: workers}
		if slabs = 0; !in.placed(&s) {
			continue
		}
		pl.init(&in, s.parallelism())
		from, to := pl.rowsOf(pl.slabs/pl.across - 1) // the last have most
		if !pl.layout(to-from, pl.slabCols) {
			return -1
		}
		slabs = pl.slabs
	}
	return slabs
}
