package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/spin"
)

// inPlaceBytes are the bytes of B that a kernel reads in a call, a hundred microseconds or two from memory.
const inPlaceBytes = 8 << 20

// Compute implements [pipeline.Program]: it multiplies the item's part of A by one
// slab's columns.
func (st *columnGrid) Compute(stage, item, cta, slab int) {
	from, end := slab*st.cols, min(slab*st.cols+st.cols, st.n)
	var t spin.Turn
	t.Begin()
	if st.g.b == sweptB {
		b := brooms.Get().(*broom)
		defer brooms.Put(b)
		for ; from < end; from += st.block {
			st.computeSwept(b, &t, item, from, min(from+st.block, end))
		}
		return
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	mem := s.at()
	for ; from < end; from += st.block {
		switch to := min(from+st.block, end); st.g.b {
		case streamedB:
			if st.formB == inPanels {
				st.computeStored(mem, &t, item, from, to-from)
			} else {
				st.computeInPlace(mem, &t, item, from, to-from)
			}
		case alongB:
			st.computeAlong(mem, &t, item, from, to)
		case behindB:
			st.computeBehind(mem, &t, item, from, to)
		case storedB, packedB:
			st.computePanels(mem, &t, item, from, to)
		}
	}
}

// computePanels multiplies an item's part of A by the columns from .. to-1, which it packs
// to mem, a block of K at a time, unless they are packed.
func (st *columnGrid) computePanels(mem unsafe.Pointer, t *spin.Turn, item, from, to int) {
	acc := st.accumulators(unsafe.Add(mem, streamB), from)
	for step, last := st.blocks(item); step < last; step++ {
		st.multiplyGroups(mem, t, step, from, to, acc, nil)
	}
}

// multiplyGroups multiplies a step of K of the columns from .. to-1, whose accumulators
// begin at acc, and those of a block of several steps at chain.
func (st *columnGrid) multiplyGroups(mem unsafe.Pointer, t *spin.Turn, step, from, to int, acc, chain unsafe.Pointer) {
	g := group{
		rows: st.m, from: from, to: to,
		a: tilesOfA{at: st.blockA(step)}, acc: acc, chain: chain, stripBytes: st.bytesStrip(st.g),
	}
	g.k0, g.n = st.blockOf(step)
	st.fetch(&g, mem, st.group)
	st.multiplyGroup(&g, t)
}

// computeBehind is computePanels for a worker that packs behind its products.
func (st *columnGrid) computeBehind(mem unsafe.Pointer, t *spin.Turn, item, from, to int) {
	k := st.kernel
	panels := ceilDiv(to-from, k.NR)
	first, last := st.blocks(item)
	at := func(i int) piece {
		if i >= panels*(last-first) {
			return piece{}
		}
		k0, n := st.blockOf(first + i/panels)
		col := from + i%panels*k.NR
		return piece{k0, n, col, min(k.NR, to-col), unsafe.Add(mem, i%2*st.behindBytes(st.g)/2)}
	}
	var w behind
	chain := unsafe.Add(mem, st.behindBytes(st.g))
	acc := st.accumulators(unsafe.Add(chain, (st.sumsEach(st.g)-1)*panels*st.bytesStrip(st.g)), from)
	reach := st.reach()
	for i := range panels * (last - first) {
		now := at(i)
		s := strip{
			col: now.col, rows: st.m, cols: now.cols, words: st.words(now.n),
			a: tilesOfA{at: st.blockA(first + i/panels)}, b: now.panel,
			acc: unsafe.Add(acc, i%panels*st.bytesStrip(st.g)), chain: unsafe.Add(chain, i%panels*st.bytesStrip(st.g)),
			pack: w.pack(&st.product, now, at(i+1), at(i+reach)),
		}
		st.multiply(&s, st.phaseAt(now.k0, now.n), t)
	}
}

// accumulators returns where those of a slab's strips lie, of which the first is
// that of column from: at mem, unless they outlast the item.
func (st *columnGrid) accumulators(mem unsafe.Pointer, from int) unsafe.Pointer {
	if st.acc == nil {
		return mem
	}
	return unsafe.Add(st.acc, from/st.stripCols(st.g)*st.bytesStrip(st.g))
}

// blockOf returns the first element of K of a step and how many it has.
func (st *columnGrid) blockOf(step int) (k0, n int) {
	unit := st.unitK(st.bk)
	k0 = step/st.each*unit + step%st.each*st.bk
	return k0, min(st.bk, (step/st.each+1)*unit-k0, st.k-k0)
}

// blockA returns A's panels of a block of K.
func (st *columnGrid) blockA(step int) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(st.slot[step*st.bytesA():]))
}

// computeInPlace multiplies an item's part of A by n columns from col on.
func (st *columnGrid) computeInPlace(mem unsafe.Pointer, t *spin.Turn, item, col, n int) {
	multiply := st.kernel.Stream(st.b.elem, st.b.trans)
	dst, ldd, add := st.sums(mem, item, col, n)
	from, to := st.blocks(item)
	// Blocks of K that lie one after the other, but not more than are read in one turn.
	span := min(to-from, max(1, inPlaceBytes/(st.bk*n*st.b.elem.Size())))
	for ; from < to; from += span {
		k0 := from * st.bk
		depth := min((from+span)*st.bk, to*st.bk, st.k) - k0
		multiply(depth, st.m, n, st.blockA(from), st.b.at(k0, col), st.b.pitch(), dst, ldd, add)
		add = true
		t.Did(flopsOf(st.m, n, depth))
	}
	st.finish(dst, ldd, item, col, n)
}

// computeStored multiplies an item's part of A by n columns of a packed B from col on: at
// once, or, if A fills more than a panel, by one of B after the other.
func (st *columnGrid) computeStored(mem unsafe.Pointer, t *spin.Turn, item, col, n int) {
	dst, ldd, add := st.sums(mem, item, col, n)
	width := n
	if st.panelsA > 1 {
		width = st.kernel.NR
	}
	for step, last := st.blocks(item); step < last; step++ {
		k0, depth := st.blockOf(step)
		a := st.blockA(step)
		words := st.words(depth)
		for j := 0; j < n; j += width {
			st.panel(words, min(width, n-j), a, st.packed.at(k0, col+j), st.packed.pitch(k0), unsafe.Add(dst, j*4), ldd, add)
			t.Did(flopsOf(st.m, min(width, n-j), depth))
		}
		add = true
	}
	st.finish(dst, ldd, item, col, n)
}

// panel multiplies all of A by n columns of B, of one panel if those of A are
// more than one. The kernel for the first panel of A reads B from memory as fast
// as it can, and leaves it in a cache for the others.
func (st *columnGrid) panel(words, n int, a, b unsafe.Pointer, sizeB int, dst unsafe.Pointer, ldd int, add bool) {
	k, src := st.kernel, dst
	if !add {
		src = nil
	}
	sizeA := k.PanelA(words)
	for i := 0; i < st.panelsA; {
		tiles, rows := 1, min(k.MR, st.m-i*k.MR)
		switch whole := st.m/k.MR - i; {
		case i == 0 || st.narrow() || whole > 0 && n < k.NR || whole == 0 && k.Edge() == nil:
			k.StreamPanels(st.b.elem)(words, rows, n, a, b, sizeB, dst, ldd, add)
		case whole > 0:
			tiles = whole
			k.Mul(words, tiles, a, b, src, -ldd, dst, ldd)
		default:
			k.Edge()(rows, n, words, a, 4, k.MR*4, b, src, -ldd, dst, ldd)
		}
		if i += tiles; i < st.panelsA {
			a, src, dst = unsafe.Add(a, tiles*sizeA), forward(src, tiles*k.MR*ldd), unsafe.Add(dst, tiles*k.MR*ldd)
		}
	}
}

// sums returns the rows of sums of n columns, in C or in mem, the bytes between them, and whether
// to add to them: after the first item, which has left them elsewhere.
func (st *columnGrid) sums(mem unsafe.Pointer, item, col, n int) (dst unsafe.Pointer, pitch int, add bool) {
	if st.inC {
		return st.c.at(0, col), st.c.pitch(), false
	}
	dst, pitch = mem, n*4
	if item > 0 {
		from, lds := st.waiting(st.acc, col)
		asm.CopyRows(dst, pitch, from, lds, st.m, n*4)
	}
	return dst, pitch, item > 0
}

// finish writes the sums of n columns, whose rows are pitch bytes apart, to C, or to where
// they wait for the next item.
func (st *columnGrid) finish(sums unsafe.Pointer, pitch, item, col, n int) {
	switch {
	case st.inC:
	case item == st.items-1:
		st.storeWide(col, sums, pitch, st.m, n)
	default:
		to, ldd := st.waiting(st.acc, col)
		asm.CopyRows(to, ldd, sums, pitch, st.m, n*4)
	}
}
