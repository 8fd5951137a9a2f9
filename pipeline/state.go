package pipeline

import "fmt"

// PipelineState is a role's place in a ring: the stage it works on next, the
// parity to wait for there, and how many stages it has passed. It has the
// meaning of CUTLASS's class of that name. Every role keeps its own, which
// [ConsumerStart] or [ProducerStart] made: the zero value has no depth.
//
// The phase is the parity operand of the barrier wait: a consumer starts with
// 0, because the first filling of a stage completes phase 0 of its full
// barrier; a producer starts with 1, the parity that passes at once on the
// fresh empty barriers of a ring whose stages are all free.
type PipelineState struct {
	Index int    // stage, 0 .. depth-1
	Phase uint32 // parity to wait for
	Count int    // stages passed since the start
	depth int
}

// ConsumerStart returns the state of a consumer that has consumed nothing.
func ConsumerStart(depth int) PipelineState { return PipelineState{depth: depth} }

// ProducerStart returns the state of a producer that has filled nothing.
func ProducerStart(depth int) PipelineState { return PipelineState{Phase: 1, depth: depth} }

// Next moves to the following stage. Like Advance it panics if s has no depth.
func (s *PipelineState) Next() {
	s.Count++
	if s.Index++; s.Index >= s.depth {
		s.wrap()
	}
}

// wrap goes back to the first stage. A state without a depth arrives here too,
// so that Next need not look for it every time.
func (s *PipelineState) wrap() {
	s.check()
	s.Index = 0
	s.Phase ^= 1
}

// Advance moves n >= 0 stages on. It panics if n is negative, as a state does not
// go back, or if s has no depth.
func (s *PipelineState) Advance(n int) {
	s.check()
	if n < 0 {
		panic(advanceError(n))
	}
	s.Count += n
	rounds := n / s.depth
	if s.Index += n % s.depth; s.Index >= s.depth {
		s.Index -= s.depth
		rounds++
	}
	s.Phase ^= uint32(rounds) & 1
}

// check panics if s has no depth.
func (s *PipelineState) check() {
	if s.depth < 1 {
		panic(depthError(s.depth))
	}
}

// A depthError is a depth that no state can have. It becomes text only when a panic
// is printed, which keeps check small enough to be inlined.
type depthError int

func (e depthError) Error() string {
	return fmt.Sprintf("pipeline: state of depth %d, must be at least 1: ConsumerStart and ProducerStart set it",
		int(e))
}

// An advanceError is a number of stages that Advance cannot move. Like a depthError
// it becomes text only when a panic is printed.
type advanceError int

func (e advanceError) Error() string {
	return fmt.Sprintf("pipeline: state advanced by %d stages, want 0 or more", int(e))
}
