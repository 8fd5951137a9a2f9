package sm

import (
	"fmt"
	"math"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/fp8"
	"example.com/leafhopper/mma"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
	"github.com/x448/float16"
)

// A Block is a CTA as its kernel function sees it.
type Block struct {
	Idx     Dim3 // blockIdx
	Dim     Dim3 // blockDim
	GridDim Dim3 // gridDim

	cta *cta
}

// ClusterRank returns the CTA's number in its cluster, X fastest.
func (b *Block) ClusterRank() int { return b.cta.rank }

// ClusterSize returns the number of CTAs in the cluster.
func (b *Block) ClusterSize() int { return len(b.cta.cluster.ctas) }

// cta is a CTA of a resident cluster, used for one of the grid after another.
type cta struct {
	memory  // shared
	cluster *cluster
	rank    int
	idx     Dim3

	main  *runner // the kernel function
	body  *agent  // in whose name that acts
	begun bool    // has started its agents

	agents  int64        // that it has started
	running atomic.Int64 // agents that have not ended
	threads atomic.Int64 // of all agents, once they are started

	made     sync.Once // mem
	mem      *tile.Shared
	used     int          // bytes of it, barriers included
	layout   []placed     // of what it has declared, if it is not alone
	mu       sync.RWMutex // guards barriers; who reads them orders nobody
	barriers []*mbar

	pipelines [][]*Pipeline // by thread

	named [namedBarriers]namedBarrier
	warps []warpSync
	banks []warpBanks // of the same warps, if the launch has Banks
	taken []bool      // the warps that are in a part

	registers registers

	// What multiplies, in memory that it keeps for the next CTA.
	mma   [MaxThreads / warpSize]mma.Warp
	wgmma [MaxThreads / groupSize]*wgmma.Warpgroup // nil until it is needed

	known uint32 // the component by which others know that it has begun
	peers peers
	told  meeting // of those who have executed a ThreadFence
}

func (c *cta) reset(idx Dim3) {
	c.idx = idx
	c.begun, c.used, c.agents = false, 0, 0
	c.declared, c.barriers, c.pipelines, c.layout = nil, nil, nil, nil
	c.threads.Store(0)
	c.named = [namedBarriers]namedBarrier{}
	c.warps, c.taken = nil, nil
	c.registers = registers{}
	c.peers = peers{}
	c.known = 0
	clear(c.cells)
	c.cells = c.cells[:0]
	c.told = meeting{}
	c.main = newRunner(c, nil)
	c.body = &agent{run: c.main, cta: c, kind: "the kernel function"}
	if c.launch.Check && c.mem != nil {
		fill(c.mem.Bytes(), poison)
	}
}

func (c *cta) block() *Block {
	return &Block{Idx: c.idx, Dim: c.launch.Block, GridDim: c.launch.Grid, cta: c}
}

// shared returns the CTA's shared memory. Peers may ask for it before the CTA does.
func (c *cta) shared() *tile.Shared {
	c.made.Do(func() {
		var err error
		if c.mem, err = tile.NewShared(MaxSharedBytes); err != nil {
			panic(err)
		}
		if c.launch.Check {
			fill(c.mem.Bytes(), poison)
		}
	})
	return c.mem
}

// poison is what shared memory holds that nobody has written, under Check.
const poison byte = 0xEE

// reserve takes n bytes of shared memory.
func (c *cta) reserve(n, align int) (offset int) {
	offset = (c.used + align - 1) / align * align
	if n > MaxSharedBytes-offset {
		c.body.fail(RuleShared, "%d bytes behind the %d in use are over the %d of a CTA", n, c.used, MaxSharedBytes)
	}
	c.used = offset + n
	return offset
}

// declare begins a declaration, by the function that the kernel calls.
func (c *cta) declare(op string) {
	c.first(op, "after the agents were started: a CTA declares what it shares first")
}

// first begins an operation of the kernel function that comes before it has started its agents,
// for the function that the kernel calls or one that that calls.
func (c *cta) first(op, late string) {
	c.body.at(op, 2)
	switch {
	case c.main.stranger(): // which may go on when the function has returned
		c.main.second(c.body, op, c.main.site, "on another goroutine than the kernel function's")
	case c.begun:
		c.body.fail(RuleStart, "%s", late)
	}
	c.main.point()
}

// Shared returns n elements of the CTA's shared memory, whose address is a multiple of
// align bytes, or of T's own alignment if align is less. T holds no pointers. The
// contents are undefined: under Check NaNs of floating-point types, and else bytes 0xEE.
// Every CTA of a cluster declares the same, so that an array has the same address in all.
func Shared[T any](b *Block, n, align int) *Array[T] {
	c := b.cta
	c.declare("Shared")
	t := reflect.TypeFor[T]()
	size := int(t.Size())
	switch {
	case pointers(t):
		c.body.fail(RuleShared, "%v holds pointers", t)
	case n < 0 || size > 0 && n > MaxSharedBytes/size:
		c.body.fail(RuleShared, "%d elements of %d bytes, want 0 to %d in the %d bytes of a CTA",
			n, size, MaxSharedBytes/max(size, 1), MaxSharedBytes)
	case align < 0 || align&(align-1) != 0 || align > swizzlePeriod:
		c.body.fail(RuleShared, "alignment %d, want a power of two up to %d", align, swizzlePeriod)
	}
	offset := c.reserve(n*size, max(align, t.Align()))
	c.keep("Shared", offset, size, n)
	data := elements[T](c, offset, n)
	if c.launch.Check {
		fillNaN(data)
	}
	return &Array[T]{cta: c, home: c, memory: &c.memory, offset: offset, n: n, decl: c.declared, data: data}
}

// keep notes a declaration, by a call of that name, of n elements of size bytes.
func (c *cta) keep(call string, offset, size, n int) {
	c.declared = &declaration{site: c.main.site, call: call, before: c.declared, at: offset, size: size, n: n}
	c.place(offset)
}

// elements is c's shared memory from offset on as values of T.
func elements[T any](c *cta, offset, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(c.shared().Bytes()[offset:]))), n)
}

// swizzlePeriod is the alignment that a tile of any swizzle has at most.
const swizzlePeriod = 1024

// pointers reports whether a value of t may hold a pointer.
func pointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return t.Len() > 0 && pointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if pointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	}
	return t.Kind() > reflect.Complex128
}

// fillNaN poisons floating-point elements.
func fillNaN[T any](data []T) {
	switch data := any(data).(type) {
	case []float32:
		fill(data, float32(math.NaN()))
	case []float64:
		fill(data, math.NaN())
	case []bf16.BF16:
		fill(data, bf16.FromFloat32(float32(math.NaN())))
	case []float16.Float16:
		fill(data, float16.NaN())
	case []fp8.E4M3:
		fill(data, fp8.E4M3FromFloat32(float32(math.NaN())))
	case []fp8.E5M2:
		fill(data, fp8.E5M2FromFloat32(float32(math.NaN())))
	}
}

func fill[T any](data []T, v T) {
	for i := range data {
		data[i] = v
	}
}

// Barriers returns n mbarriers in the CTA's shared memory, not initialised.
func (b *Block) Barriers(n int) []Barrier {
	c := b.cta
	c.declare("Barriers")
	if n < 0 || n > MaxSharedBytes/8 {
		c.body.fail(RuleShared, "%d barriers, want 0 to %d", n, MaxSharedBytes/8)
	}
	return c.newBarriers("Barriers", "", n, ownWord)
}

// Barrier is Barriers(1), the one.
func (b *Block) Barrier() *Barrier {
	b.cta.declare("Barrier")
	return &b.cta.newBarriers("Barrier", "", 1, ownWord)[0]
}

// ownWord is the state machine of a barrier that is in no ring.
func ownWord(int) *barrier.Barrier { return new(barrier.Barrier) }

// newBarriers declares n barriers by a call of that name. suffix is what a report adds to
// the variable that has them, word(i) the state machine of one.
func (c *cta) newBarriers(call, suffix string, n int, word func(i int) *barrier.Barrier) []Barrier {
	offset := c.reserve(8*n, 8)
	c.mu.Lock()
	defer c.mu.Unlock()
	if suffix == "" || c.declared == nil || c.declared.site != c.main.site {
		c.declared = &declaration{site: c.main.site, call: call, before: c.declared}
	}
	c.place(offset)
	bars := make([]Barrier, n)
	for i := range bars {
		m := &mbar{cta: c, decl: c.declared, suffix: suffix, index: i, of: n, b: word(i), told: meeting{remembers: true}}
		bars[i] = Barrier{c, len(c.barriers), m}
		c.barriers = append(c.barriers, m)
	}
	return bars
}

// barrier returns the CTA's barrier number i, nil if it has not declared one.
func (c *cta) barrier(i int) *mbar {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if i >= len(c.barriers) {
		return nil
	}
	return c.barriers[i]
}

// peer returns the CTA of that rank in the cluster.
func (c *cta) peer(rank int) *cta {
	if rank < 0 || rank >= len(c.cluster.ctas) {
		panic(fmt.Sprintf("sm: MapShared(%d) in a cluster of %d CTAs", rank, len(c.cluster.ctas)))
	}
	return c.cluster.ctas[rank]
}

// exit checks what the CTA's end leaves undone.
func (c *cta) exit() {
	if n := c.running.Load(); n > 0 {
		c.blame(site{}, RuleStart, "the kernel function has returned, and %d of its agents have not ended", n)
	}
	c.launch.sched.deliver(c)
	for _, m := range c.barriers {
		m.exit()
	}
	if f := c.launch.sched.into(c); f != nil {
		why := ""
		if e := f.event; e != nil && f.bar != nil && e.phase < f.bar.phase {
			why = fmt.Sprintf(", and %s phase %d has ended without them: fewer were expected of it (expect_tx) than come",
				f.bar.nameFor(f.by.agent), e.phase)
		}
		c.blame(f.by.site, RuleExit, "the %v is still on its way: nobody has waited for all of its bytes%s", f, why)
	}
	c.registers.exit(c)
	c.checkUnwritten()
	c.depart()
}

// blame is a fault of the CTA's end, for what has been done at a place.
func (c *cta) blame(at site, rule Rule, format string, args ...any) {
	c.main.op, c.main.site = "exit", at
	c.body.fail(rule, format, args...)
}
