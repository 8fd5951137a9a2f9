package sm

import (
	"reflect"
	"slices"
	"unsafe"
)

// A space is where memory is.
type space uint8

const (
	inShared space = iota
	inGlobal
)

// A memory is what agents access by an Array: the shared memory of a CTA, or global memory.
type memory struct {
	launch   *launch
	cta      *cta         // whose shared memory it is, nil if it is global
	cells    []cell       // of the bytes of shared memory, under Check
	declared *declaration // the last
	tracked  *tracked     // of global memory, under Check
}

// shadow returns what the cells of m are of, under Check.
func (m *memory) shadow() *shadow {
	if m.cta == nil {
		return &m.tracked.shadow
	}
	return &m.cta.cluster.order.shadow
}

// seen reports whether there is an area, and accesses of it are seen.
func (m *memory) seen() bool { return m != nil && (m.cta != nil || m.tracked.declared()) }

// cellsOf returns the cells of as many of n bytes as lie together, and how many bytes those are. Of global memory that
// no Array is of there are none.
func (m *memory) cellsOf(at, n int) ([]cell, int) {
	if m.cta == nil {
		return m.tracked.cellsOf(at, n)
	}
	if have := len(m.cells); at+n > have {
		m.cells = slices.Grow(m.cells, max(at+n, m.cta.used)-have)[:max(at+n, m.cta.used)]
		clear(m.cells[have:])
	}
	return m.cells[at : at+n], n
}

// unwritten reports whether nobody has written a byte of shared memory.
func (m *memory) unwritten(at int) bool { return m.cta != nil && uint32(m.cells[at]) == nobody }

// bare has n bytes of shared memory be such as somebody may have written without anybody being told.
func (m *memory) bare(at, n int) {
	if m == nil || m.cta == nil || m.cta.cluster.order == nil { // a zero Array has none
		return
	}
	cells, _ := m.cellsOf(at, n)
	for i, x := range cells {
		if x == nobody {
			cells[i] = untold
		}
	}
}

// tracked is the global memory that kernels access by an Array of [Global], and what is known of it under Check, by
// addresses. All of it counts as written before the launch.
type tracked struct {
	shadow
	forum   forum
	pages   map[int][]cell // by their addresses, nil those that nobody has accessed yet
	used    []int          // the others, in the order in which they were
	extents map[extent]any // what lies there, which is kept
}

// pageSize is for how many bytes cells are made at once.
const pageSize = 1 << 12

// An extent is bytes of global memory, from lo to hi-1, elements of size bytes.
type extent struct{ lo, hi, size int }

func newTracked() *tracked {
	g := &tracked{pages: map[int][]cell{}, extents: map[extent]any{}}
	g.shadow = newShadow(inGlobal, func() (all [][]cell) {
		for _, p := range g.used {
			all = append(all, g.pages[p])
		}
		return all
	})
	return g
}

// declared reports whether accesses of any are seen.
func (g *tracked) declared() bool { return g != nil && len(g.extents) > 0 }

// declare has accesses of an extent be seen from here on, and reports whether they were not before.
func (g *tracked) declare(x extent, data any) bool {
	if _, known := g.extents[x]; known {
		return false
	}
	g.extents[x] = data
	for p := x.lo &^ (pageSize - 1); p < x.hi; p += pageSize {
		if _, known := g.pages[p]; !known {
			g.pages[p] = nil
		}
	}
	return true
}

func (g *tracked) cellsOf(at, n int) ([]cell, int) {
	p, i := at&^(pageSize-1), at&(pageSize-1)
	n = min(n, pageSize-i)
	cells, known := g.pages[p]
	switch {
	case !known:
		return nil, n
	case cells == nil:
		cells = make([]cell, pageSize)
		fill(cells, untold)
		g.pages[p] = cells
		g.used = append(g.used, p)
	}
	return cells[i : i+n], n
}

// addressOf returns where data is in global memory.
func addressOf[T any](data []T) int { return int(uintptr(unsafe.Pointer(unsafe.SliceData(data)))) }

// Global returns the elements of data, in global memory, as an [Array]: flags, partial sums or tiles, say, that CTAs
// hand each other. They have the atomics of shared memory, over which a loop that ends for nobody is a deadlock. Under
// Check accesses are judged as in shared memory, and so are copies of the same bytes, through whatever slice or
// tensor map; all of them count as written before. That of two CTAs one comes after the other says GridSync, or around
// a flag ThreadFence of ScopeDevice or wider on both sides, or what orders them in their cluster. T holds no pointers.
// A CTA declares it, as [Shared], before it starts its agents. What is known takes 8 bytes for each that is accessed.
func Global[T any](b *Block, data []T) *Array[T] {
	c := b.cta
	c.declare("Global")
	t := reflect.TypeFor[T]()
	if pointers(t) {
		c.body.fail(RuleGlobal, "%v holds pointers", t)
	}
	m, at, size := &c.launch.global, addressOf(data), int(t.Size())
	c.declared = &declaration{site: c.main.site, call: "Global", before: c.declared}
	d := *c.declared
	d.at, d.size, d.n = at, size, len(data)
	if m.tracked != nil && m.tracked.declare(extent{at, at + len(data)*size, size}, data) {
		seen := d
		seen.before, m.declared = m.declared, &seen
	}
	return &Array[T]{cta: c, home: c, memory: m, offset: at, n: len(data), decl: &d, data: data}
}
