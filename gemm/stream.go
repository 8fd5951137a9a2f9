package gemm

import (
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
	streamRows = 64        // most rows of A
	streamB    = 256 << 10 // bytes of scratch memory for panels of B
	streamAcc  = 128 << 10 // and for accumulators
	placeCols  = 8192      // most columns at a time that are read in place
	streamMin  = 1 << 18   // fewest elements of B; smaller ones stay in a cache
	// Workers look at every slab to find one, and at the context between slabs.
	maxSlabs  = 1024     // most slabs, unless the workers are many
	slabBytes = 64 << 20 // of B, most in a slab that is read in place,
	placeLine = 2 << 10  // unless its rows become shorter than this
)

// stream is the program of such a product.
type stream struct {
	product
	bk, steps int // elements of K in a block, blocks
	panelsA   int
	cols      int // columns of a slab
	block     int // columns of it at a time, which scratch memory bounds
	slabs     int
	inPlace   asm.StreamFunc // if B is read where it lies, without packing a panel
	panels    asm.PanelsFunc // if B is packed and the rows fit a panel of A
	fuse      asm.FuseFunc   // if B is packed while the first panel of A is multiplied
	mapA      tile.PanelMap
	slot      []byte // A: [block of K][panel]
}

// skinny reports whether the product is to be streamed. A caller who names the
// shape of the ring gets a ring.
func (p *product) skinny(s *settings) bool {
	return p.m <= streamRows && p.n*p.k >= streamMin && s.depth == 0 && s.tile == [3]int{} &&
		p.splitK <= 1 && !p.c.trans && p.streamBytes()/tile.PanelTxUnit <= barrier.MaxTx
}

// streamBytes returns the size of A as panels.
func (p *product) streamBytes() int {
	return ceilDiv(p.m, p.kernel.MR) * (p.kernel.PanelA(p.words(p.k)) + tile.SlotAlign*ceilDiv(p.k, p.streamDepth()))
}

// streamDepth returns the elements of K in a block.
func (p *product) streamDepth() int {
	if !p.b.packed && !p.b.trans && p.kernel.Fuse(p.b.elem) != nil {
		return p.panelDepth() / 2 // rows of K, of which a cache with few ways does not keep many
	}
	return p.panelDepth()
}

// init cuts p into slabs for workers.
func (st *stream) init(p *product, workers int) error {
	k := p.kernel
	*st = stream{product: *p, bk: p.streamDepth(), panelsA: ceilDiv(p.m, k.MR)}
	if !p.b.packed && !p.b.trans {
		st.fuse = k.Fuse(p.b.elem)
	}
	st.steps = ceilDiv(p.k, st.bk)
	// A strip of accumulators and a panel of B are all that a slab keeps, so it
	// may be as narrow as sharing the columns out wants.
	panels := ceilDiv(p.n, k.NR)
	block := max(1, min(streamB/k.PanelB(st.words(st.bk)), streamAcc/(st.panelsA*k.MR*k.NR*4)))
	cols := min(max(1, panels/(slabsEach*workers)), block)
	if p.m <= k.MR && p.b.packed {
		if st.panels = k.StreamPanels(p.b.elem); st.panels != nil {
			block = min(streamAcc/(p.m*4), placeCols) / k.NR
			cols = min(max(1, panels/(slabsEach*workers)), block)
		}
	}
	if p.m <= k.MR && !p.b.packed {
		if st.inPlace = k.Stream(p.b.elem, p.b.trans); st.inPlace != nil {
			// Long pieces of memory are read fastest.
			size := p.b.elem.Size()
			block = placeCols / k.NR
			cols = min(ceilDiv(panels, workers), block, max(slabBytes/(p.k*size), placeLine/size)/k.NR)
		}
	}
	cols = max(cols, ceilDiv(panels, max(maxSlabs, slabsEach*workers)))
	st.cols, st.block = cols*k.NR, block*k.NR
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
		default:
			st.computePanels(mem, from, to)
		}
	}
}

// computePanels multiplies all of A by the columns from .. to-1, which it packs
// to mem, a block of K at a time, unless they are packed.
func (st *stream) computePanels(mem unsafe.Pointer, from, to int) {
	k := st.kernel
	acc := unsafe.Add(mem, streamB)
	stripBytes := st.panelsA * k.MR * k.NR * 4
	for step := range st.steps {
		k0 := step * st.bk
		n := min(st.bk, st.k-k0)
		words := st.words(n)
		a := unsafe.Pointer(unsafe.SliceData(st.slot[step*st.bytesA():]))
		ph := phase{first: step == 0, ends: step == st.steps-1, last: step == st.steps-1}
		b, pitch, done := mem, k.PanelB(words), 0
		switch {
		case st.b.packed:
			b = st.packed.at(k0, from)
		case st.fuse != nil && n%k.KPack == 0:
			done = (to - from) / k.NR
			st.fused(k0, n, from, done, a, b, acc, ph.first)
			fallthrough
		default:
			if col := from + done*k.NR; col < to {
				k.PackB(st.b.elem, st.b.trans)(unsafe.Add(b, done*pitch), st.b.at(k0, col), st.b.pitch(), to-col, n)
			}
		}
		next := st.feed(step+1, from, to)
		for j := 0; from+j*k.NR < to; j++ {
			col := from + j*k.NR
			s := strip{
				col: col, rows: st.m, cols: min(k.NR, to-col), acc: unsafe.Add(acc, j*stripBytes),
				next: next.share(j),
			}
			a := a
			if j < done {
				if ph.last {
					st.product.epilogue(s.acc, 0, col, min(k.MR, st.m), k.NR)
				}
				if s.row, s.rows = k.MR, s.rows-k.MR; s.rows <= 0 {
					continue
				}
				s.acc, a = unsafe.Add(s.acc, k.MR*k.NR*4), unsafe.Add(a, k.PanelA(words))
			}
			st.product.multiply(&s, words, a, unsafe.Add(b, j*pitch), ph)
		}
	}
}

// fuseRows is how many rows of K are taken through all panels before the next:
// each lies on a page of its own, and a TLB holds few.
const fuseRows = 64

// fused packs panels of B from column col and n elements of K from k0 on to b,
// and adds their products with the first panel of A to the accumulators.
func (st *stream) fused(k0, n, col, panels int, a, b, acc unsafe.Pointer, first bool) {
	k := st.kernel
	size, pitch := st.b.elem.Size(), k.NR*4
	panelB, stripBytes := k.PanelB(n/k.KPack), st.panelsA*k.MR*k.NR*4
	for at := 0; at < n; at += fuseRows {
		rows := min(fuseRows, n-at)
		for j := range panels {
			dst := unsafe.Add(acc, j*stripBytes)
			src := dst
			if first && at == 0 {
				src = nil
			}
			st.fuse(rows, unsafe.Add(a, at/k.KPack*k.MR*4), st.b.at(k0+at, col+j*k.NR), st.b.stride*size,
				unsafe.Add(b, j*panelB+at/k.KPack*k.NR*4), src, pitch, dst, pitch)
		}
	}
}

// computeInPlace multiplies all of A, a single panel whose blocks of K lie one
// after the other, by n columns from col on.
func (st *stream) computeInPlace(mem unsafe.Pointer, col, n int) {
	dst, ldd := st.sums(mem, col, n)
	a := unsafe.Pointer(unsafe.SliceData(st.slot))
	st.inPlace(st.k, st.m, n, a, st.b.at(0, col), st.b.pitch(), nil, 0, dst, ldd)
	st.store(mem, col, n)
}

// computePacked does the same with a packed B.
func (st *stream) computePacked(mem unsafe.Pointer, col, n int) {
	dst, ldd := st.sums(mem, col, n)
	var src unsafe.Pointer
	for step := range st.steps {
		k0 := step * st.bk
		words := st.words(min(st.bk, st.k-k0))
		a := unsafe.Pointer(unsafe.SliceData(st.slot[step*st.bytesA():]))
		st.panels(words, st.m, n, a, st.packed.at(k0, col), st.kernel.PanelB(words), src, ldd, dst, ldd)
		src = dst
	}
	st.store(mem, col, n)
}

// sums returns where the sums of n columns go and the bytes between their rows:
// C, if that holds them as they are, or mem.
func (st *stream) sums(mem unsafe.Pointer, col, n int) (unsafe.Pointer, int) {
	if st.direct() {
		return st.c.at(0, col), st.c.pitch()
	}
	return mem, n * 4
}

// store writes sums that are not in C yet.
func (st *stream) store(mem unsafe.Pointer, col, n int) {
	if st.direct() {
		return
	}
	for i := range st.m {
		row := unsafe.Slice((*float32)(unsafe.Add(mem, i*n*4)), n)
		for j := 0; j < n; j += maxNR {
			st.storeRow(st.c.at(i, col+j), row[j:min(j+maxNR, n)])
		}
	}
}

var _ pipeline.Program = (*stream)(nil)
