package sm

import (
	"fmt"
	"sync"
	"sync/atomic"

	"example.com/leafhopper/tile"
)

// A TensorMap is what copies go through: a [*tile.TensorMap], which is a kernel's __grid_constant__ parameter, or a
// [*TMADescriptor] in global memory.
type TensorMap interface {
	// Descriptor returns the fields of the map.
	Descriptor() tile.Descriptor
}

// A TMADescriptor is a tensor-map object that a kernel changes (CUtensorMap, cute::TmaDescriptor; PTX 9.7.9.28,
// tensormap.replace). Those of [Block.TMADescriptors] lie in shared memory. All others lie in global memory: a slot for
// each CTA, say, is an element of a slice that the kernel has from its host. The zero value holds no map.
//
// A map is changed in shared memory, from where [TMADescriptor.CopyFenceRelease] brings it to its slot, or in the slot,
// with a FenceTensorMapRelease behind it. Whoever copies through the slot has executed FenceAcquire after that, or has
// been told by a thread of its CTA that has; likewise if the host has Set the slot, or another launch has changed it.
// Who has not is known under Check.
type TMADescriptor struct {
	cta       *cta // whose shared memory it lies in, or nil
	offset    int
	decl      *declaration
	index, of int

	state atomic.Pointer[descriptorState]
	mu    sync.Mutex // guards order, for launches may share a slot that the host has Set
	order slotOrder  // under Check, of a slot
}

// A descriptorState is what an object holds. It does not change.
type descriptorState struct {
	tile.Descriptor
	tensorMap func() (*tile.TensorMap, error)
}

func newState(d tile.Descriptor) *descriptorState {
	return &descriptorState{d, sync.OnceValues(d.Map)}
}

const descriptorSize = 128

// TMADescriptors returns n tensor-map objects in the CTA's shared memory (__shared__ alignas(128) CUtensorMap), which
// hold no maps.
func (b *Block) TMADescriptors(n int) []TMADescriptor {
	b.cta.declare("TMADescriptors")
	return b.cta.newDescriptors("TMADescriptors", n)
}

// TMADescriptor is TMADescriptors(1), the one.
func (b *Block) TMADescriptor() *TMADescriptor {
	b.cta.declare("TMADescriptor")
	return &b.cta.newDescriptors("TMADescriptor", 1)[0]
}

func (c *cta) newDescriptors(call string, n int) []TMADescriptor {
	if n < 0 || n > MaxSharedBytes/descriptorSize {
		c.body.fail(RuleShared, "%d descriptors, want 0 to %d", n, MaxSharedBytes/descriptorSize)
	}
	offset := c.reserve(descriptorSize*n, descriptorSize)
	c.keep(call, offset, descriptorSize, n)
	all := make([]TMADescriptor, n)
	for i := range all {
		d := &all[i]
		d.cta, d.offset, d.decl, d.index, d.of = c, offset+i*descriptorSize, c.declared, i, n
	}
	return all
}

// name returns what a report calls the object.
func (d *TMADescriptor) name() string {
	switch {
	case d.cta == nil:
		return "the tensor map in global memory"
	case d.of == 1:
		return d.decl.name()
	}
	return fmt.Sprintf("%s[%d]", d.decl.name(), d.index)
}

// Descriptor returns the fields of the map, those of the zero Descriptor if there is none. No check sees that.
func (d *TMADescriptor) Descriptor() tile.Descriptor {
	if s := d.state.Load(); s != nil {
		return s.Descriptor
	}
	return tile.Descriptor{}
}

// Set is the host's: it copies a map to global memory, when no kernel uses the slot (cudaMemcpy). It panics if the
// object lies in shared memory, or if m is nil.
func (d *TMADescriptor) Set(m TensorMap) {
	if d.cta != nil {
		panic(fmt.Sprintf("sm: Set of %s, which lies in shared memory: Store is the kernel's", d.name()))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state.Store(newState(m.Descriptor()))
	d.order = slotOrder{}
}

// begin begins an operation on the object.
func (d *TMADescriptor) begin(a Agent, op string) *agent {
	g := a.base()
	g.enterBelow(op)
	d.reachable(g, "the descriptor")
	return g
}

// reachable reports an object that is none of g's.
func (d *TMADescriptor) reachable(g *agent, what string) {
	switch {
	case d == nil:
		g.fail(RuleMap, "%s is nil", what)
	case d.cta != nil && d.cta != g.cta:
		g.fail(RuleShared, "%s lies in the shared memory of CTA %v", d.name(), d.cta.idx)
	}
}

// held returns what the object holds.
func (d *TMADescriptor) held(g *agent) *descriptorState {
	s := d.state.Load()
	if s == nil {
		g.fail(RuleUnwritten, "%s holds no tensor map: Store puts one there", d.name())
	}
	return s
}

// Store copies a map to the object, as a thread does word by word: such as one from a parameter to shared memory, where
// it is to be changed.
func (d *TMADescriptor) Store(a Agent, m TensorMap) {
	g := d.begin(a, "Store")
	var s *descriptorState
	switch m := m.(type) {
	case *TMADescriptor:
		m.reachable(g, "the source")
		s = m.held(g)
		m.reads(g)
	case *tile.TensorMap:
		if m == nil {
			g.fail(RuleMap, "the source is nil")
		}
		s = newState(m.Descriptor())
	default:
		g.fail(RuleMap, "the source is a %T", m)
	}
	d.writes(g)
	d.state.Store(s)
}

// change is every tensormap.replace.
func (d *TMADescriptor) change(a Agent, op string, replace func(*tile.Descriptor) error) {
	g := a.base()
	g.enterBelow(op)
	d.reachable(g, "the descriptor")
	next := d.held(g).Descriptor
	if err := replace(&next); err != nil {
		g.failWith(err, RuleMap, "%s: %s", d.name(), says(err))
	}
	d.writes(g)
	d.state.Store(newState(next))
}

// ReplaceGlobalAddress has the tensor of d lie in data (tensormap.replace.tile.global_address). See
// [tile.Descriptor.ReplaceGlobalAddress].
func ReplaceGlobalAddress[T any](a Agent, d *TMADescriptor, data []T) {
	to := global(data)
	d.change(a, "ReplaceGlobalAddress", func(f *tile.Descriptor) error {
		return f.ReplaceGlobalAddress(to.Bytes, to.Address)
	})
}

// ReplaceRank sets the rank, to one more than newVal (tensormap.replace.tile.rank).
func (d *TMADescriptor) ReplaceRank(a Agent, newVal uint32) {
	d.change(a, "ReplaceRank", func(f *tile.Descriptor) error { return f.ReplaceRank(newVal) })
}

// ReplaceBoxDim sets the extent of the box in a dimension (tensormap.replace.tile.box_dim).
func (d *TMADescriptor) ReplaceBoxDim(a Agent, ord int, newVal uint32) {
	d.change(a, "ReplaceBoxDim", func(f *tile.Descriptor) error { return f.ReplaceBoxDim(ord, newVal) })
}

// ReplaceGlobalDim sets the extent of the tensor in a dimension (tensormap.replace.tile.global_dim).
func (d *TMADescriptor) ReplaceGlobalDim(a Agent, ord int, newVal uint32) {
	d.change(a, "ReplaceGlobalDim", func(f *tile.Descriptor) error { return f.ReplaceGlobalDim(ord, newVal) })
}

// ReplaceGlobalStride sets the bytes between neighbours in dimension ord + 1 (tensormap.replace.tile.global_stride).
func (d *TMADescriptor) ReplaceGlobalStride(a Agent, ord int, newVal uint64) {
	d.change(a, "ReplaceGlobalStride", func(f *tile.Descriptor) error { return f.ReplaceGlobalStride(ord, newVal) })
}

// ReplaceElementStride sets the element stride of a dimension (tensormap.replace.tile.element_stride).
func (d *TMADescriptor) ReplaceElementStride(a Agent, ord int, newVal uint32) {
	d.change(a, "ReplaceElementStride", func(f *tile.Descriptor) error { return f.ReplaceElementStride(ord, newVal) })
}

// ReplaceElemtype sets the element type (tensormap.replace.tile.elemtype).
func (d *TMADescriptor) ReplaceElemtype(a Agent, t tile.DataType) {
	d.change(a, "ReplaceElemtype", func(f *tile.Descriptor) error { return f.ReplaceElemtype(t) })
}

// ReplaceInterleaveLayout sets the interleave layout (tensormap.replace.tile.interleave_layout).
func (d *TMADescriptor) ReplaceInterleaveLayout(a Agent, l tile.Interleave) {
	d.change(a, "ReplaceInterleaveLayout", func(f *tile.Descriptor) error { return f.ReplaceInterleaveLayout(l) })
}

// ReplaceSwizzleMode sets the swizzle (tensormap.replace.tile.swizzle_mode).
func (d *TMADescriptor) ReplaceSwizzleMode(a Agent, s tile.Swizzle) {
	d.change(a, "ReplaceSwizzleMode", func(f *tile.Descriptor) error { return f.ReplaceSwizzleMode(s) })
}

// ReplaceFillMode sets the fill (tensormap.replace.tile.fill_mode).
func (d *TMADescriptor) ReplaceFillMode(a Agent, fill tile.Fill) {
	d.change(a, "ReplaceFillMode", func(f *tile.Descriptor) error { return f.ReplaceFillMode(fill) })
}

// CopyFenceRelease copies the map of src, which lies in shared memory, to d in global memory, and releases it (PTX
// 9.7.13.16, tensormap.cp_fenceproxy…release.sync.aligned; tma_descriptor_cp_fence_release). All threads of a warp
// execute it together, each after it has been told of what src holds: a is one of them, or a Warp.
func (d *TMADescriptor) CopyFenceRelease(a Agent, src *TMADescriptor, scope Scope) {
	g := d.begin(a, "CopyFenceRelease")
	src.reachable(g, "the source")
	switch self := g.run.self; {
	case d.cta != nil:
		g.fail(RuleMap, "the destination, %s, lies in shared memory", d.name())
	case src.cta == nil:
		g.fail(RuleMap, "the source, %s, is to lie in shared memory", src.name())
	case g.lanes > warpSize || g.lanes < min(self.lanes, warpSize):
		g.fail(RuleSync, "by %v of %v: it is an operation of one warp, all threads of which execute it (Warpgroup.Warp)",
			g, self)
	}
	src.held(g)
	w, _, _ := g.warp()
	w.reads(g, src)
	p := publication{d, src, scope}
	if g.lanes == 1 {
		g.meet(exchange{collective: collective{op: opCopyFence, of: src.name(), copies: p}, mask: FullMask})
	} else {
		w.publish([]*runner{g.run}, p)
	}
	d.disputed(g)
}

// A publication is a CopyFenceRelease.
type publication struct {
	to, from *TMADescriptor
	scope    Scope
}

// through returns the map that a copy of t goes through.
func (t *Thread) through(m TensorMap) *tile.TensorMap {
	switch m := m.(type) {
	case nil:
		return nil // which package tile reports
	case *tile.TensorMap:
		return m
	case *TMADescriptor:
		return m.used(t)
	}
	t.fail(RuleMap, "a %T is no tensor map", m)
	return nil
}

// used returns the map that a copy of t goes through which the object holds.
func (d *TMADescriptor) used(t *Thread) *tile.TensorMap {
	d.reachable(&t.agent, "the tensor map")
	if d.cta != nil {
		t.fail(RuleMap, "%s lies in shared memory, where no copy reads its tensor map: CopyFenceRelease brings it to global "+
			"memory", d.name())
	}
	s := d.held(&t.agent)
	d.uses(&t.agent)
	m, err := s.tensorMap()
	if err != nil {
		t.failWith(err, RuleMap, "%s, as it has become: %s", d.name(), says(err))
	}
	return m
}
