package gemm

import (
	"fmt"
	"time"
)

// Stats describes how one Multiply ran; see [WithStats].
type Stats struct {
	Kernel  string // name of the microkernel
	Workers int    // goroutines allowed to compute, the caller's included; on a ring as many as asked for
	Depth   int    // stages of the ring; 0 when the product ran inline
	TileM   int    // CTA tile: rows of C
	TileN   int    // CTA tile: columns of C
	TileK   int    // elements of K in one stage
	Inline  bool   // computed by the caller alone, without a ring
	Route   string // "inline", "place", "stream" or "ring": see "How a product is cut" in the package comment
	Tiles   int    // output tiles
	Stages  int    // stages filled and consumed
	Bytes   int64  // bytes written to slots by the copier

	Elapsed time.Duration // wall time of the call
	// ProducerWait and ConsumerWait sum, over the workers, the time they stood
	// still: with nothing to compute and no empty slot to fill, or with nothing
	// to compute because the next slot was not full yet.
	ProducerWait time.Duration
	ConsumerWait time.Duration
	// Copy sums the time the workers spent filling slots.
	Copy time.Duration
}

// String returns the statistics on one line.
func (s Stats) String() string {
	if s.Inline {
		return fmt.Sprintf("kernel %s, inline, %v", s.Kernel, s.Elapsed)
	}
	return fmt.Sprintf("kernel %s, %s, depth %d, tile %dx%dx%d, %s, %s, %d bytes copied, %v (copy %v, producer wait %v, consumer wait %v)",
		s.Kernel, count(s.Workers, "worker"), s.Depth, s.TileM, s.TileN, s.TileK, count(s.Tiles, "tile"), count(s.Stages, "stage"), s.Bytes,
		s.Elapsed, s.Copy, s.ProducerWait, s.ConsumerWait)
}

// count returns "1 tile", or "2 tiles".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
