package pipeline

// PipelineState is a role's place in a ring: the stage it works on next, the
// parity to wait for there, and how many stages it has passed. It has the
// meaning of CUTLASS's class of that name. Every role keeps its own.
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

// Next moves to the following stage.
func (s *PipelineState) Next() {
	s.Count++
	if s.Index++; s.Index == s.depth {
		s.Index = 0
		s.Phase ^= 1
	}
}

// Advance moves n >= 0 stages on.
func (s *PipelineState) Advance(n int) {
	s.Count += n
	s.Index += n
	s.Phase ^= uint32(s.Index/s.depth) & 1
	s.Index %= s.depth
}
