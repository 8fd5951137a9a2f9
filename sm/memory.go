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
	declared *declaration // the last, of shared memory
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

// cellsOf returns the cells of as many of n bytes as lie together, and how many bytes those are. Far from every Array
// global memory has none, and beside one cells of nobody.
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
	pages   map[int]*page  // by their addresses
	used    []*page        // those that have been accessed, in the order in which they were
	extents map[extent]any // what lies there, which is kept
	names   []*declaration // of these
}

// A page is pageSize bytes of global memory, of which some are an Array's.
type page struct {
	cells []cell   // nil as long as nobody has accessed them; those of no Array stay nobody's
	parts []extent // that are Arrays', as long as there are no cells
	whole bool     // all of it is
}

// pageSize is for how many bytes cells are made at once.
const pageSize = 1 << 12

// tell has bytes of the page at an address be an Array's.
func (p *page) tell(at int, x extent) {
	lo, hi := max(x.lo-at, 0), min(x.hi-at, pageSize)
	switch {
	case p.whole:
	case p.cells != nil:
		for i, was := range p.cells[lo:hi] {
			if was == nobody {
				p.cells[lo+i] = untold
			}
		}
	case hi-lo == pageSize:
		p.whole, p.parts = true, nil
	default:
		p.parts = append(p.parts, x)
	}
}

// open makes the cells of the page at an address.
func (p *page) open(at int) {
	p.cells = make([]cell, pageSize)
	if p.whole {
		fill(p.cells, untold)
	}
	for _, x := range p.parts {
		p.tell(at, x)
	}
	p.parts = nil
}

// An extent is bytes of global memory, from lo to hi-1, elements of size bytes.
type extent struct{ lo, hi, size int }

func newTracked() *tracked {
	g := &tracked{pages: map[int]*page{}, extents: map[extent]any{}}
	g.shadow = newShadow(inGlobal, func() (all [][]cell) {
		for _, p := range g.used {
			all = append(all, p.cells)
		}
		return all
	})
	return g
}

// declared reports whether accesses of any are seen.
func (g *tracked) declared() bool { return g != nil && len(g.extents) > 0 }

// declare has accesses of an extent be seen from here on, which d declares.
func (g *tracked) declare(x extent, d *declaration, data any) {
	if _, known := g.extents[x]; known {
		return
	}
	g.extents[x] = data
	g.names = append(g.names, d)
	for at := x.lo &^ (pageSize - 1); at < x.hi; at += pageSize {
		p := g.pages[at]
		if p == nil {
			p = new(page)
			g.pages[at] = p
		}
		p.tell(at, x)
	}
}

func (g *tracked) cellsOf(at, n int) ([]cell, int) {
	first, i := at&^(pageSize-1), at&(pageSize-1)
	n = min(n, pageSize-i)
	p := g.pages[first]
	if p == nil {
		return nil, n
	}
	if p.cells == nil {
		p.open(first)
		g.used = append(g.used, p)
	}
	return p.cells[i : i+n], n
}

// addressOf returns where data is in global memory.
func addressOf[T any](data []T) int { return int(uintptr(unsafe.Pointer(unsafe.SliceData(data)))) }

// Global returns the elements of data, in global memory, as an [Array]: flags, partial sums or tiles, say, that CTAs
// hand each other. They have the atomics of shared memory, over which a loop that no agent of the launch ends is a
// deadlock. Under Check accesses are judged as in shared memory, and so are copies of the same bytes, through whatever
// slice or tensor map; all of them count as written before. That of two CTAs one comes after the other says GridSync,
// or around a flag ThreadFence of ScopeDevice or wider on both sides, or what orders them in their cluster. T holds no
// pointers. A CTA declares it, as [Shared], before it starts its agents. What is known takes 8 bytes for each that is
// accessed.
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
	if m.tracked != nil {
		m.tracked.declare(extent{at, at + len(data)*size, size}, &d, data)
	}
	return &Array[T]{cta: c, home: c, memory: m, offset: at, n: len(data), decl: &d, data: data}
}
