package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/internal/spin"
)

// computeTurned multiplies an item's part of A by the columns from .. to-1, which lie
// along K: as rows of A, by panels of columns of B. Nothing of B is packed but what is
// left of K where a tile ends. The accumulators are those of the transpose of C.
func (cg *columnGrid) computeTurned(mem unsafe.Pointer, t *spin.Turn, item, from, to int) {
	for col := from; col < to; {
		tiles := max(1, min(cg.TurnedTiles, (to-col)/cg.Kernel.MR))
		cg.multiplyTurned(cg.accumulators(mem, col), unsafe.Add(mem, plan.StreamB), t, item, col, to, tiles)
		col += tiles * cg.Kernel.MR
	}
}

// edgeCols are the columns of a vector that a kernel for edges spares: where less is missing tiles are as fast.
const edgeCols = 8

// multiplyTurned multiplies an item's part of A by so many tiles of columns from col on, or by those of one that are
// before to. Their accumulators at acc are tile by tile for each panel of A.
func (cg *columnGrid) multiplyTurned(acc, tail unsafe.Pointer, t *spin.Turn, item, col, to, tiles int) {
	k := cg.Kernel
	pitch, pitchB, unit := k.NR*4, cg.b.pitch(), k.KStep(cg.b.elem)*k.KPack
	lineTail, high := unit*cg.b.elem.Size(), tiles*k.MR
	at := min(col, cg.N-k.MR) // the last columns may be multiplied again
	chain := unsafe.Add(tail, high*lineTail)
	first, last := cg.stepsOf(item)
	for step := first; step < last; step++ {
		k0, n := cg.ColumnStep(cg.plan, step) // a block
		if rest := n % unit; rest > 0 {
			clear(unsafe.Slice((*byte)(tail), high*lineTail))
			asm.CopyRows(tail, lineTail, cg.b.at(k0+n-rest, at), pitchB, high, rest*cg.b.elem.Size())
		}
		a := cg.stepA(step)
		for i := range cg.PanelsA {
			sums := lines{unsafe.Add(acc, i*high*pitch), pitch}
			for o, deep := 0, 0; o < n; o += deep {
				from, lda := cg.b.at(k0+o, at), pitchB
				if deep = n - o; deep < unit { // what is left of K
					from, lda = tail, lineTail
				} else {
					deep -= deep % unit
				}
				ph := cg.phaseAt(k0+o, deep)
				ph.last = false // the sums are those of the transpose of C
				cg.multiply(&strip{
					rows: high, cols: min(k.NR, plan.RoundUp(cg.M-i*k.NR, edgeCols)), words: cg.Words(deep),
					a: lines{from, lda}, b: unsafe.Add(a, k.PanelB(cg.Words(o))), sums: sums, chain: chain,
				}, ph, t)
			}
			a = unsafe.Add(a, k.PanelB(cg.Words(n)))
		}
	}
	for i := 0; i < cg.PanelsA && last == cg.Steps; i++ {
		row, sums := i*k.NR, unsafe.Add(acc, (i*high+col-at)*pitch)
		cg.storeTransposed(cg.c.at(row, col), lines{sums, k.NR * 4}, min(high, to-col), min(k.NR, cg.M-row))
	}
}
