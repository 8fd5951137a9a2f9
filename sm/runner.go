package sm

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/internal/spin"
	"example.com/leafhopper/wgmma"
)

// A runner is a goroutine of a launch: that of a CTA's kernel function, or of an agent
// that the kernel started. Its handles (a [Warpgroup] and its threads, say) share it.
//
// What a runner waits for is noted before its cluster counts it as idle, and whoever
// gives it a reason to go on counts it as active before it goes on. So when the last
// active one of a cluster becomes idle all notes are true, and nobody is left to change
// that: a deadlock is known the moment it comes about, in either mode.
type runner struct {
	cta  *cta
	self *agent        // nil: the kernel function
	wake chan struct{} // capacity 1: a reason to go on, or under Check the turn
	g    uintptr       // of its goroutine, see frames

	switching atomic.Bool  // under Check, it gives its turn to others
	dozing    atomic.Bool  // it is stuck, and does not count as active, but looks again
	looked    atomic.Int64 // changes before its last look

	op   string // that it is at, or was last
	by   *agent // the handle that does it
	site site

	number        int // of a checked launch, in the order in which runners start
	steps, copies int // that it has done and issued
	turn          int // how many it had done when it got the turn
	late          int // before this operation of all it gets the turn only if nobody else can

	history *history  // what it knows, under Check
	handles []*Thread // that have issued copies
	copiers []*Thread // that issue those of MemcpyAsync

	ended    stand     // the operation that it came to when the launch had stopped
	waits    waitable  // what it waits for, nil if it does not or is the kernel function
	target   uint64    // the phase of it
	next     *runner   // that waits for it too; once r has been released, who is woken by r
	result   int       // of a reduction by barrier.sync
	exchange *exchange // in an operation of its warp, nil before the first
	polls    int       // tries in a row that found nothing changed
	glances  *[4]look  // what atomics have found last, nil before the first
	progress int64     // of the cluster, at the last of them
	since    time.Time
}

// waitable is what a runner can wait for.
type waitable interface {
	// missing says what the wait for a phase lacks, as "full[2] phase 4: 16 bytes missing".
	missing(phase uint64) string
}

func newRunner(c *cta, self *agent) *runner {
	return &runner{cta: c, self: self, wake: make(chan struct{}, 1)}
}

// enter begins an operation that the kernel calls on a or with a. It must be called by
// the function that the kernel calls.
func (a *agent) enter(op string) { a.enterFrom(op, 1) }

// enterFrom is enter for a function that is so many calls below the one that the kernel
// calls.
func (a *agent) enterFrom(op string, depth int) {
	a.at(op, depth+1)
	a.run.point()
}

// at is enterFrom without a place where the order of agents may change.
func (a *agent) at(op string, depth int) {
	if a == nil || a.run == nil {
		panic(fmt.Sprintf("sm: %s: agent is nil or not of a running kernel", op))
	}
	r := a.run
	if r.cta.launch.state.Load() == stateOver { // somebody has kept the agent
		panic(abandon{r.cta.launch})
	}
	var here site
	g := here.here(depth + 2)
	if r.cta.launch.stopped() { // before what follows, which a report may be reading
		r.end(a, op, here)
	}
	switch h := r.host(g); {
	case h == nil:
	case h.g != g: // it is nobody's, and r waits for the turn in an operation that another has begun
		r.second(a, op, here, atOnce)
	default:
		h.op, h.by, h.site = op, h.self, here
		h.agent().fail(RuleAgent, "in the name of %s, whose goroutine this is not", a.inCluster())
	}
	r.op, r.by, r.site = op, a, here
}

const atOnce = "on a second goroutine at once: those that the kernel has started act one at a time"

// second stops the launch with a fault of an operation in the name of r, as r does another, or may, and unwinds who
// does it.
func (r *runner) second(a *agent, op string, at site, detail string) {
	l := r.cta.launch
	l.stop(&Fault{
		Kernel: l.Name, CTA: r.cta.idx, Agent: a.String(), Op: op, Site: at.String(), Rule: RuleAgent, Detail: detail,
		Seed: l.Seed, checked: l.Check,
	})
	r.unwind()
}

// host returns the runner on whose goroutine r's agent is used, nil if it is r's own, or none's:
// what a goroutine does that the kernel has started itself, its agent does. Under Check it is who
// has the turn if that is not r. The kernel function's own operations look at that themselves.
//
//go:norace
func (r *runner) host(g uintptr) *runner {
	if r.self == nil {
		return nil
	}
	if s := r.cta.launch.sched; s != nil {
		if s.current != r {
			return s.current
		}
		return nil
	}
	if g == r.g {
		return nil
	}
	return r.cta.cluster.on(g)
}

// check unwinds a runner of a launch that has stopped.
func (r *runner) check() {
	if r.cta.launch.stopped() {
		r.unwind()
	}
}

// end unwinds a runner that comes to an operation of a launch that has stopped.
func (r *runner) end(a *agent, op string, at site) {
	if !r.stranger() {
		r.ended = stand{op: op, at: at, agent: a}
	}
	r.unwind()
}

// unwind ends what a goroutine does in the name of r. Nobody would recover from a panic of one
// that the kernel has started itself.
func (r *runner) unwind() {
	if r.stranger() {
		runtime.Goexit()
	}
	panic(abandon{r.cta.launch})
}

// stranger reports whether the goroutine is known to be no runner's. Like host it may look at one that is starting.
//
//go:norace
func (r *runner) stranger() bool {
	g := frames(new(stack))
	return g != 0 && g != r.g && r.cta.cluster.on(g) == nil
}

// point is a place where the order of agents may change.
func (r *runner) point() {
	if s := r.cta.launch.sched; s != nil {
		r.alone(func() { s.point(r) })
		r.check()
	}
}

// alone has f give r's turn to others, which is not to happen on two goroutines at once.
func (r *runner) alone(f func()) {
	if !r.switching.CompareAndSwap(false, true) {
		r.second(r.agent(), r.op, r.site, atOnce)
	}
	f()
	r.switching.Store(false)
}

// pass lets others go on while r finds nothing to do.
func (r *runner) pass() {
	if s := r.cta.launch.sched; s != nil {
		r.alone(func() { s.pass(r) })
	} else {
		runtime.Gosched()
	}
}

// start starts f on r's goroutine. The caller has counted r as active, and enrolled it.
func (r *runner) start(f func()) {
	c := r.cta.cluster
	if s := c.launch.sched; s != nil {
		s.add(r)
	}
	c.launch.agents.Go(func() {
		r.g = frames(new(stack))
		if c.launch.sched != nil {
			<-r.wake
		}
		returned := false
		defer func() {
			r.recovered(recover(), returned)
			if !returned {
				c.launch.unwound(r)
			}
			r.exit()
		}()
		if !c.launch.stopped() {
			f()
		}
		returned = true
	})
}

var errGoexit = errors.New("the agent ended its goroutine (runtime.Goexit)")

// recovered turns a panic of the kernel's code into a fault.
func (r *runner) recovered(v any, returned bool) {
	a := r.agent()
	if v, ok := v.(abandon); ok && v.launch == r.cta.launch {
		return
	}
	switch v := v.(type) {
	case nil:
		if !returned {
			r.panicked(a, errGoexit, errGoexit)
		}
	case misuse:
		r.stop(a, &Fault{Rule: RuleBarrier, Detail: v.of + ": " + v.Rule.String() + ": " + v.Detail, cause: v.Misuse})
	case *wgmma.Misuse:
		if at := r.site; r.self != nil {
			if r.site.panicked(); r.site != at { // of registers, which are no operation's
				r.op, a = "", r.self
			}
		}
		r.stop(a, &Fault{Rule: RuleWGMMA, Detail: v.Rule.String() + ": " + v.Detail, cause: v})
	default:
		err, _ := v.(error)
		r.panicked(a, v, err)
	}
}

// panicked stops the launch with a fault that says v, in deferred functions of a panic or of
// runtime.Goexit.
func (r *runner) panicked(a *agent, v any, err error) {
	if r.self != nil || r == r.cta.main {
		r.op = ""
		r.site.panicked() // a copy stays at where it was issued
	}
	if r.self != nil {
		a = r.self
	}
	for _, c := range r.cta.cluster.ctas {
		c.unwritten() // which may be why
	}
	stack := debug.Stack()
	for _, begin := range []string{"\npanic(", "\nruntime.Goexit("} {
		if i := bytes.Index(stack, []byte(begin)); i > 0 {
			stack = stack[i+1:] // above it is how it came to be recovered
		}
	}
	r.stop(a, &Fault{Rule: RulePanic, Detail: fmt.Sprint(v), Stack: stack, cause: err})
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

// exit is the end of r, whose code has returned or been unwound.
func (r *runner) exit() {
	c, l := r.cta.cluster, r.cta.launch
	defer l.moves.Add(1)
	if !l.stopped() {
		r.leave()
	}
	if r.self != nil && r.cta.running.Add(-1) == 0 {
		r.cta.main.ready()
	}
	if c.discharge(r) {
		l.retire(c)
		l.next(c)
	}
	c.idle() // counts until the next of the grid are counted: in between all would seem to wait
	if s := l.turns(); s != nil {
		s.leave(r)
	}
}

// leave checks what an agent or a CTA must not leave behind. A fault that it finds
// stops the launch.
func (r *runner) leave() {
	defer func() {
		if v := recover(); v != nil {
			r.recovered(v, false)
		}
	}()
	if r.self != nil {
		r.self.exit()
	} else {
		r.cta.exit()
	}
}
