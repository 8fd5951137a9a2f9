package gemm

import (
	"context"
	"sync/atomic"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/pipeline"
)

// A slabProgram is the program of a product in slabs.
type slabProgram struct {
	slab
	*plan.SlabCut

	// Of a K that is shared out:
	sums unsafe.Pointer // [sums of the first range, or block, and of every block after that][m][n]
	left []atomic.Int32 // ranges that are not computed, of each part of C
}

// describe adds to st how the product is cut.
func (sp *slabProgram) describe(st Stats) Stats {
	st.TileM, st.TileN, st.TileK = min(sp.Rows, sp.M), sp.Cols, min(sp.Span*sp.ChainK(), sp.K)
	st.Tiles = sp.Count * sp.Ranges
	return st
}

func (sp *slabProgram) task(ctx context.Context, _ *pipeline.Grid, loose *pipeline.Slabs) (pipeline.Task, error) {
	return loose, loose.Reset(ctx, sp.Count*sp.Ranges, sp, sp.plan.Workers)
}

// Compute implements [pipeline.SlabProgram].
func (sp *slabProgram) Compute(slab int) {
	of, slab := slab/sp.Count, slab%sp.Count
	from, to := sp.ColsOf(slab%sp.Across, sp.N)
	if sp.Ranges > 1 {
		sp.computeRange(of, slab, from, to)
		return
	}
	in := sp.part(slab / sp.Across)
	in.turn.Begin()
	in.run(from, to)
}

// part returns the rows of the slabs number i from above.
func (sp *slabProgram) part(i int) slab {
	in := sp.slab
	row, end := sp.RowsOf(i, sp.M)
	in.M = end - row
	in.a.ptr, in.a.rows = in.a.at(row, 0), in.M
	in.c.ptr, in.c.rows = in.c.at(row, 0), in.M
	return in
}

// Bytes returns the bytes of the sums.
func (sp *slabProgram) Bytes() int64 {
	if sp.Ranges == 1 {
		return 0
	}
	return int64(sp.sumsAt(sp.Blocks()))
}

// sumsAt returns where the sums of a block begin.
func (sp *slabProgram) sumsAt(block int) int {
	if !sp.dots() {
		block = max(0, block-sp.Span+1)
	}
	return block * sp.M * sp.N * sp.Kernel.Word
}

// use lays out the memory for the sums.
func (sp *slabProgram) use(sums []byte) {
	sp.sums = unsafe.Pointer(unsafe.SliceData(sums))
	for len(sp.left) < sp.Count {
		sp.left = append(sp.left, atomic.Int32{})
	}
	for i := range sp.left[:sp.Count] {
		sp.left[i].Store(int32(sp.Ranges))
	}
}

// computeRange computes a range of K of the columns from .. to-1 of a slab, and C if it is the last.
func (sp *slabProgram) computeRange(i, slab, from, to int) {
	first := i * sp.Span
	end := min(first+sp.Span, sp.Blocks())
	if sp.dots() {
		in := sp.slab
		in.turn.Begin()
		in.dotSums(first, end-first, unsafe.Add(sp.sums, sp.sumsAt(first)))
	} else {
		in, step := sp.part(slab/sp.Across), 1
		in.turn.Begin()
		if i == 0 {
			step = end
		}
		for ; first < end; first += step {
			sp.slice(&in, slab/sp.Across*sp.Rows, first, step)
			in.run(from, to)
		}
	}
	if sp.left[slab].Add(-1) == 0 {
		sp.addUp(slab, from, to)
	}
}

// slice leaves of in, the rows from one on, so many blocks of K, whose sums are C.
func (sp *slabProgram) slice(in *slab, row, block, blocks int) {
	k0 := block * sp.ChainK()
	in.K = min(blocks*sp.ChainK(), sp.K-k0)
	in.a.ptr = sp.a.at(row, k0)
	if sp.b.packed {
		in.first = k0
	} else {
		in.b.ptr = sp.b.at(k0, 0)
	}
	in.c = view{rows: in.M, cols: in.N, stride: in.N, elem: in.Kernel.Sum}
	in.c.ptr = unsafe.Add(sp.sums, sp.sumsAt(block)+row*sp.N*in.Kernel.Word)
	in.alpha, in.beta, in.finish, in.finishesInC = 1, 0, nil, false
	in.Out, in.PitchC, in.Plain = in.Kernel.Sum, in.c.pitch(), true
	in.past = false
	in.room, _ = in.Problem.Room(sp.plan, in.M, sp.Cols) // whose sums may lie in this C
}

// addUp adds up the sums of the columns from .. to-1 of a slab, and makes C of them.
func (sp *slabProgram) addUp(slab, from, to int) {
	row, end := sp.RowsOf(slab/sp.Across, sp.M)
	word, size := sp.Kernel.Word, sp.M*sp.N
	sums, pitch := unsafe.Add(sp.sums, (row*sp.N+from)*word), sp.N*word
	if sp.dots() {
		asm.AddUp(sp.Kernel.Sum, sums, size, sp.Blocks())
	} else {
		for i := 1; i <= sp.Blocks()-sp.Span; i++ {
			asm.Combine(sp.Kernel.Sum, sums, pitch, unsafe.Add(sums, i*size*word), pitch, end-row, to-from, 1, 1)
		}
	}
	sp.epilogue(lines{sums, pitch}, row, from, end-row, to-from)
}
