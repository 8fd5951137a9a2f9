package pipeline

import "example.com/leafhopper/internal/spin"

// helper is what a helper knows of its crew.
type helper struct {
	*Crew
	bell     *bell
	seat     *seat
	id       int    // of the worker that it is in the tasks that call it
	answered uint64 // the last call that it has looked into
	turn     spin.Turn
}

// helper joins one task after the other until none has come for a while.
func (c *Crew) helper(b *bell) {
	defer c.ended.Done()
	defer busy.Add(-1)
	h := helper{Crew: c}
	h.turn.Begin()
	c.lock()
	b.coming--
	h.sit(b)
	c.mu.Unlock()
	for {
		task := h.join()
		if task == nil {
			return
		}
		h.lend(task)
		h.turn.Begin() // the worker's were others
	}
}

// sit takes the first free seat of b.
func (h *helper) sit(b *bell) {
	i := 0
	for i < len(b.seats) && b.taken[i] {
		i++
	}
	b.grow(i + 1)
	b.taken[i] = true
	h.bell, h.seat, h.id, h.answered = b, b.seats[i], i+1, 0
}

// join waits until the helper is called, and returns the task, or nil if no call comes.
func (h *helper) join() Task {
	start := spin.Ticks()
	quiet := start // since when no call has been for the helper: it has done its part before the call ends
	for n := 1; ; n++ {
		if task := h.hear(); task != nil {
			return task
		}
		lookAway(n, keenPauses)
		h.turn.Look()
		now := spin.Ticks()
		if wanted(h.bell.call.Load()) >= h.id {
			quiet = now
		}
		if (h.closed.Load() || now-quiet > h.bell.stay() || now-start > 2*wakeTicks) && h.leave() {
			return nil
		}
	}
}

// isCalled reports whether a call is for the helper, and new.
func (h *helper) isCalled(call uint64) bool { return wanted(call) >= h.id && call != h.answered }

// hear returns the task that calls the helper, if one does. It says that it comes
// before it looks whether the bell still rings, and who silences the bell looks for it
// afterwards: one of the two sees the other.
func (h *helper) hear() Task {
	call := h.bell.call.Load()
	if !h.isCalled(call) {
		return nil
	}
	h.answered = call
	t := h.bell.team.Load()
	h.seat.heard.Store(call)
	if h.bell.call.Load() != call {
		h.seat.heard.Store(0)
		return nil
	}
	return t.task
}

// lend works on task. The helper is lost if the program ends its goroutine, as
// testing.T.FailNow does, but must not be missed.
func (h *helper) lend(task Task) {
	returned := false
	defer func() {
		h.seat.heard.Store(0)
		if !returned {
			h.lock()
			h.rise()
			h.alive--
			h.mu.Unlock()
		}
	}()
	task.Work(h.id)
	returned = true
}

// rise gives up the seat.
func (h *helper) rise() { h.bell.taken[h.id-1] = false }

// leave gives up the seat, unless the helper is called, and reports whether it is to
// end: it is not if another bell lacks helpers, as it does if there are as many as
// there may be.
func (h *helper) leave() bool {
	h.lock()
	defer h.mu.Unlock()
	if h.isCalled(h.bell.call.Load()) {
		return false
	}
	h.rise()
	for _, b := range h.bells {
		if b != h.bell && b.lacks() > 0 {
			h.sit(b)
			return false
		}
	}
	h.alive--
	return true
}
