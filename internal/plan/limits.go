package plan

import (
	"example.com/leafhopper/asm"
	"example.com/leafhopper/barrier"
	"example.com/leafhopper/tile"
)

// What a goroutine's memory holds and a call does, within which every cut stays.
const (
	StreamB   = 256 << 10 // bytes of scratch memory for panels of B
	streamAcc = 128 << 10 // and for accumulators
	// ScratchBytes is all of it, well inside an L2 cache.
	ScratchBytes = StreamB + streamAcc
	// BroomAcc are the bytes of accumulators of who sweeps, of which those of an unfinished block are half.
	BroomAcc = 1 << 20
)

// What is shared out.
const (
	streamMin = 1 << 18  // least elements of a B whose columns are shared; smaller ones stay in a cache
	slabsEach = 4        // slabs for each of several workers, of which one may be slow
	slabBytes = 64 << 20 // bytes of whole tiles of A and B of a slab, for which a context waits
	// Rows of a slab, at most, unless tiles of the kernel are high or more rows stay in a cache: beside them a
	// second-level cache keeps the panels of B that are packed at once.
	maxSlabRows = 128
	// maxStage keeps a stage's transaction count within what a barrier counts.
	maxStage = barrier.MaxTx * tile.PanelTxUnit
)

// TallK is the least K for which to look at the transpose of a product of a tall A.
const TallK = 256

// callFlops are those of one call of a microkernel, which cannot be preempted: about 100 µs of AVX2.
const callFlops = 16 << 20

// CallLimit returns the flops of a call of k, at most. For Hopper's arithmetic a quarter of them takes as long.
func CallLimit(k *asm.Kernel) int {
	if k.Arithmetic == asm.Hopper {
		return callFlops / 4
	}
	return callFlops
}

// TileFlops returns the flops of a register tile of k, words deep.
func TileFlops(k *asm.Kernel, words int) int { return FlopsOf(k.MR, k.NR, words*k.KPack) }

// A product of few elements and a deep K is a few dot products.
const (
	DotMost   = 16        // most elements of C
	dotTile   = 3         // elements of a tile for each of them, at least: tiles of kernels in Go are small
	dotBlocks = 8         // fewest blocks of K, of which there are to be as many as elements
	dotFew    = 7         // most vectors of A and B there
	DotStep   = 8         // most elements from one of a vector to the next
	dotShare  = 128 << 10 // fewest bytes of A and B that are worth a worker
	dotBlind  = 4 << 20   // most flops during which nobody looks at a context
)
