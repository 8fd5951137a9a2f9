package pipeline

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"example.com/leafhopper/barrier"
)

const (
	// stopPoll bounds how long a parked role needs to notice Stop. Barriers know
	// nothing of cancellation, as on the GPU, so a parked role looks up now and
	// then.
	stopPoll = time.Millisecond
	// shortWait is how long a wait may be of which nobody is told: hand-overs of
	// stages are shorter, and would notice what it costs to tell.
	shortWait = 100 * time.Microsecond
)

// waits is where a role waits on a ring, if it does and has for longer than shortWait.
type waits struct {
	at atomic.Uint64  // op, phase, stage, CTA and count of the wait, 0 if there is none
	pc atomic.Uintptr // of the role's call
}

// What a role waits in.
const (
	opAcquire = 1 + iota
	opWait
)

var opNames = [...]string{opAcquire: "ProducerAcquire", opWait: "ConsumerWait"}

// Fields of waits.at, from below: op, phase, stage, CTA, and how often the role had
// gone on.
const (
	phaseAt = 2
	stageAt = 3
	ctaAt   = 7
	countAt = 11
)

// wait waits on b, which is cta's barrier in the stage of s.
func (r *Ring) wait(b *barrier.Barrier, op uint64, s PipelineState, cta int) error {
	if !b.TryWaitParity(s.Phase, shortWait) && r.Err() == nil {
		w := &r.waits
		var pc [1]uintptr
		runtime.Callers(3, pc[:]) // of who called ProducerAcquire or ConsumerWait
		w.pc.Store(pc[0])
		stage := uint64(s.Phase&1)<<phaseAt | uint64(s.Index)<<stageAt | uint64(cta)<<ctaAt
		w.at.Store(op | stage | uint64(s.Count)<<countAt)
		for !b.TryWaitParity(s.Phase, stopPoll) && r.Err() == nil {
		}
		w.at.Store(0)
	}
	return r.Err()
}

// A Wait is where a role waits on a [Ring].
type Wait struct {
	Op    string // ProducerAcquire, for an empty barrier, or ConsumerWait, for a full one
	Stage int    // of the ring, 0 .. depth-1
	CTA   int    // of the cluster
	Phase uint32 // the parity waited for
	Count int    // stages that the role has passed before
	At    string // file and line of the call
	// State is that of the barrier: Pending arrivals and Tx bytes are missing, unless it
	// has come to its next phase and the role is about to go on.
	State barrier.State
}

// report returns where r waits, nil if it does not.
func (w *waits) report(r *Ring) *Wait {
	at := w.at.Load()
	if at == 0 {
		return nil
	}
	v := &Wait{
		Op:    opNames[at&(1<<phaseAt-1)],
		Phase: uint32(at >> phaseAt & 1),
		Stage: int(at >> stageAt % MaxDepth),
		CTA:   int(at >> ctaAt % MaxCTAs),
		Count: int(at >> countAt),
	}
	frame, _ := runtime.CallersFrames([]uintptr{w.pc.Load()}).Next()
	v.At = fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line)
	if v.Op == opNames[opAcquire] {
		v.State = r.Empty(v.Stage, v.CTA).State()
	} else {
		v.State = r.Full(v.Stage, v.CTA).State()
	}
	return v
}

// String describes the wait, as in "ConsumerWait at main.go:31 for item 14: full barrier of
// stage 2, CTA 0, phase 0: 0 of 1 arrivals missing, 16 bytes missing".
func (w *Wait) String() string {
	of := "full"
	if w.Op == opNames[opAcquire] {
		of = "empty"
	}
	return fmt.Sprintf("%s at %s for item %d: %s barrier of stage %d, CTA %d, phase %d: %s",
		w.Op, w.At, w.Count, of, w.Stage, w.CTA, w.Phase, w.missing())
}

// missing says what the wait is for.
func (w *Wait) missing() string {
	s := w.State
	switch {
	case !s.Live:
		return s.String()
	case (uint32(s.Phase)^w.Phase)&1 != 0:
		return "nothing is missing"
	case s.Tx < 0:
		return fmt.Sprintf("%d of %d arrivals missing, %d bytes too many", s.Pending, s.Expected, -s.Tx)
	}
	return fmt.Sprintf("%d of %d arrivals missing, %d bytes missing", s.Pending, s.Expected, s.Tx)
}
