package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
)

// computeAlong multiplies an item's part of A by the columns from .. to-1, which lie
// along K: as rows of A, by panels of columns of B. Nothing of B is packed but what is
// left of K where a tile ends. The accumulators are those of the transpose of C.
func (st *stream) computeAlong(mem unsafe.Pointer, item, from, to int) {
	k := st.kernel
	rows, pitch, pitchB, unit := k.Rows(st.b.elem), k.NR*4, st.b.pitch(), k.KStep(st.b.elem)*k.KPack
	acc, tail, lines := st.accumulators(mem, from), unsafe.Add(mem, streamB), unit*st.b.elem.Size()
	first, last := st.blocks(item)
	blocks := 1
	if st.panelsA == 1 { // they lie one after the other
		blocks = max(1, callLimit(k)/tileFlops(k, st.words(st.bk)))
	}
	for col := from; col < to; col += k.MR {
		at := min(col, st.n-k.MR) // the last columns may be multiplied again
		for step := first; step < last; step += blocks {
			k0 := step * st.bk
			n := min(st.k-k0, min(blocks, last-step)*st.bk)
			rest := n % unit
			whole := n - rest
			b := st.b.at(k0, at)
			if rest > 0 {
				clear(unsafe.Slice((*byte)(tail), k.MR*lines))
				asm.CopyRows(tail, lines, st.b.at(k0+whole, at), pitchB, k.MR, rest*st.b.elem.Size())
			}
			a := st.blockA(step)
			for i := range st.panelsA {
				dst := unsafe.Add(acc, i*k.MR*pitch)
				src := dst
				if step == 0 {
					src = nil
				}
				if whole > 0 {
					rows(st.words(whole), 1, b, a, src, pitch, dst, pitch, pitchB)
					src = dst
				}
				if rest > 0 {
					rows(st.words(unit), 1, tail, unsafe.Add(a, k.PanelB(st.words(whole))), src, pitch, dst, pitch, lines)
				}
				a = unsafe.Add(a, k.PanelB(st.words(n)))
			}
		}
		for i := 0; i < st.m && last == st.steps; i += k.NR {
			st.storeTurned(st.c.at(i, col), unsafe.Add(acc, (i+col-at)*pitch), min(k.MR, to-col), min(k.NR, st.m-i))
		}
		if st.acc != nil {
			acc = unsafe.Add(acc, st.bytesStrip())
		}
	}
}
