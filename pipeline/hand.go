package pipeline

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"example.com/leafhopper/internal/spin"
)

const (
	// idlePauses is the length of one look-away while idle, about 0.5 µs. It is
	// short against a piece of work and long against the cost of a look. The first
	// ones are shorter, for pieces that end at almost the same time.
	idlePauses = 16
	// keenPauses is the same for who looks at one word that changes once.
	keenPauses = 2
	// clockPauses is the number of pauses after which an idle worker looks at the
	// clock, and yields its P if there may be more goroutines than Ps: the one it
	// waits for may need it.
	clockPauses = 32 * idlePauses
	// SpinFor is how long an idle worker spins before it parks: as long as it takes to wake a
	// goroutine whose P has gone to sleep, 75 to 125 µs.
	SpinFor = 100 * time.Microsecond
)

// hand is one goroutine's view of a task that it is a worker of.
type hand struct {
	team     *team
	id       int
	stats    Stats
	turn     spin.Turn
	returned bool // it has done its part

	idle      int // look-aways since the last piece of work
	idleSince time.Time
	starved   bool // idle because the ring is full, not because the next slot is not
	stall     *TraceSpan
}

// begin makes h worker id of t. Its goroutine defers end and, when it has done its part, sets returned.
func (h *hand) begin(t *team, id int) {
	if id < 0 || id >= t.workers {
		panic(fmt.Sprintf("pipeline: worker %d of a task for %d", id, t.workers))
	}
	h.team, h.id = t, id
	h.turn.Begin()
}

// end stops the task if the worker has panicked or its goroutine is about to end, and leaves
// the worker's statistics where [team.Stats] finds them.
func (h *hand) end() {
	t := h.team
	if v := recover(); v != nil {
		p := &RolePanic{Value: v, Stack: debug.Stack()}
		t.panicked.CompareAndSwap(nil, p)
		t.stopped.stop(p)
	} else if !h.returned {
		t.stopped.stop(errGoexit)
	}
	if h.stats != (Stats{}) {
		t.stats[h.id] = h.stats
	}
}

// look is what a worker does between two pieces of work: it gives way to others if it is
// time, and the first one starts helpers that are missing.
func (h *hand) look() {
	h.turn.Look()
	if t := h.team; h.id == 0 && t.missing != nil {
		t.missing.send(t, spin.Ticks())
	}
}

// spin idles for a moment of at most so many pauses, and reports whether the worker has been
// idle for so long that it may park.
func (h *hand) spin(pauses int) bool {
	if h.idle == 0 {
		h.idleSince = time.Now()
		h.stall = h.team.trace.Start(h.id, TraceStall)
	}
	h.idle++
	h.turn.Look()
	return lookAway(h.idle, pauses) && time.Since(h.idleSince) > SpinFor
}

// endIdle books the time since the worker became idle, if it is. A piece of work
// begins with it, so that the piece does not count.
func (h *hand) endIdle() {
	if h.idle == 0 {
		return
	}
	if d := time.Since(h.idleSince); h.starved {
		h.stats.ProducerWait += d
	} else {
		h.stats.ConsumerWait += d
	}
	h.stall.endStall(h.starved)
	h.idle = 0
}

// lookAway spends the time between two looks, of which this is the nth, at what
// another goroutine is about to do: at most so many pauses. It reports whether to
// look at the clock.
func lookAway(n, pauses int) bool {
	spin.Pause(min(n, pauses))
	n *= pauses
	if n%clockPauses != 0 {
		return false
	}
	if crowded() {
		runtime.Gosched()
	}
	return true
}

// processors is GOMAXPROCS when a crew last ran a task, and busy the number of
// goroutines that are helpers of any crew or have some.
var processors, busy atomic.Int32

// crowded reports whether there are more workers than can run at once.
func crowded() bool { return busy.Load() > processors.Load() }
