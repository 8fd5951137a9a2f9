package sm

import (
	"fmt"
	"reflect"
	"unsafe"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/fp8"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
	"github.com/x448/float16"
)

// An Array is n elements of a CTA's shared memory, or of global memory ([Global]), or a view of some of them. An agent
// reads and writes it with Load, Store, Read and Write, which checks see; a peer's array
// (MapShared) too.
type Array[T any] struct {
	cta    *cta // whose own it is: of shared memory where it lies, of global memory who has declared it
	home   *cta // that has declared it, of which cta is a peer if it is mapped
	memory *memory
	offset int // of the first element, in bytes
	n      int
	decl   *declaration
	data   []T
}

// A Region is an array of any type, for operations that move bytes.
type Region interface{ region() region }

type region struct {
	*memory
	offset int
	bytes  int
	typ    tile.DataType
	typed  bool // typ is the type of the elements
	decl   *declaration
}

func (a *Array[T]) region() region {
	if a == nil {
		return region{}
	}
	r := region{memory: a.memory, offset: a.offset, bytes: a.Size(), decl: a.decl}
	r.typ, r.typed = dataTypeOf[T]()
	return r
}

// regionOf returns the region of an operand, one of no CTA if that is nil.
func regionOf(r Region) region {
	if r == nil {
		return region{}
	}
	return r.region()
}

// Len returns the number of elements.
func (a *Array[T]) Len() int { return a.n }

// Size returns the number of bytes (sizeof).
func (a *Array[T]) Size() int { return a.n * sizeof[T]() }

func sizeof[T any]() int { var zero T; return int(unsafe.Sizeof(zero)) }

// Address returns the address in its memory. In shared memory it is the same for the arrays of all
// CTAs that were declared alike.
func (a *Array[T]) Address() int { return a.offset }

// At returns the elements from i on. Like Slice it panics if the array has no such
// elements.
func (a *Array[T]) At(i int) *Array[T] { return a.Slice(i, a.n) }

// Slice returns the elements i to j-1.
func (a *Array[T]) Slice(i, j int) *Array[T] {
	b := *a
	b.data, b.n = a.data[i:j:j], j-i
	b.offset = a.offset + i*sizeof[T]()
	return &b
}

// Recast returns the memory of an array as elements of U (reinterpret_cast, cute::recast), such as
// a stage that has been read as the float32s of an epilogue. It panics if U holds pointers, or if
// the bytes are no whole elements of U at its alignment.
func Recast[U, T any](a *Array[T]) *Array[U] {
	t := reflect.TypeFor[U]()
	size := int(t.Size())
	switch {
	case pointers(t):
		panic(fmt.Sprintf("sm: Recast of %s to %v, which holds pointers", a.decl.name(), t))
	case size == 0 || a.Size()%size != 0 || a.offset%t.Align() != 0:
		panic(fmt.Sprintf("sm: Recast of %s: %d bytes at address %d are no whole elements of %v, of %d bytes aligned to %d",
			a.decl.name(), a.Size(), a.offset, t, size, t.Align()))
	}
	n := a.Size() / size
	data := unsafe.Slice((*U)(unsafe.Pointer(unsafe.SliceData(a.data))), n)
	return &Array[U]{cta: a.cta, home: a.home, memory: a.memory, offset: a.offset, n: n, decl: a.decl, data: data}
}

// MapShared returns the array that the cluster's CTA of that rank has at this address
// (cluster.map_shared_rank). It panics if the cluster has no such CTA, or if the array lies in global memory.
func (a *Array[T]) MapShared(rank int) *Array[T] {
	a.shared("MapShared")
	b := *a
	b.cta = a.cta.peer(rank)
	b.memory, b.data = &b.cta.memory, elements[T](b.cta, a.offset, a.n)
	return &b
}

func (a *Array[T]) inGlobal() bool { return a.memory != nil && a.memory.cta == nil }

// shared panics if the array lies in global memory.
func (a *Array[T]) shared(what string) {
	if a.inGlobal() {
		panic(fmt.Sprintf("sm: %s of %s, which lies in global memory", what, a.decl.name()))
	}
}

// SharedRank returns the rank of the CTA that a region lies in (cluster.query_shared_rank). It panics if that is global
// memory.
func SharedRank(r Region) int {
	of := r.region()
	if of.memory == nil || of.cta == nil {
		panic(fmt.Sprintf("sm: SharedRank of %s, which lies in global memory", of.decl.name()))
	}
	return of.cta.rank
}

// Load returns element i.
func (a *Array[T]) Load(by Agent, i int) T {
	if uint(i) >= uint(len(a.data)) || a.watched(by) {
		a.access(by, "Load", i, 1, generic)
	}
	return a.data[i]
}

// Store sets element i to v.
func (a *Array[T]) Store(by Agent, i int, v T) {
	if uint(i) >= uint(len(a.data)) || a.watched(by) {
		a.access(by, "Store", i, 1, generic|writes).deed()
	}
	a.data[i] = v
}

// Read copies the elements from i on to dst.
func (a *Array[T]) Read(by Agent, i int, dst []T) {
	if i < 0 || i > len(a.data)-len(dst) || a.watched(by) {
		a.access(by, "Read", i, len(dst), generic)
	}
	copy(dst, a.data[i:i+len(dst)])
}

// Write copies src to the elements from i on.
func (a *Array[T]) Write(by Agent, i int, src []T) {
	if i < 0 || i > len(a.data)-len(src) || a.watched(by) {
		a.access(by, "Write", i, len(src), generic|writes).deed()
	}
	copy(a.data[i:i+len(src)], src)
}

// watched reports whether accesses are more than that: in checked launches each may change
// the order of agents, Banks count them, what is another CTA's must be alive, and a loop that looks at
// memory ends with the launch.
func (a *Array[T]) watched(by Agent) bool {
	return a.cta.launch.state.Load() != stateFree || by.base().cta != a.cta
}

// access is an access of the elements i to i+n-1, by the agent that it returns.
func (a *Array[T]) access(by Agent, op string, i, n int, how manner) *agent {
	g := by.base()
	g.enterBelow(op)
	a.touch(g, op, i, n, how)
	return g
}

// touch judges an access of the elements i to i+n-1, by an agent that has begun it.
func (a *Array[T]) touch(g *agent, op string, i, n int, how manner) {
	if i < 0 || n < 0 || i > a.n-n {
		rule := RuleShared
		if a.inGlobal() {
			rule = RuleGlobal
		}
		g.fail(rule, "%s of %s, which has %d", numbers(i, i+n-1), a.decl.name(), a.n)
	}
	switch {
	case !a.inGlobal():
		g.reach(a.cta)
	case a.memory.launch != g.cta.launch:
		g.fail(RuleGlobal, "%s is of a launch before: a CTA declares what it accesses", a.decl.name())
	}
	size := sizeof[T]()
	if g.cta.banks != nil && g.cta == a.memory.cta && how&combines == 0 && (n == 1 || g.lanes == 1) {
		p := pipeLoad
		if how&writes != 0 {
			p = pipeStore
		}
		g.banked(op, a.decl, a.offset+i*size, n*size, n == 1, p)
	}
	if h := g.run.history; h != nil {
		g.access(a.memory, a.offset+i*size, n*size, h.note(a.memory, g.mark(), op, how))
	}
}

// Bytes returns the memory itself. No check sees what is done with it.
func (a *Array[T]) Bytes() []byte {
	a.memory.bare(a.offset, a.Size())
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(a.data))), a.Size())
}

// Elements returns the memory itself. No check sees what is done with it.
func (a *Array[T]) Elements() []T {
	a.memory.bare(a.offset, a.Size())
	return a.data
}

// KMajor returns the matrix descriptor of a K-major operand that begins here, in rows of
// a swizzle's span, as a tensor load with that swizzle writes them. The next step of K in
// the same rows begins 32 bytes further; see [wgmma.KMajor]. It panics without a swizzle:
// such an operand is a [wgmma.Descriptor] with offsets of its own. So it does if the array is a
// peer's, or lies in global memory, which no instruction reads.
func (a *Array[T]) KMajor(s tile.Swizzle) wgmma.Descriptor {
	return wgmma.KMajor(a.operand("KMajor"), s)
}

// MNMajor returns the matrix descriptor of an MN-major (transposed) operand that begins
// here, as tensor loads with that swizzle write boxes a span of M or N wide. If the operand
// is wider, block is the distance of its boxes in bytes; see [wgmma.MNMajor]. It panics as KMajor does.
func (a *Array[T]) MNMajor(s tile.Swizzle, block ...int) wgmma.Descriptor {
	d := wgmma.MNMajor(a.operand("MNMajor"), s, 0)
	if len(block) > 0 {
		d.LBO = block[0]
	}
	return d
}

// operand returns the address for a descriptor, which means that of the CTA whose warpgroup has it.
func (a *Array[T]) operand(what string) int {
	a.shared(what)
	if a.cta != a.home {
		panic(fmt.Sprintf("sm: %s of %s of CTA %v, which is a peer's: wgmma reads the CTA's own shared memory",
			what, a.decl.name(), a.cta.idx))
	}
	return a.offset
}

// dataTypeOf returns the type of a tensor map whose elements are T's.
func dataTypeOf[T any]() (tile.DataType, bool) {
	var zero T
	switch any(zero).(type) {
	case uint8, int8, fp8.E4M3, fp8.E5M2:
		return tile.Uint8, true
	case uint16, int16:
		return tile.Uint16, true
	case uint32:
		return tile.Uint32, true
	case int32:
		return tile.Int32, true
	case uint64:
		return tile.Uint64, true
	case int64:
		return tile.Int64, true
	case float32:
		return tile.Float32, true
	case float64:
		return tile.Float64, true
	case bf16.BF16:
		return tile.BFloat16, true
	case float16.Float16:
		return tile.Float16, true
	}
	return 0, false
}
