package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/internal/spin"
)

// computeTurned multiplies an item's part of A by the columns from .. to-1, which lie along K: as rows of A, by panels
// of columns of B. Nothing of B is packed but the last of K, if less than a tile. The sums are those of C transposed.
func (cp *columnProgram) computeTurned(mem unsafe.Pointer, t *spin.Turn, item, from, to int) {
	for col := from; col < to; {
		tiles := max(1, min(cp.TurnedTiles, (to-col)/cp.Kernel.MR))
		cp.multiplyTurned(cp.accumulators(mem, col), unsafe.Add(mem, plan.StreamB), t, item, col, to, tiles)
		col += tiles * cp.Kernel.MR
	}
}

// edgeCols are the columns of a vector that a kernel for edges spares: where less is missing tiles are as fast.
const edgeCols = 8

// multiplyTurned multiplies an item's part of A by so many tiles of columns from col on, or by those of one that are
// before to. Their accumulators at acc are tile by tile for each panel of A.
func (cp *columnProgram) multiplyTurned(acc, tail unsafe.Pointer, t *spin.Turn, item, col, to, tiles int) {
	k := cp.Kernel
	pitch, pitchB, unit := k.NR*k.Word, cp.b.pitch(), k.KStep(cp.b.elem)*k.KPack
	lineTail, high := unit*cp.b.elem.Size(), tiles*k.MR
	at := min(col, cp.N-k.MR) // the last columns may be multiplied again
	chain := unsafe.Add(tail, high*lineTail)
	first, last := cp.stepsOf(item)
	for step := first; step < last; step++ {
		k0, n := cp.ColumnStep(cp.plan, step) // a block
		if rest := n % unit; rest > 0 {
			clear(unsafe.Slice((*byte)(tail), high*lineTail))
			asm.CopyRows(tail, lineTail, cp.b.at(k0+n-rest, at), pitchB, high, rest*cp.b.elem.Size())
		}
		a := cp.stepA(step)
		for i := range cp.PanelsA {
			sums := lines{unsafe.Add(acc, i*high*pitch), pitch}
			for o, deep := 0, 0; o < n; o += deep {
				from, lda := cp.b.at(k0+o, at), pitchB
				if deep = n - o; deep < unit { // what is left of K
					from, lda = tail, lineTail
				} else {
					deep -= deep % unit
				}
				ph := cp.phaseAt(k0+o, deep)
				ph.last = false // the sums are those of the transpose of C
				cp.multiply(&strip{
					rows: high, cols: min(k.NR, plan.RoundUp(cp.M-i*k.NR, edgeCols)), words: cp.Words(deep),
					a: lines{from, lda}, b: unsafe.Add(a, k.PanelB(cp.Words(o))), sums: sums, chain: chain,
				}, ph, t)
			}
			a = unsafe.Add(a, k.PanelB(cp.Words(n)))
		}
	}
	for i := 0; i < cp.PanelsA && last == cp.Steps; i++ {
		row, sums := i*k.NR, unsafe.Add(acc, (i*high+col-at)*pitch)
		cp.storeTransposed(cp.c.at(row, col), lines{sums, k.NR * k.Word}, min(high, to-col), min(k.NR, cp.M-row))
	}
}
