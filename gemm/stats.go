package gemm

import (
	"fmt"
	"time"

	"example.com/leafhopper/internal/plan"
)

// A Plan is how a product is computed: who shares it, where A and B come from, where sums wait, and how it is cut.
// Its String says so on a line. No plan changes a bit of the result. That of [Stats] is shared with the engine, which
// goes on computing by it, and must not be changed.
type Plan = plan.Plan

// Stats describes how one Multiply ran; see [WithStats].
type Stats struct {
	Kernel  string // name of the microkernel
	Route   string // "caller", "slabs", "columns" or "ring": see "How a product is cut" in the package comment
	Plan    *Plan  // how it was computed; read only
	Inline  bool   // Route is "caller": computed by the caller alone
	Workers int    // goroutines allowed to compute, the caller's included; on a ring as many as asked for
	Depth   int    // stages of the ring; 0 if the caller computes alone, or slabs
	// TileM x TileN are the rows and columns of a tile of C: of a CTA on a ring, and
	// elsewhere of what a worker computes at a time. TileK is the elements of K in a
	// stage of a ring, and otherwise K, or of slabs a part of it. All are 0 if the caller computes alone.
	TileM, TileN, TileK int
	Tiles               int   // that C is cut into; 0 if the caller computes alone
	Stages              int   // stages filled and consumed
	Bytes               int64 // bytes written to slots by the copier

	Elapsed time.Duration // wall time of the call
	// ProducerWait and ConsumerWait sum, over the workers, the time they stood still: with nothing to compute and no
	// empty slot to fill, or with nothing to compute because the next slot was not full yet.
	ProducerWait time.Duration
	ConsumerWait time.Duration
	// Copy sums the time the workers spent filling slots.
	Copy time.Duration
}

// String returns the statistics on one line.
func (s Stats) String() string {
	if s.Inline {
		return fmt.Sprintf("kernel %s, %s, %v", s.Kernel, s.Route, s.Elapsed)
	}
	ring := ""
	if s.Depth > 0 {
		ring = fmt.Sprintf(", depth %d, %s, %d bytes copied", s.Depth, plan.Count(s.Stages, "stage"), s.Bytes)
	}
	return fmt.Sprintf("kernel %s, %s, %s, tile %dx%dx%d, %s%s, %v (copy %v, producer wait %v, consumer wait %v)",
		s.Kernel, s.Route, plan.Count(s.Workers, "worker"), s.TileM, s.TileN, s.TileK, plan.Count(s.Tiles, "tile"),
		ring, s.Elapsed, s.Copy, s.ProducerWait, s.ConsumerWait)
}
