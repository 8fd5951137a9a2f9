package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/spin"
)

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
			st.computeStreamed(mem, &t, item, from, to-from)
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
		strip: strip{rows: st.m, a: tilesOfA{at: st.blockA(step)}, chain: chain},
		from:  from, to: to, acc: acc, stripBytes: st.bytesStrip(st.g),
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
			sums:  lines{unsafe.Add(acc, i%panels*st.bytesStrip(st.g)), k.NR * 4},
			chain: unsafe.Add(chain, i%panels*st.bytesStrip(st.g)),
			pack:  w.pack(&st.product, now, at(i+1), at(i+reach)),
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

// computeStreamed multiplies an item's part of A by n columns from col on.
func (st *columnGrid) computeStreamed(mem unsafe.Pointer, t *spin.Turn, item, col, n int) {
	sums, add := st.sums(mem, item, col, n)
	from, to := st.blocks(item)
	a := blocksOfA{unsafe.Pointer(unsafe.SliceData(st.slot)), st.bytesA(), st.bk}
	st.streamBlocks(a, from, to, col, n, sums, add, t)
	st.finish(sums, item, col, n)
}

// sums returns the rows of sums of n columns, in C or in mem, and whether to add to them: after the first item, which
// has left them elsewhere.
func (st *columnGrid) sums(mem unsafe.Pointer, item, col, n int) (sums lines, add bool) {
	if st.inC {
		return lines{st.c.at(0, col), st.c.pitch()}, false
	}
	sums = lines{mem, n * 4}
	if item > 0 {
		from := st.waiting(st.acc, col)
		asm.CopyRows(sums.at, sums.pitch, from.at, from.pitch, st.m, n*4)
	}
	return sums, item > 0
}

// finish writes the sums of n columns to C, or to where they wait for the next item.
func (st *columnGrid) finish(sums lines, item, col, n int) {
	switch {
	case st.inC:
	case item == st.items-1:
		st.storeWide(col, sums, st.m, n)
	default:
		to := st.waiting(st.acc, col)
		asm.CopyRows(to.at, to.pitch, sums.at, sums.pitch, st.m, n*4)
	}
}
