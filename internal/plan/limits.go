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
