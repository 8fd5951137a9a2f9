package pipeline

import (
	"sync"
	"sync/atomic"
	"time"

	"example.com/leafhopper/internal/spin"
)

// Crew lends helpers to grids. A helper is a goroutine that joins a grid as one
// of its workers; between grids it spins for [SpinFor], so that calls in quick
// succession find it awake, and then ends: an idle crew has no goroutines.
type Crew struct {
	limit int // helpers alive at once
	help  func()

	open atomic.Int32 // places in tasks that want helpers

	mu     sync.Mutex
	tasks  []*Task
	alive  int // helpers that exist
	idle   int // those of them that look for a task
	closed bool
	ended  sync.WaitGroup
}

// Task is a grid that a crew is helping with. Its zero value is ready for
// [Crew.Run], and it may be reused.
type Task struct {
	grid *Grid
	next int // worker id of the next helper to join
	want int // helpers that may still join
}

// NewCrew returns a crew of at most limit helpers.
func NewCrew(limit int) *Crew {
	c := &Crew{limit: limit}
	c.help = c.helper // one closure for all helpers, so that starting one allocates nothing
	return c
}

// Run works on g with the calling goroutine and up to workers-1 helpers. It
// returns when the grid has ended and every helper has left the program, the
// context and the statistics of g alone.
func (c *Crew) Run(t *Task, g *Grid, workers int) {
	t.grid, t.next, t.want = g, 1, min(workers-1, c.limit)
	if t.want <= 0 {
		g.Work(0)
		return
	}
	c.publish(t)
	defer c.retract(t)
	g.Work(0)
}

// lockLooks is how often to look for c.mu before sleeping.
const lockLooks = 256

// lock takes c.mu. It guards a few instructions, but all helpers come for it at
// once when a task is published, and again when they leave: to put one to sleep
// and to wake it takes longer than all of them need.
func (c *Crew) lock() {
	for range lockLooks {
		if c.mu.TryLock() {
			return
		}
		spin.Pause(1)
	}
	c.mu.Lock()
}

func (c *Crew) publish(t *Task) {
	c.lock()
	c.tasks = append(c.tasks, t)
	c.open.Add(int32(t.want))
	n := 0
	if !c.closed {
		// Other tasks may be waiting for the same idle helpers.
		n = min(int(c.open.Load())-c.idle, c.limit-c.alive)
		n = max(n, 0)
		c.alive += n
		c.idle += n
		c.ended.Add(n)
	}
	c.mu.Unlock()
	for range n {
		go c.help()
	}
}

// retract lets no further helper join t, and waits for those in it unless they
// have nothing left to do there but to leave.
func (c *Crew) retract(t *Task) {
	c.lock()
	c.open.Add(-int32(t.want))
	t.want = 0
	for i := range c.tasks {
		if c.tasks[i] == t {
			last := len(c.tasks) - 1
			c.tasks[i], c.tasks[last] = c.tasks[last], nil
			c.tasks = c.tasks[:last]
			break
		}
	}
	c.mu.Unlock()
	if t.grid.loose && t.grid.finished.TestWaitParity(0) {
		return
	}
	for n := 1; t.grid.helpers.Load() != 0; n++ {
		lookAway(n)
	}
}

// Close waits for the helpers to end. No Run may be under way or follow.
func (c *Crew) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.ended.Wait()
}

func (c *Crew) helper() {
	defer c.ended.Done()
	for {
		g, id := c.join()
		if g == nil {
			return
		}
		c.lend(g, id)
	}
}

// lend works on g as worker id. The helper is lost if the program ends its
// goroutine, as testing.T.FailNow does, but must not be missed.
func (c *Crew) lend(g *Grid, id int) {
	returned := false
	defer func() {
		c.lock()
		if returned {
			c.idle++
		} else {
			c.alive--
		}
		c.mu.Unlock()
		g.helpers.Add(-1)
	}()
	g.Work(id)
	returned = true
}

// join waits for a task that wants a helper and returns its grid, or nil if none
// came. The task may be gone as soon as it wants no more.
func (c *Crew) join() (g *Grid, id int) {
	start := time.Now()
	for n := 1; ; n++ {
		if c.open.Load() > 0 {
			c.lock()
			// The task with the fewest helpers comes first.
			var t *Task
			for _, u := range c.tasks {
				if u.want > 0 && (t == nil || u.next < t.next) {
					t = u
				}
			}
			if t != nil {
				g, id = t.grid, t.next
				t.next++
				t.want--
				g.helpers.Add(1)
				c.open.Add(-1)
				c.idle--
				c.mu.Unlock()
				return g, id
			}
			c.mu.Unlock()
		}
		if lookAway(n) {
			c.lock()
			if c.closed || time.Since(start) > SpinFor && c.open.Load() <= 0 {
				c.idle--
				c.alive--
				c.mu.Unlock()
				return nil, 0
			}
			c.mu.Unlock()
		}
	}
}
