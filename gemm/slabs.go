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
func (sg *slabGrid) describe(st Stats) Stats {
	st.TileM, st.TileN, st.TileK = min(sg.Rows, sg.M), sg.Cols, min(sg.Span*sg.ChainK(), sg.K)
	st.Tiles = sg.Count * sg.Ranges
	return st
}

func (sg *slabGrid) task(ctx context.Context, _ *pipeline.Grid, loose *pipeline.Slabs) (pipeline.Task, error) {
	return loose, loose.Reset(ctx, sg.Count*sg.Ranges, sg, sg.plan.Workers)
}

// Compute implements [pipeline.SlabProgram].
func (sg *slabGrid) Compute(slab int) {
	of, slab := slab/sg.Count, slab%sg.Count
	from, to := sg.ColsOf(slab%sg.Across, sg.N)
	if sg.Ranges > 1 {
		sg.computeRange(of, slab, from, to)
		return
	}
	in := sg.part(slab / sg.Across)
	in.turn.Begin()
	in.run(from, to)
}

// part returns the rows of the slabs number i from above.
func (sg *slabGrid) part(i int) slab {
	in := sg.slab
	row, end := sg.RowsOf(i, sg.M)
	in.M = end - row
	in.a.ptr, in.a.rows = in.a.at(row, 0), in.M
	in.c.ptr, in.c.rows = in.c.at(row, 0), in.M
	return in
}

// Bytes returns the bytes of the sums.
func (sg *slabGrid) Bytes() int64 {
	if sg.Ranges == 1 {
		return 0
	}
	return int64(sg.sumsAt(sg.Blocks()))
}

// sumsAt returns where the sums of a block begin.
func (sg *slabGrid) sumsAt(block int) int {
	if !sg.dots() {
		block = max(0, block-sg.Span+1)
	}
	return block * sg.M * sg.N * 4
}

// use lays out the memory for the sums.
func (sg *slabGrid) use(sums []byte) {
	sg.sums = unsafe.Pointer(unsafe.SliceData(sums))
	for len(sg.left) < sg.Count {
		sg.left = append(sg.left, atomic.Int32{})
	}
	for i := range sg.left[:sg.Count] {
		sg.left[i].Store(int32(sg.Ranges))
	}
}

// computeRange computes a range of K of the columns from .. to-1 of a slab, and C if it is the last.
func (sg *slabGrid) computeRange(i, slab, from, to int) {
	first := i * sg.Span
	end := min(first+sg.Span, sg.Blocks())
	if sg.dots() {
		in := sg.slab
		in.turn.Begin()
		in.dotSums(first, end-first, unsafe.Add(sg.sums, sg.sumsAt(first)))
	} else {
		in, step := sg.part(slab/sg.Across), 1
		in.turn.Begin()
		if i == 0 {
			step = end
		}
		for ; first < end; first += step {
			sg.slice(&in, slab/sg.Across*sg.Rows, first, step)
			in.run(from, to)
		}
	}
	if sg.left[slab].Add(-1) == 0 {
		sg.addUp(slab, from, to)
	}
}

// slice leaves of in, the rows from one on, so many blocks of K, whose sums are C.
func (sg *slabGrid) slice(in *slab, row, block, blocks int) {
	k0 := block * sg.ChainK()
	in.K = min(blocks*sg.ChainK(), sg.K-k0)
	in.a.ptr = sg.a.at(row, k0)
	if sg.b.packed {
		in.first = k0
	} else {
		in.b.ptr = sg.b.at(k0, 0)
	}
	in.c = view{rows: in.M, cols: in.N, stride: in.N, elem: asm.F32}
	in.c.ptr = unsafe.Add(sg.sums, sg.sumsAt(block)+row*sg.N*4)
	in.alpha, in.beta, in.finish, in.finishesInC = 1, 0, nil, false
	in.Out, in.PitchC, in.Plain = asm.F32, in.c.pitch(), true
	in.past = false
	in.room, _ = in.Problem.Room(sg.plan, in.M, sg.Cols) // whose sums may lie in this C
}

// addUp adds up the sums of the columns from .. to-1 of a slab, and makes C of them.
func (sg *slabGrid) addUp(slab, from, to int) {
	row, end := sg.RowsOf(slab/sg.Across, sg.M)
	sums, pitch, size := unsafe.Add(sg.sums, (row*sg.N+from)*4), sg.N*4, sg.M*sg.N
	if sg.dots() {
		addBlocks(sums, size, sg.Blocks())
	} else {
		for i := 1; i <= sg.Blocks()-sg.Span; i++ {
			asm.Combine(sums, pitch, unsafe.Add(sums, i*size*4), pitch, end-row, to-from, 1, 1)
		}
	}
	sg.epilogue(lines{sums, pitch}, row, from, end-row, to-from)
}
