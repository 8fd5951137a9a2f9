package gemm

import (
	"sync/atomic"

	"example.com/leafhopper/internal/cores"
	"example.com/leafhopper/internal/plan"
)

// sharers counts the calls under way, of all engines, that share the processors: those that have asked
// how many workers they are to have, as products do that are large enough, and have not been told.
var sharers atomic.Int32

// processors returns how many a call may keep busy if it is the only one.
var processors = cores.Count

// workerCount returns the goroutines that p may be computed with. A call asks once: one that is a sharer for that
// has to leave.
func (s *settings) workerCount(p *product) int {
	if s.workers > 0 {
		return s.workers
	}
	p.sharer = true
	return max(1, plan.CeilDiv(processors(), int(sharers.Add(1))))
}

// leave ends the call's part in sharing.
func (p *product) leave() {
	if p.sharer {
		p.sharer = false
		sharers.Add(-1)
	}
}
