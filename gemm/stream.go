package gemm

import (
	"cmp"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/barrier"
	"example.com/leafhopper/pipeline"
	"example.com/leafhopper/tile"
)

// A product with few rows is bound by reading B, so copying B to a slot that
// others read would double the work. Instead the grid has a single stage that holds all of A,
// and every slab is a range of columns: its worker walks down K, block by
// block, and uses the panels of B at once, from its own cache or, if B is
// packed, from where they lie.
const (
	streamRows = 64        // most rows of A,
	sweptRows  = 128       // if B is swept by few workers,
	sweptPairs = 512       // or in pairs, which are half the bytes, by one
	streamB    = 256 << 10 // bytes of scratch memory for panels of B
	streamAcc  = 128 << 10 // and for accumulators
	placeCols  = 8192      // most columns at a time that are read in place
	streamMin  = 1 << 18   // fewest elements of B; smaller ones stay in a cache
	// Workers look at every slab to find one, and at the context between slabs.
	maxSlabs  = 1024     // most slabs, unless the workers are many
	slabBytes = 64 << 20 // of B, most in a slab that is read in place,
	placeLine = 2 << 10  // unless its rows become shorter than this
	// A few panels of A are multiplied one after the other by a panel of a packed B,
	// while it is in a cache. A narrow one would be widened.
	packedPanels = 4
	narrowPanels = 2
)

// stream is the program of such a product.
type stream struct {
	product
	bk, steps int // elements of K in a block, blocks
	panelsA   int
	cols      int // columns of a slab
	block     int // columns of it at a time, which scratch memory bounds
	group     int // and of these columns, that are packed at a time
	slabs     int
	inPlace   asm.StreamFunc // if B is read where it lies, without packing a panel
	panels    asm.PanelsFunc // if B is packed and A is few panels
	mapA      tile.PanelMap
	slot      []byte // A: [block of K][panel]
}

// skinny reports whether the product is to be streamed. A caller who names the
// shape of the ring gets a ring.
func (p *product) skinny(s *settings) bool {
	return p.m <= p.mostRows(s) && p.n*p.k >= streamMin && s.depth == 0 && s.tile == [3]int{} &&
		p.splitK <= 1 && !p.c.trans && p.streamBytes(s.parallelism())/tile.PanelTxUnit <= barrier.MaxTx
}

// mostRows returns how many rows of A at most are few. If packing B costs nothing,
// and B is read once anyway, as few workers do, that is more.
func (p *product) mostRows(s *settings) int {
	switch {
	case p.b.packed || !p.packs() || s.workerCount() > few || p.n*p.k*p.b.elem.Size() <= bytesL2:
		return streamRows
	case p.kernel.KPack > 1 && s.workerCount() == 1:
		return sweptPairs
	}
	return sweptRows
}

// streamBytes returns the size of A as panels for so many workers.
func (p *product) streamBytes(workers int) int {
	return ceilDiv(p.m, p.kernel.MR) * (p.kernel.PanelA(p.words(p.k)) + tile.SlotAlign*ceilDiv(p.k, p.streamDepth(workers)))
}

// streamDepth returns the elements of K in a block for so many workers.
func (p *product) streamDepth(workers int) int {
	if !p.b.packed && p.packs() && p.inPlaceFunc() == nil {
		return p.freshDepth(workers)
	}
	return p.panelDepth()
}

// inPlaceFunc returns what multiplies A by B where that lies, if A has so few rows
// that it is the fastest, and otherwise nil.
func (p *product) inPlaceFunc() asm.StreamFunc {
	if p.b.packed || p.m > p.kernel.StreamRows(p.b.elem) {
		return nil
	}
	return p.kernel.Stream(p.b.elem, p.b.trans)
}

// init cuts p into slabs for workers.
func (st *stream) init(p *product, workers int) error {
	k := p.kernel
	*st = stream{product: *p, bk: p.streamDepth(workers), panelsA: ceilDiv(p.m, k.MR)}
	st.steps = ceilDiv(p.k, st.bk)
	// A strip of accumulators and a panel of B are all that a slab keeps, so it
	// may be as narrow as sharing the columns out wants.
	panels := ceilDiv(p.n, k.NR)
	strip := st.panelsA * k.MR * k.NR * 4
	block := max(1, min(streamB/k.PanelB(st.words(st.bk)), streamAcc/strip))
	if p.packs() {
		block = max(1, min(sweepPanels, (inlineBytes-sweepBytes)/strip))
	}
	cols, group := min(max(1, panels/(slabsEach*workers)), block), 0
	st.inPlace = p.inPlaceFunc()
	if p.b.packed {
		most := packedPanels
		if p.narrow() {
			most = narrowPanels
		}
		if st.panelsA <= most {
			st.panels = k.StreamPanels(p.b.elem)
		}
	}
	switch {
	case st.panels != nil:
		block = min(streamAcc/(p.m*4), placeCols) / k.NR
		cols = min(max(1, panels/(slabsEach*workers)), block)
	case st.inPlace != nil:
		// Long pieces of memory are read fastest.
		size := p.b.elem.Size()
		block = placeCols / k.NR
		slabs := workers
		if workers > few {
			slabs *= slabsEach // the slowest of many would keep the others waiting
		}
		cols = min(ceilDiv(panels, slabs), block, max(slabBytes/(p.k*size), placeLine/size)/k.NR)
	case p.starves() && p.b.trans && !p.b.packed:
		block = 1
	case p.starves() && !p.b.packed:
		// The rows of all columns that the accumulators are enough for, before the next rows.
		block, group = max(1, streamAcc/strip), bareGroup
		cols = min(max(bareGroup/2, panels/(slabsEach*workers)), block)
	}
	cols = max(cols, ceilDiv(panels, max(maxSlabs, slabsEach*workers)))
	st.cols, st.block, st.group = cols*k.NR, block*k.NR, cmp.Or(group, block)*k.NR
	st.slabs = ceilDiv(p.n, st.cols)
	var err error
	st.mapA, err = tile.NewPanelMap(tile.PanelConfig{
		Kernel: k, Side: tile.SideA, Type: p.a.elem, Global: p.a.memory(),
		Rows: p.m, K: p.k, Stride: p.a.pitch(), KContiguous: !p.a.trans,
	})
	return err
}

// bytesA returns the size of a whole block of A.
func (st *stream) bytesA() int { return st.panelsA * st.kernel.PanelA(st.words(st.bk)) }

func (st *stream) shape() pipeline.Shape {
	return pipeline.Shape{Depth: 1, Items: 1, CTAs: 1, Slabs: st.slabs, Private: st.steps}
}

// Expect implements [pipeline.Program].
func (st *stream) Expect(item, cta int) int {
	n := (st.steps - 1) * st.mapA.BoxBytes(st.m, st.bk)
	n += st.mapA.BoxBytes(st.m, st.k-(st.steps-1)*st.bk)
	return n / tile.PanelTxUnit
}

// Load implements [pipeline.Program]: it copies one block of A.
func (st *stream) Load(stage, item, cta, job int, bars []barrier.Barrier) {
	k0 := job * st.bk
	if err := st.mapA.Load(st.slot[job*st.bytesA():], 0, st.m, k0, min(st.bk, st.k-k0), bars); err != nil {
		panic(err) // the sizes are wrong
	}
}

// LoadMulticast implements [pipeline.Program]; there is nothing to share.
func (st *stream) LoadMulticast(stage, item, job int, bars []barrier.Barrier) {}

// Compute implements [pipeline.Program]: it multiplies all of A by one slab's
// columns.
func (st *stream) Compute(stage, item, cta, slab int) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	mem := unsafe.Pointer(unsafe.SliceData(s.mem))
	end := min(slab*st.cols+st.cols, st.n)
	for from := slab * st.cols; from < end; from += st.block {
		switch to := min(from+st.block, end); {
		case st.inPlace != nil:
			st.computeInPlace(mem, from, to-from)
		case st.panels != nil:
			st.computePacked(mem, from, to-from)
		case st.packs():
			st.computeSwept(mem, from, to)
		default:
			st.computePanels(mem, from, to)
		}
	}
}

// computePanels multiplies all of A by the columns from .. to-1, which it packs
// to mem, a block of K at a time, unless they are packed.
func (st *stream) computePanels(mem unsafe.Pointer, from, to int) {
	k := st.kernel
	stripBytes := st.panelsA * k.MR * k.NR * 4
	for step := range st.steps {
		k0, n := st.blockOf(step)
		for col := from; col < to; col += st.group {
			end := min(col+st.group, to)
			g := group{
				rows: st.m, from: col, to: end, k0: k0, n: n,
				a: unsafe.Pointer(unsafe.SliceData(st.slot[step*st.bytesA():])), b: mem,
				acc:        unsafe.Add(mem, streamB+(col-from)/k.NR*stripBytes),
				stripBytes: stripBytes, ph: st.phaseOf(step),
			}
			if step+1 < st.steps {
				k0, n := st.blockOf(step + 1)
				g.next = feedOf(st.reads(col, end, k0, n), ceilDiv(end-col, k.NR))
			}
			st.multiplyGroup(&g)
		}
	}
}

// computeSwept is computePanels for a worker that packs behind its products.
func (st *stream) computeSwept(mem unsafe.Pointer, from, to int) {
	k := st.kernel
	panels := ceilDiv(to-from, k.NR)
	at := func(i int) piece {
		if i >= panels*st.steps {
			return piece{}
		}
		k0, n := st.blockOf(i / panels)
		col := from + i%panels*k.NR
		return piece{k0, n, col, min(k.NR, to-col), unsafe.Add(mem, i%2*panelBytes)}
	}
	var w sweep
	acc := unsafe.Add(mem, sweepBytes)
	reach := st.reach()
	for i := range panels * st.steps {
		now, step := at(i), i/panels
		s := strip{
			col: now.col, rows: st.m, cols: now.cols,
			acc: unsafe.Add(acc, i%panels*st.panelsA*k.MR*k.NR*4),
		}
		w.pack(&st.product, now, at(i+1), at(i+reach), &s)
		a := unsafe.Pointer(unsafe.SliceData(st.slot[step*st.bytesA():]))
		st.multiply(&s, st.words(now.n), a, now.panel, st.phaseOf(step))
	}
}

// phaseOf returns the phase of a block of K.
func (st *stream) phaseOf(step int) phase {
	return phase{first: step == 0, ends: step == st.steps-1, last: step == st.steps-1}
}

// blockOf returns the first element of K of a step and how many it has.
func (st *stream) blockOf(step int) (k0, n int) {
	k0 = step * st.bk
	return k0, min(st.bk, st.k-k0)
}

// computeInPlace multiplies all of A by n columns from col on.
func (st *stream) computeInPlace(mem unsafe.Pointer, col, n int) {
	dst, ldd := st.sums(mem, col, n)
	// The blocks of K lie one after the other.
	a := unsafe.Pointer(unsafe.SliceData(st.slot))
	st.inPlace(st.k, st.m, n, a, st.b.at(0, col), st.b.pitch(), nil, 0, dst, ldd)
	st.store(dst, ldd, col, n)
}

// computePacked multiplies all of A by n columns of a packed B from col on: at
// once, or, if A fills more than a panel, by one of B after the other.
func (st *stream) computePacked(mem unsafe.Pointer, col, n int) {
	dst, ldd := st.sums(mem, col, n)
	width := n
	if st.panelsA > 1 {
		width = st.kernel.NR
	}
	var src unsafe.Pointer
	for step := range st.steps {
		k0, depth := st.blockOf(step)
		a := unsafe.Pointer(unsafe.SliceData(st.slot[step*st.bytesA():]))
		words := st.words(depth)
		for j := 0; j < n; j += width {
			var next asm.Ahead
			if j+width < n {
				next = line(st.packed.at(k0, col+j+width), st.packed.panel(depth))
			}
			st.panel(words, min(width, n-j), a, st.packed.at(k0, col+j), st.packed.panel(depth), forward(src, j*4), unsafe.Add(dst, j*4), ldd, &next)
		}
		src = dst
	}
	st.store(dst, ldd, col, n)
}

// panel multiplies all of A by n columns of B, of one panel if those of A are
// more than one. The kernel for the first panel of A reads B from memory as fast
// as it can, and leaves it in a cache for the others, which bring the next closer.
func (st *stream) panel(words, n int, a, b unsafe.Pointer, sizeB int, src, dst unsafe.Pointer, ldd int, next *asm.Ahead) {
	k := st.kernel
	sizeA := k.PanelA(words)
	for i := 0; i < st.panelsA; {
		tiles := 1
		if whole := st.m/k.MR - i; i == 0 || whole < 1 || n < k.NR || st.narrow() {
			st.panels(words, min(k.MR, st.m-i*k.MR), n, a, b, sizeB, src, ldd, dst, ldd)
		} else {
			tiles = whole
			k.MulAhead(words, tiles, a, b, src, ldd, dst, ldd, next)
		}
		if i += tiles; i < st.panelsA {
			a, src, dst = unsafe.Add(a, tiles*sizeA), forward(src, tiles*k.MR*ldd), unsafe.Add(dst, tiles*k.MR*ldd)
		}
	}
}

// sums returns where the sums of n columns go and the bytes between their rows:
// C, if that holds them as they are, or mem.
func (st *stream) sums(mem unsafe.Pointer, col, n int) (unsafe.Pointer, int) {
	if st.direct() {
		return st.c.at(0, col), st.c.pitch()
	}
	return mem, n * 4
}

// store writes sums whose rows are pitch bytes apart, if they are not in C yet.
func (st *stream) store(sums unsafe.Pointer, pitch, col, n int) {
	if st.direct() {
		return
	}
	for i := range st.m {
		row := unsafe.Slice((*float32)(unsafe.Add(sums, i*pitch)), n)
		for j := 0; j < n; j += maxNR {
			st.storeRow(st.c.at(i, col+j), row[j:min(j+maxNR, n)])
		}
	}
}

var _ pipeline.Program = (*stream)(nil)
