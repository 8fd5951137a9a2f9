package sm

import (
	"time"

	"example.com/leafhopper/internal/race"
)

// Tries are free until it looks as if they would go on for ever: then each waits, for
// pollPause, as mbarrier.try_wait may, and if all agents come to that it is a deadlock. It
// looks so after many in a row for some time, while no phase of the cluster has ended and the agent
// has neither arrived nor issued a copy nor, as far as is watched, stored anything. Under Check time
// is no measure, and the tries of many add up. Who does not mean to wait, or no longer than for a
// time, may have other plans when the tries have been in vain.
type patience struct {
	polls int
	time  time.Duration
}

var (
	toTry   = patience{1000, 80 * time.Millisecond}
	toTest  = patience{10_000, 500 * time.Millisecond}
	toTryIn = patience{3, 500 * time.Millisecond}
	toLook  = patience{50_000, 500 * time.Millisecond}
)

const pollPause = 10 * time.Millisecond

// slower is how many times fewer tries look as if they would go on for ever if they take as many times as long, and
// some: what sleeps between them takes long to come to many.
const slower = 12

// try reports whether over says so, within d.
func (m *mbar) try(a *agent, over func() bool, d time.Duration, p patience) bool {
	r := a.run
	stuck := r.stuck(p)
	if stuck {
		d = max(d, pollPause)
	}
	switch {
	case m.test(a, over, d > 0) || d > 0 && r.doze(m, d, stuck):
		r.polls = 0
		return true
	case d <= 0:
		r.pass()
	}
	return false
}

// stuck counts a try, and reports whether r has been trying for too long.
func (r *runner) stuck(p patience) bool {
	checked := r.cta.launch.Check // schedules repeat
	race.Hide()
	now := r.cta.cluster.progress.Load()
	race.Show()
	if now != r.progress || r.polls == 0 {
		r.polls, r.progress = 0, now
		if !checked {
			r.since = time.Now()
		}
	}
	r.polls++
	if c := r.cta.cluster; checked {
		if c.polledAt != now {
			c.polledAt, c.polled = now, 0
		}
		c.polled++
		return r.polls > max(toTry.polls, p.polls/10) && c.polled > p.polls
	}
	if r.polls <= min(p.polls, max(p.polls/slower, toTryIn.polls)) {
		return false
	}
	took := time.Since(r.since)
	return r.polls > p.polls && took > p.time || took > slower*p.time
}
