package sm

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

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
	met           int // how often all threads of its warp have come together
	turn          int // how many it had done when it got the turn
	notBefore     int // before this operation of all it gets the turn only if nobody else can

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
	glances  *glances  // what atomics have found last, nil before the first
	progress int64     // of the cluster, at the last of them
	since    time.Time
}

func newRunner(c *cta, self *agent) *runner {
	return &runner{cta: c, self: self, wake: make(chan struct{}, 1)}
}

// agent returns the handle that r acts by.
func (r *runner) agent() *agent {
	switch {
	case r.by != nil:
		return r.by
	case r.self != nil: // that has done nothing yet
		return r.self
	}
	return r.cta.body
}

// enter begins an operation that the kernel calls on a or with a. It must be called by
// the function that the kernel calls.
func (a *agent) enter(op string) {
	a.at(op, 1)
	a.run.point()
}

// enterBelow is enter for a function that the one that the kernel calls calls.
func (a *agent) enterBelow(op string) {
	a.at(op, 2)
	a.run.point()
}

// at is enter for a function so many calls below the kernel's code, and no place where the order of agents may change.
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
	if a.lanes > 1 {
		r.met++
	}
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
		c.checkUnwritten() // which may be why
	}
	stack := debug.Stack()
	for _, begin := range []string{"\npanic(", "\nruntime.Goexit("} {
		if i := bytes.Index(stack, []byte(begin)); i > 0 {
			stack = stack[i+1:] // above it is how it came to be recovered
		}
	}
	r.stop(a, &Fault{Rule: RulePanic, Detail: fmt.Sprint(v), Stack: stack, cause: err})
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
