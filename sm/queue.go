package sm

import "example.com/leafhopper/internal/race"

// A queue is runners that wait for the same. The race detector, for which agents hide what orders them, sees none of
// it, and would see what it allocated.
type queue struct {
	first, last *runner
	n           int
}

// push adds r, which waits for a phase of w.
//
//go:norace
func (q *queue) push(r *runner, w waitable, phase uint64) {
	r.waits, r.target = w, phase
	q.join(queue{r, r, 1})
}

// join adds all of another, which is not empty.
//
//go:norace
func (q *queue) join(other queue) {
	if q.first == nil {
		*q = other
		return
	}
	q.last.next = other.first
	q.last = other.last
	q.n += other.n
}

// remove takes r off, and reports whether it was there.
//
//go:norace
func (q *queue) remove(r *runner) bool {
	var before *runner
	for at := q.first; at != nil; before, at = at, at.next {
		if at != r {
			continue
		}
		if before == nil {
			q.first = r.next
		} else {
			before.next = r.next
		}
		if q.last == r {
			q.last = before
		}
		r.next = nil
		q.n--
		return true
	}
	return false
}

// tell tells those who wait what a meeting does. Without Check they have no history.
func (q *queue) tell(m *meeting) {
	for r := q.first; r != nil && r.history != nil; r = r.next {
		m.tell(r.history)
	}
}

// take empties the queue.
//
//go:norace
func (q *queue) take() (taken queue) {
	taken, *q = *q, queue{}
	return taken
}

// release empties the queue, of those whose wait is over. They count as active from here on, and wake wakes them.
func (q *queue) release() (released queue) {
	if released = q.take(); released.n > 0 {
		released.first.cta.cluster.count(int64(released.n))
	}
	return released
}

// wake has those go on who have been released, with the result of a reduction. The caller holds no lock that they may
// come to: who has to wait for that is put to sleep, and woken, once more.
//
//go:norace
func (q queue) wake(result int) {
	if q.first == nil {
		return
	}
	s, most := q.first.cta.launch.turns(), q.together()
	for r := q.first; r != nil; {
		first, last := r, r
		for range min(q.n, most) - 1 {
			last = last.next
			q.n--
		}
		q.n--
		r, last.next = last.next, nil
		first.result = result
		if s != nil {
			s.ready(first)
		} else {
			first.nudge()
		}
	}
}

// together returns how many are woken by the first of them: of many threads as many as a warp has, which then go on on
// one core while others are woken elsewhere. Agents of more threads have more to do than that. The race detector is not
// to believe in an order of who waits and who is woken by it, and under Check the seed decides.
func (q queue) together() int {
	r := q.first
	if q.n <= warpSize || race.Enabled || r.cta.launch.Check || r.self == nil || r.self.lanes > 1 {
		return 1
	}
	return warpSize
}

// rouse wakes those that r, which has been woken, is to wake.
//
//go:norace
func (r *runner) rouse() {
	next := r.next
	r.next = nil
	for next != nil {
		o := next
		next, o.next = o.next, nil
		o.result = r.result
		o.nudge()
	}
}
