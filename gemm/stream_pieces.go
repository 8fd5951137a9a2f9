package gemm

import (
	"sync"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/spin"
	"example.com/leafhopper/tile"
)

// A kernel that sweeps packs a piece of B and multiplies it before the next, so few
// elements of K deep that all columns go by before the next of K. What they have as
// accumulators is to stay in a second-level cache.
const (
	broomAcc    = 1 << 20 // bytes of accumulators
	piecePanels = 2       // panels of B in a piece
)

// broom is what a worker sweeps with: memory for pieces, for panels of columns that
// are no piece, and for accumulators.
type broom struct {
	mem   []byte
	sweep asm.Sweep
}

var brooms = sync.Pool{New: func() any {
	return &broom{mem: tile.HeapSlots(2*asm.SweepRoom + broomAcc)}
}}

// computePieces multiplies an item's part of A by the columns from .. to-1. Those that
// are no whole piece, and what is left of K, it multiplies in groups.
func (st *stream) computePieces(b *broom, t *spin.Turn, item, from, to int) {
	k, strip := st.kernel, st.bytesStrip()
	room := unsafe.Pointer(unsafe.SliceData(b.mem))
	panels := unsafe.Add(room, asm.SweepRoom)
	acc := st.accumulators(unsafe.Add(panels, asm.SweepRoom), from)
	at := func(col int) unsafe.Pointer { return unsafe.Add(acc, (col-from)/k.NR*strip) }
	s := &b.sweep
	*s = asm.Sweep{M: st.m, Stride: st.b.pitch(), Strip: strip, Room: room}
	most := max(1, callLimit(k)/(2*roundUp(st.m, k.MR)*asm.SweepN*asm.SweepK)) * asm.SweepN
	step, last := st.blocks(item)
	for ; step < last; step++ {
		k0, n := st.blockOf(step)
		end := from // of the columns in whole pieces
		if n == asm.SweepK {
			end += (to - from) / asm.SweepN * asm.SweepN
		}
		s.A, s.First = st.blockA(step), step == 0
		for col := from; col < end; col += most {
			s.B, s.N, s.Acc, s.Next = st.b.at(k0, col), min(most, end-col), at(col), nil
			switch {
			case col+most < end:
				s.Next = st.b.at(k0, col+most)
			case step+1 < last && k0+2*asm.SweepK <= st.k:
				s.Next = st.b.at(k0+asm.SweepK, from)
			}
			k.Sweep(s)
			t.Did(flopsOf(st.m, s.N, n))
		}
		st.multiplyGroups(panels, t, step, end, to, at(end))
		for col := from; col < end && step == st.steps-1; col += k.NR {
			st.epilogue(at(col), 0, col, st.m, k.NR)
		}
	}
	*s = asm.Sweep{}
}
