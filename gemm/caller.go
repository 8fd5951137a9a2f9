package gemm

import "example.com/leafhopper/internal/plan"

// run computes the columns from .. to-1, as the plan says.
func (in *slab) run(from, to int) {
	switch {
	case in.unpacked != nil:
		in.runUnpacked(from, to)
	case in.dots():
		in.runDots()
	case in.g.B == plan.StreamedB:
		in.runFewRows(from, to)
	default:
		in.runPanels(from, to)
	}
}

// runAlone computes the whole product, in turns.
func (in *slab) runAlone(s *settings) {
	defer s.leave()
	in.turn.Begin()
	in.run(0, in.N)
	in.turn.Look()
}
