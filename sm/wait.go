package sm

import (
	"runtime"
	"time"

	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/internal/spin"
)

// waitable is what a runner can wait for.
type waitable interface {
	// missing says what the wait for a phase lacks, as "full[2] phase 4: 16 bytes missing".
	missing(phase uint64) string
}

// block waits until somebody has called ready. The caller has noted what r waits for, where
// whoever calls ready finds it.
func (r *runner) block() {
	c := r.cta.cluster
	start := c.launch.Trace.now()
	c.idle()
	if s := c.launch.sched; s != nil {
		r.alone(func() { s.block(r) })
	} else if !r.spin() {
		<-r.wake
	}
	r.check() // when the launch stops all are woken
	r.rouse()
	c.launch.Trace.waited(r, start)
	r.waits = nil
}

const (
	// spinFor is how long an agent spins before it sleeps, if a core has nothing else to do:
	// longer than the 100 µs that another may take to wake up because its core sleeps too,
	// or two would take turns at waking each other. A stage of a kernel takes some 10.
	spinFor = 200 * time.Microsecond
	// spinLooks is how often it looks for what it waits for before it looks at the clock.
	spinLooks = 16
	// spinPauses is the time between two looks, about 0.2 µs.
	spinPauses = 8
)

// spin waits for a moment, as long as there is a core to spare, and reports whether somebody
// has called ready.
func (r *runner) spin() bool {
	l := r.cta.launch
	if r.self == nil || l.busy() >= l.procs {
		return false
	}
	for start := time.Now(); time.Since(start) < spinFor; runtime.Gosched() {
		for range spinLooks {
			select {
			case <-r.wake:
				return true
			default:
			}
			if l.busy() > l.procs { // with r itself it may be as many
				return false
			}
			spin.Pause(spinPauses)
		}
	}
	return false
}

// busy returns how many runners can go on.
func (l *launch) busy() int64 {
	race.Hide()
	defer race.Show()
	return l.active.Load()
}

// doze is block for at most d. It reports whether somebody has called ready, which nobody does if
// m is nil. An agent that is stuck counts as one that waits, for it would only come back and find
// what it has found; the others go on by themselves when d is over.
func (r *runner) doze(m *mbar, d time.Duration, stuck bool) bool {
	c := r.cta.cluster
	if stuck {
		r.dozing.Store(true)
		c.rest()
	}
	woken := true
	if s := c.launch.sched; s != nil {
		r.alone(func() { s.doze(r) })
	} else {
		timer := time.NewTimer(d)
		select {
		case <-r.wake:
			timer.Stop()
		case <-timer.C:
			woken = false
		}
	}
	r.check()
	if stuck {
		c.resume(r) // before it is off the list: between the two a phase could end, and all others with it
	}
	late := m == nil || m.unqueue(r)
	if !late {
		c.count(-1) // who has released it has counted one who counted already
		if !woken {
			<-r.wake // which comes after that
		}
		r.rouse()
	}
	r.waits = nil
	return !late
}

// ready lets r, which waits, go on.
func (r *runner) ready() {
	c := r.cta.cluster
	c.count(1)
	if s := c.launch.turns(); s != nil {
		s.ready(r)
		return
	}
	r.nudge()
}

// nudge wakes r if it sleeps.
func (r *runner) nudge() {
	select {
	case r.wake <- struct{}{}:
	default: // it has been woken because the launch stops
	}
}
