package pipeline

import "sync/atomic"

// bell is what the helpers on its seats look at while they are idle.
type bell struct {
	// call is the number of the call and, in its last bits, how many helpers are
	// wanted, 0 when it is over. It has a line of the cache of its own.
	_     [64]byte
	call  atomic.Uint64
	_     [56]byte
	team  atomic.Pointer[team] // of the task that calls, or was the last to
	worth atomic.Uint64        // ticks that it is worth to a call to find helpers awake

	// In ticks, of who has the bell: when this call or the last began and ended, and when the first of those
	// that follow each other closely began.
	began, ended, since uint64

	// Guarded by Crew.mu:
	seats  []*seat
	taken  []bool // seats
	coming int    // helpers that have been started and have no seat yet
	help   func() // of a helper, one closure for all, so that starting one allocates nothing
}

// seat is where a helper sits.
type seat struct {
	heard atomic.Uint64 // the call that its helper has come for, or is coming, or 0
	_     [56]byte
}

const (
	wantedBits = 16 // of a call
	maxWanted  = 1<<wantedBits - 1
)

func newBell(c *Crew) *bell {
	b := new(bell)
	b.help = func() { c.helper(b) }
	return b
}

// wanted returns how many helpers are wanted, those on the first seats.
func wanted(call uint64) int { return int(call & maxWanted) }

// summon calls want helpers to task.
func (b *bell) summon(task Task, want int) {
	b.grow(want)
	t, call := task.base(), (b.call.Load()>>wantedBits+1)<<wantedBits|uint64(want)
	t.task = task
	t.called = called{call: call, seats: b.seats[:want], bell: b}
	b.team.Store(t)
	b.call.Store(call)
}

// grow makes sure that there are n seats.
func (b *bell) grow(n int) {
	for len(b.seats) < n {
		b.seats = append(b.seats, new(seat))
		b.taken = append(b.taken, false)
	}
}

// silence lets no further helper join the task that calls.
func (b *bell) silence() {
	b.call.Store(b.call.Load() &^ maxWanted)
}

// stay returns for how many ticks helpers stay awake after a call: what it is worth, at
// least half of the time that it takes to wake one, and at most all of it.
func (b *bell) stay() uint64 { return min(wakeTicks, max(wakeTicks/2, b.worth.Load())) }

// lacks returns how many helpers are wanted that do not exist.
func (b *bell) lacks() int {
	n := -b.coming
	for _, taken := range b.taken[:wanted(b.call.Load())] {
		if !taken {
			n++
		}
	}
	return max(n, 0)
}

// called is the call for which helpers may be in a task.
type called struct {
	call    uint64
	seats   []*seat // of those who were called
	missing *Crew   // that may have to start some of them, or nil; of the first worker, who looks
	bell    *bell   // at which they look
	due     uint64  // the ticks when it is time to
}

// waitHelpers waits until no helper is in the task.
func (c *called) waitHelpers() {
	for _, s := range c.seats {
		for n := 1; s.heard.Load() == c.call; n++ {
			lookAway(n, idlePauses)
		}
	}
}
