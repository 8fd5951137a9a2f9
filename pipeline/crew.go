package pipeline

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"example.com/leafhopper/internal/spin"
)

// Crew lends helpers to grids. A helper is a goroutine that joins a grid as one
// of its workers; between grids it sits and spins for [SpinFor], so that calls in
// quick succession find it awake, and then ends: an idle crew has no goroutines.
//
//	Run --- calls ---> seat 0 <--- looks --- helper
//	    \-- calls ---> seat 1 <--- looks --- helper
//	     \- places ->  open   <--- asks ---- a helper that comes from another grid, or is new
//
// Each idle helper looks at a word of its own, so that a grid that wants a few of
// many wakes no others; and the first seats are called first, so that a worker
// of the same number is, as a rule, on the same core as the last time.
type Crew struct {
	limit int // helpers alive at once
	help  func()

	open   atomic.Int32 // places in tasks for which no helper was idle
	closed atomic.Bool

	mu     sync.Mutex
	tasks  []*Task // that have open places
	seats  []*seat
	alive  int // helpers that exist
	coming int // those of them that are new and have no seat yet
	ended  sync.WaitGroup
}

// seat is where a helper waits to be called.
type seat struct {
	// call is idle while the helper waits, then the grid that calls it, and nil
	// while it works or nobody has the seat.
	call  atomic.Pointer[Grid]
	id    int  // of the worker that the helper is to be in that grid
	taken bool // guarded by Crew.mu
	_     [40]byte
}

// idle stands for no grid, in the seat of a helper that waits for one.
var idle Grid

// Task is a grid that a crew is helping with. Its zero value is ready for
// [Crew.Run], and it may be reused.
type Task struct {
	grid   *Grid
	next   int     // worker id of the next helper to join
	want   int     // open places: helpers that may still join
	listed bool    // it has had open places
	called []*seat // among which are those of the helpers that were called
}

// NewCrew returns a crew of at most limit helpers.
func NewCrew(limit int) *Crew {
	c := &Crew{limit: limit}
	c.help = c.helper // one closure for all helpers, so that starting one allocates nothing
	return c
}

// Run works on g with the calling goroutine and up to workers-1 helpers, of the
// workers that g was reset for. It returns when the grid has ended and every helper
// has left the program, the context and the statistics of g alone.
func (c *Crew) Run(t *Task, g *Grid, workers int) {
	*t = Task{grid: g, next: 1, want: min(workers-1, g.workers-1, c.limit)}
	if t.want <= 0 {
		g.Work(0)
		return
	}
	if n := int32(runtime.GOMAXPROCS(0)); processors.Load() != n {
		processors.Store(n)
	}
	busy.Add(1)
	defer busy.Add(-1)
	c.publish(t)
	defer c.retract(t)
	g.Work(0)
}

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

// publish calls idle helpers to t, and opens places for those that t lacks.
func (c *Crew) publish(t *Task) {
	c.lock()
	g := t.grid
	g.helpers.Add(int32(t.want))
	for i, s := range c.seats {
		if t.want == 0 {
			break
		}
		if s.call.Load() != &idle {
			continue
		}
		s.id = t.next
		if s.call.CompareAndSwap(&idle, g) {
			t.next++
			t.want--
			t.called = c.seats[:i+1]
		}
	}
	n := 0
	if t.want > 0 {
		g.helpers.Add(-int32(t.want))
		t.listed = true
		c.tasks = append(c.tasks, t)
		open := int(c.open.Add(int32(t.want)))
		if !c.closed.Load() {
			// Other tasks may be waiting for the same new helpers.
			n = max(0, min(open-c.coming, c.limit-c.alive))
			c.alive += n
			c.coming += n
			c.ended.Add(n)
			busy.Add(int32(n))
		}
	}
	c.mu.Unlock()
	for range n {
		go c.help()
	}
}

// retract lets no further helper join t, and waits for those in it unless they
// have nothing left to do there but to leave.
func (c *Crew) retract(t *Task) {
	if t.listed {
		c.lock()
		c.open.Add(-int32(t.want))
		t.want = 0
		c.unlist(t)
		c.mu.Unlock()
	}
	g := t.grid
	if g.helpers.Load() == 0 {
		return
	}
	for _, s := range t.called {
		if s.call.Load() == g && s.call.CompareAndSwap(g, &idle) {
			g.helpers.Add(-1) // it has not come
		}
	}
	if g.loose && g.finished.TestWaitParity(0) {
		return
	}
	for n := 1; g.helpers.Load() != 0; n++ {
		lookAway(n)
	}
}

// unlist takes t from the tasks with open places.
func (c *Crew) unlist(t *Task) {
	for i := range c.tasks {
		if c.tasks[i] == t {
			last := len(c.tasks) - 1
			c.tasks[i], c.tasks[last] = c.tasks[last], nil
			c.tasks = c.tasks[:last]
			return
		}
	}
}

// Close waits for the helpers to end. No Run may be under way or follow.
func (c *Crew) Close() {
	c.closed.Store(true)
	c.ended.Wait()
}

func (c *Crew) helper() {
	defer c.ended.Done()
	defer busy.Add(-1)
	s := c.sit()
	for {
		g, id := c.join(s)
		if g == nil {
			return
		}
		c.lend(s, g, id)
	}
}

// sit finds a new helper a seat.
func (c *Crew) sit() (s *seat) {
	c.lock()
	defer c.mu.Unlock()
	c.coming--
	for _, free := range c.seats {
		if !free.taken {
			s = free
			break
		}
	}
	if s == nil {
		s = new(seat)
		c.seats = append(c.seats, s)
	}
	s.taken = true
	s.call.Store(&idle)
	return s
}

// lend works on g as worker id. The helper is lost if the program ends its
// goroutine, as testing.T.FailNow does, but must not be missed.
func (c *Crew) lend(s *seat, g *Grid, id int) {
	returned := false
	defer func() {
		if returned {
			s.call.Store(&idle)
		} else {
			c.lock()
			s.taken = false
			c.alive--
			c.mu.Unlock()
		}
		g.helpers.Add(-1)
	}()
	g.Work(id)
	returned = true
}

// join waits until the helper on s is called or finds an open place, and returns
// the grid and its number there, or nil if neither comes.
func (c *Crew) join(s *seat) (g *Grid, id int) {
	start := time.Now()
	for n := 1; ; n++ {
		if g := s.call.Load(); g != &idle && s.call.CompareAndSwap(g, nil) {
			return g, s.id
		}
		if c.open.Load() > 0 && s.call.CompareAndSwap(&idle, nil) {
			if g, id = c.ask(); g != nil {
				return g, id
			}
			s.call.Store(&idle)
		}
		if lookAway(n) && (c.closed.Load() || time.Since(start) > SpinFor) && c.leave(s) {
			return nil, 0
		}
	}
}

// ask takes an open place, of the task with the fewest helpers, if there is one.
func (c *Crew) ask() (g *Grid, id int) {
	c.lock()
	defer c.mu.Unlock()
	var t *Task
	for _, u := range c.tasks {
		if u.want > 0 && (t == nil || u.next < t.next) {
			t = u
		}
	}
	if t == nil {
		return nil, 0
	}
	g, id = t.grid, t.next
	t.next++
	t.want--
	c.open.Add(-1)
	g.helpers.Add(1)
	return g, id
}

// leave gives up the seat s, unless its helper is wanted.
func (c *Crew) leave(s *seat) bool {
	c.lock()
	defer c.mu.Unlock()
	if c.open.Load() > 0 || !s.call.CompareAndSwap(&idle, nil) {
		return false
	}
	s.taken = false
	c.alive--
	return true
}
