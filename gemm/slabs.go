package gemm

import (
	"context"
	"sync/atomic"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/pipeline"
)

// slabGrid is the program of a product in slabs.
type slabGrid struct {
	slab
	*plan.SlabCut

	// Of a K that is shared out:
	sums unsafe.Pointer // [sums of the first range, or block, and of every block after that][m][n]
	left []atomic.Int32 // ranges that are not computed, of each part of C
}

// describe adds to st how the product is cut.
func (pl *slabGrid) describe(st Stats) Stats {
	st.TileM, st.TileN, st.TileK = min(pl.Rows, pl.M), pl.Cols, min(pl.Span*pl.ChainK(), pl.K)
	st.Tiles = pl.Count * pl.Ranges
	return st
}

func (pl *slabGrid) task(ctx context.Context, _ *pipeline.Grid, loose *pipeline.Slabs) (pipeline.Task, error) {
	return loose, loose.Reset(ctx, pl.Count*pl.Ranges, pl, pl.g.Workers)
}

// Compute implements [pipeline.SlabProgram].
func (pl *slabGrid) Compute(slab int) {
	of, slab := slab/pl.Count, slab%pl.Count
	from, to := pl.ColsOf(slab%pl.Across, pl.N)
	if pl.Ranges > 1 {
		pl.computeRange(of, slab, from, to)
		return
	}
	in := pl.part(slab / pl.Across)
	in.turn.Begin()
	in.run(from, to)
}

// part returns the rows of the slabs number i from above.
func (pl *slabGrid) part(i int) slab {
	in := pl.slab
	row, end := pl.RowsOf(i, pl.M)
	in.M = end - row
	in.a.ptr, in.a.rows = in.a.at(row, 0), in.M
	in.c.ptr, in.c.rows = in.c.at(row, 0), in.M
	return in
}

// Bytes returns the bytes of the sums.
func (pl *slabGrid) Bytes() int64 {
	if pl.Ranges == 1 {
		return 0
	}
	return int64(pl.sumsAt(pl.Blocks()))
}

// sumsAt returns where the sums of a block begin.
func (pl *slabGrid) sumsAt(block int) int {
	if !pl.dots() {
		block = max(0, block-pl.Span+1)
	}
	return block * pl.M * pl.N * 4
}

// use lays out the memory for the sums.
func (pl *slabGrid) use(sums []byte) {
	pl.sums = unsafe.Pointer(unsafe.SliceData(sums))
	for len(pl.left) < pl.Count {
		pl.left = append(pl.left, atomic.Int32{})
	}
	for i := range pl.left[:pl.Count] {
		pl.left[i].Store(int32(pl.Ranges))
	}
}

// computeRange computes a range of K of the columns from .. to-1 of a slab, and C if it is the last.
func (pl *slabGrid) computeRange(i, slab, from, to int) {
	first := i * pl.Span
	end := min(first+pl.Span, pl.Blocks())
	if pl.dots() {
		in := pl.slab
		in.turn.Begin()
		in.dotSums(first, end-first, unsafe.Add(pl.sums, pl.sumsAt(first)))
	} else {
		in, step := pl.part(slab/pl.Across), 1
		in.turn.Begin()
		if i == 0 {
			step = end
		}
		for ; first < end; first += step {
			pl.slice(&in, slab/pl.Across*pl.Rows, first, step)
			in.run(from, to)
		}
	}
	if pl.left[slab].Add(-1) == 0 {
		pl.addUp(slab, from, to)
	}
}

// slice leaves of in, the rows from one on, so many blocks of K, whose sums are C.
func (pl *slabGrid) slice(in *slab, row, block, blocks int) {
	k0 := block * pl.ChainK()
	in.K = min(blocks*pl.ChainK(), pl.K-k0)
	in.a.ptr = pl.a.at(row, k0)
	if pl.b.packed {
		in.first = k0
	} else {
		in.b.ptr = pl.b.at(k0, 0)
	}
	in.c = view{rows: in.M, cols: in.N, stride: in.N, elem: asm.F32}
	in.c.ptr = unsafe.Add(pl.sums, pl.sumsAt(block)+row*pl.N*4)
	in.alpha, in.beta, in.finish, in.finishesInC = 1, 0, nil, false
	in.Out, in.PitchC, in.Plain = asm.F32, in.c.pitch(), true
	in.past = false
	in.room, _ = in.Problem.Room(pl.g, in.M, pl.Cols) // whose sums may lie in this C
}

// addUp adds up the sums of the columns from .. to-1 of a slab, and makes C of them.
func (pl *slabGrid) addUp(slab, from, to int) {
	row, end := pl.RowsOf(slab/pl.Across, pl.M)
	sums, pitch, size := unsafe.Add(pl.sums, (row*pl.N+from)*4), pl.N*4, pl.M*pl.N
	if pl.dots() {
		addBlocks(sums, size, pl.Blocks())
	} else {
		for i := 1; i <= pl.Blocks()-pl.Span; i++ {
			asm.Combine(sums, pitch, unsafe.Add(sums, i*size*4), pitch, end-row, to-from, 1, 1)
		}
	}
	pl.epilogue(lines{sums, pitch}, row, from, end-row, to-from)
}
