package gemm

import (
	"sync"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/tile"
)

// scratch is memory that one goroutine packs and sums in: that of an inline product, or of a worker for a slab.
type scratch struct {
	mem []byte

	// Who is given pointers to these may keep them, for all that the compiler knows: elsewhere they would be allocated.
	sweep  asm.Sweep
	behind behind
}

// at returns where the memory begins.
func (s *scratch) at() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s.mem)) }

// brooms are for who sweeps: panels of columns that are no piece, pieces, and accumulators.
var scratches, brooms = scratchPool(plan.ScratchBytes), scratchPool(2*asm.SweepRoom + plan.BroomAcc)

func scratchPool(bytes int) sync.Pool {
	return sync.Pool{New: func() any { return &scratch{mem: tile.HeapSlots(bytes)} }}
}
