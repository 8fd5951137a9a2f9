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
	broomAcc = 1 << 20 // bytes of accumulators, of which those of an unfinished block are half
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

// computeSwept multiplies an item's part of A by the columns from .. to-1. Those that
// are no whole piece, and what is left of K, it multiplies in groups.
func (st *columnGrid) computeSwept(b *broom, t *spin.Turn, item, from, to int) {
	k, strip := st.kernel, st.bytesStrip(st.g)
	room := unsafe.Pointer(unsafe.SliceData(b.mem))
	panels := unsafe.Add(room, asm.SweepRoom)
	chain := unsafe.Add(panels, asm.SweepRoom)
	acc := st.accumulators(unsafe.Add(chain, (st.sumsEach(st.g)-1)*broomAcc/2), from)
	at := func(sums unsafe.Pointer, col int) unsafe.Pointer { return unsafe.Add(sums, (col-from)/k.NR*strip) }
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
		ph := st.phaseAt(k0, n)
		sums := acc
		if ph.added {
			sums = chain
		}
		s.A, s.First = st.blockA(step), ph.first
		for col := from; col < end; col += most {
			s.B, s.N, s.Acc, s.Next = st.b.at(k0, col), min(most, end-col), at(sums, col), nil
			switch {
			case col+most < end:
				s.Next = st.b.at(k0, col+most)
			case step+1 < last && k0+2*asm.SweepK <= st.k:
				s.Next = st.b.at(k0+asm.SweepK, from)
			}
			k.Sweep(s)
			t.Did(flopsOf(st.m, s.N, n))
		}
		for col := from; col < end && ph.ends && ph.added; col += k.NR {
			asm.Combine(at(acc, col), k.NR*4, at(chain, col), k.NR*4, st.m, k.NR, 1, 1)
		}
		st.multiplyGroups(panels, t, step, end, to, at(acc, end), at(chain, end))
		for col := from; col < end && ph.last; col += k.NR {
			st.epilogue(at(acc, col), 0, col, st.m, k.NR)
		}
	}
	*s = asm.Sweep{}
}
