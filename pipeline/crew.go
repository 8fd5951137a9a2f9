package pipeline

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"example.com/leafhopper/internal/spin"
)

// Crew lends helpers to tasks. A helper is a goroutine that joins a task as one
// of its workers; between tasks it sits and spins, so that calls in
// quick succession find it awake, and then ends: an idle crew has no goroutines.
//
// To start one, or to wake one, takes its caller 5 to 15 µs and the helper 75 to 125 until it comes. So
// a crew does as who rents skis does, who buys them when the rent that is paid makes up the price
// (Karlin, Manasse, Rudolph and Sleator, 1988): nobody is started before calls that follow
// each other closely have taken about as long as that, nor while no P is idle, on which the helper could
// run. And a helper spins no longer than that takes, and no longer than half of what the last call took: it
// saves no more than that if it is there. (And no less than half of what waking takes: nobody was started
// for calls that are so short and do not follow each other.)
//
//	Run --- rings --> bell <--- looks --- the helpers on its seats
//	Run --- rings --> bell <--- looks --- the helpers on its seats
//
// Runs at the same time have a bell each. One word calls all helpers: to write one
// for every helper takes as long for each as for all. The helper on a seat has the
// same number in every task that rings for it, so that it needs no word to claim it,
// and does, as a rule, the same part of the work on the same core as the last time.
type Crew struct {
	limit  int        // helpers alive at once
	least  uint64     // ticks that calls take before helpers are started for them
	idle   func() int // Ps
	closed atomic.Bool

	mu    sync.Mutex
	bells []*bell
	free  []*bell // that no run has; the last was used last, and its helpers are awake
	alive int     // helpers that exist
	ended sync.WaitGroup
}

// NewCrew returns a crew of at most limit helpers.
func NewCrew(limit int) *Crew {
	return &Crew{limit: min(limit, maxWanted), least: wakeTicks, idle: spin.Idle}
}

// wakeTicks is about how long it takes until a helper comes: 60 to 145 µs, as counters go at 4.4 to 1.8 GHz.
const wakeTicks = 1 << 18

// Run works on task with the calling goroutine and up to workers-1 helpers, of the
// workers that it was reset for. It returns when the task has ended and every helper
// has left its program, its context and its statistics alone.
func (c *Crew) Run(task Task, workers int) {
	want := min(workers-1, task.base().workers-1, c.limit)
	if want <= 0 || inBubble() {
		task.Work(0)
		return
	}
	if n := int32(runtime.GOMAXPROCS(0)); processors.Load() != n {
		processors.Store(n)
	}
	busy.Add(1)
	defer busy.Add(-1)
	b := c.publish(task, want)
	defer c.retract(task, b)
	task.Work(0)
}

// inBubble reports whether the calling goroutine is in a bubble of testing/synctest, by its clock, which begins with
// the year 2000. Helpers may be of another bubble, or of none, where the channels of this one, such as its contexts',
// must not be used; and those that begin in it would be waited for when it ends.
func inBubble() bool {
	now := time.Now().Unix()
	return now >= bubbleBegins && now < bubbleEnds
}

const (
	bubbleBegins = 946684800 // a machine whose clock was never set is in 1970
	bubbleEnds   = 1 << 30   // in 2004, when there were no bubbles
)

// lockLooks is how often to look for c.mu before sleeping.
const lockLooks = 256

// lock takes c.mu. It guards a few instructions, but many may come for it at
// once: to put one to sleep and to wake it takes longer than all of them need.
func (c *Crew) lock() {
	for range lockLooks {
		if c.mu.TryLock() {
			return
		}
		spin.Pause(1)
	}
	c.mu.Lock()
}

// publish calls so many helpers to task.
func (c *Crew) publish(task Task, want int) *bell {
	now := spin.Ticks()
	c.lock()
	var b *bell
	if last := len(c.free) - 1; last >= 0 {
		b, c.free = c.free[last], c.free[:last]
	} else {
		b = newBell(c)
		c.bells = append(c.bells, b)
	}
	if now-b.ended > b.stay() {
		b.since = now
	}
	b.began = now
	b.summon(task, want)
	lacks := b.lacks()
	c.mu.Unlock()
	if t := task.base(); lacks > 0 {
		t.missing, t.due = c, b.since+c.least
		c.send(t, now)
	}
	return b
}

// send starts those that are missing of the helpers of t, if it is time for them and they have a P
// to run on.
func (c *Crew) send(t *team, now uint64) {
	if now < t.due {
		return
	}
	b, n := t.bell, c.idle()
	if n > 0 {
		c.lock()
		lacks := b.lacks()
		n = min(n, lacks, c.limit-c.alive)
		if c.closed.Load() {
			n = 0
		}
		c.alive += n
		b.coming += n
		c.ended.Add(n)
		c.mu.Unlock()
		if n == lacks {
			t.missing = nil
		}
	}
	t.due = now + c.least
	if n > 0 {
		busy.Add(int32(n))
	}
	for range n {
		go b.help()
	}
}

// retract lets no further helper join task, and waits for those in it unless they
// have nothing left to do there but to leave.
func (c *Crew) retract(task Task, b *bell) {
	b.silence()
	t := task.base()
	t.missing = nil
	now := spin.Ticks()
	c.lock()
	b.ended = now
	b.worth.Store((now - b.began) / 2) // of the time of a call, which another worker may halve
	c.free = append(c.free, b)
	c.mu.Unlock()
	if !task.settled() {
		t.waitHelpers()
	}
}

// Close waits for the helpers to end. No Run may be under way or follow.
func (c *Crew) Close() {
	c.closed.Store(true)
	c.ended.Wait()
}
