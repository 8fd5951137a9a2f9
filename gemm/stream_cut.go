package gemm

import (
	"cmp"

	"example.com/leafhopper/pipeline"
)

// What a worker takes at a time is a slab, a range of columns, of an item, a part of K.
const (
	// Workers look at every slab to find one, and at the context between slabs.
	maxSlabs    = 1024      // most slabs, unless the workers are many
	slabBytes   = 64 << 20  // most bytes of a slab that is read in place, unless rows of B become shorter than inPlaceLine
	inPlaceLine = 2 << 10   // bytes of such a row
	inPlaceCols = 8192      // most columns at a time that are read in place
	inPlaceAcc  = 256 << 10 // most bytes of their sums
	// Bytes of B that a kernel reads in place in a call, a hundred microseconds or two from memory.
	inPlaceBytes = 8 << 20
	// Columns of a row of B that are long enough for memory to give one slab for each worker faster
	// than several, unless the workers are so many that all wait for it anyway; and of float32 those
	// whose sums, of so few rows, stay in registers, which is better than up to shortOf.
	longCols, longWorkers         = 512, 2 * fewWorkers
	shortCols, shortMost, shortOf = 64, 4, 128
	// Of many workers each has so many pieces, that is slabs times items, and half as many if B is
	// read in place, which goes faster the longer it lasts.
	piecesEach   = 16
	pieceBytes   = 64 << 10 // least bytes of B in a piece
	pieceAlong   = 2 << 10  // least bytes of its rows, if they lie along K
	inPlaceAlong = 8 << 10  // the same if they are read in place
	piecesAcc    = 8 << 20  // most bytes of accumulators that outlast items
)

// cutColumns cuts the columns of B into slabs for workers, those of a slab into blocks that
// scratch memory is enough for, and those of a block into groups that are packed together.
func (st *stream) cutColumns(workers int) {
	k := st.kernel
	// A strip of accumulators and a panel of B are all that a slab keeps, so it
	// may be as narrow as sharing the columns out wants.
	panels := ceilDiv(st.n, k.NR)
	strip := st.bytesStrip()
	block, group := max(1, min(streamB/k.PanelB(st.words(st.bk)), streamAcc/strip)), 0
	share := max(1, panels/(slabsEach*workers))
	cols := min(share, block)
	size := st.b.elem.Size()
	widest := max(slabBytes/(st.k*size), inPlaceLine/size) / k.NR
	switch st.mode {
	case streamPanels:
		switch {
		case !st.starves() || st.b.packed:
		case st.b.trans:
			block = 1
		default:
			// The rows of all columns that the accumulators are enough for, before the next rows.
			block, group = max(1, streamAcc/strip), bareGroup
			cols = min(max(bareGroup/2, share), block)
		}
	case streamSwept:
		block = max(1, min(sweepPanels, (scratchBytes-st.sweepBytes())/(st.sumsEach()*strip)))
		cols = min(share, block)
	case streamPieces:
		block, group = max(1, broomAcc/(st.sumsEach()*strip)/piecePanels)*piecePanels, piecePanels
		slabs := max(sweepSlabs(workers), ceilDiv(panels, max(1, widest/ceilDiv(st.m, k.NR))))
		cols = min(roundUp(ceilDiv(panels, slabs), piecePanels), block)
	case streamInPlace:
		// Long pieces of memory are read fastest.
		block = min(inPlaceCols, inPlaceAcc/(st.m*4)) / k.NR
		each := 1 // slabs for each worker
		switch {
		case st.many(workers) && !st.b.trans && workers <= longWorkers && st.n >= longCols*workers:
		case st.many(workers):
			each = slabsEach // the slowest of many would keep the others waiting
		}
		cols = min(ceilDiv(panels, each*workers), block, widest)
		if each > 1 && !st.b.trans && size == 4 && st.m <= shortMost && cols <= shortOf/k.NR && st.n >= shortCols*workers {
			cols = shortCols / k.NR
		}
	case streamAlong:
		most := min(max(1, slabBytes/(st.panelsA*st.k*size)/k.NR), inPlaceCols/k.NR)
		cols = ceilDiv(panels, max(sweepSlabs(workers), ceilDiv(panels, most)))
		block = cols
	case streamStored:
		wide := 1
		if st.panelsA == 1 {
			wide = k.StreamWidth(st.b.elem, st.m) / k.NR
		}
		block = min(streamAcc/(st.m*4), inPlaceCols) / k.NR / wide * wide
		if whole := roundUp(share, wide); workers == 1 || ceilDiv(panels, whole) >= 2*workers {
			share = whole
		}
		cols = min(share, block)
	}
	cols = max(cols, ceilDiv(panels, max(maxSlabs, slabsEach*workers)))
	st.cols, st.block, st.group = cols*k.NR, block*k.NR, cmp.Or(group, block)*k.NR
	st.slabs = ceilDiv(st.n, st.cols)
}

// sweepSlabs returns how many slabs so many workers sweep. Rows are read fastest if
// they are long; but one of several workers may be slow.
func sweepSlabs(workers int) int {
	switch {
	case workers == 1:
		return 1
	case workers > fewWorkers:
		return slabsEach / 2 * workers // and hand them on, see cutK
	}
	return slabsEach * workers
}

// cutK cuts K into items. Many workers end together if what a slow one has left
// of its slabs is done by others: down K a slab goes from hand to hand.
func (st *stream) cutK(workers int) {
	st.items = 1
	if st.many(workers) {
		each, row := piecesEach, st.k*st.b.elem.Size()
		most := min(st.steps, pipeline.MaxDepth, min(st.cols, st.n)*row/pieceBytes)
		along := pieceAlong
		if st.mode == streamInPlace {
			each, along = each/2, inPlaceAlong
		}
		if st.b.trans {
			most = min(most, row/along)
		}
		st.items = max(1, min(most, each*workers/st.slabs))
	}
	if st.bytesAcc() > piecesAcc {
		st.items = 1
	}
	st.span = roundUp(ceilDiv(st.steps, st.items), st.each) // whole blocks
	st.items = ceilDiv(st.steps, st.span)
	st.jobPanels = ceilDiv(st.steps*st.panelsA, workers)
}
