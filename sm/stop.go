package sm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The states of a launch. It leaves out what it does not come to, and never goes back:
//
//	free ────┬→ stopping → dispersed ┬→ over
//	watched ─┘                       └→ left
const (
	stateFree      = iota // agents run, and what they load and store of their own CTA is no operation
	stateWatched          // agents run under Check, or with Banks
	stateStopping         // they end at their next operation, under Check one by one
	stateDispersed        // under Check, all at once
	stateOver             // the last has ended: what somebody has kept is of no use
	stateLeft             // Launch has returned, and agents have not ended; they still do at their next operation
)

// become brings the launch to a state, unless it is beyond that.
func (l *launch) become(state int32) {
	for {
		now := l.state.Load()
		if now >= state || l.state.CompareAndSwap(now, state) {
			return
		}
	}
}

// stopped reports whether agents end at their next operation.
func (l *launch) stopped() bool { return l.state.Load() >= stateStopping }

// turns returns the scheduler, nil if all agents that can go on do.
func (l *launch) turns() *scheduler {
	if l.state.Load() >= stateDispersed {
		return nil
	}
	return l.sched
}

// stop ends the launch with err, unless it has been stopped: every runner ends at its
// next operation.
func (l *launch) stop(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	l.err = err
	l.timed, _ = err.(*outOfTime)
	l.become(stateStopping)
	close(l.stops)
	if l.sched != nil {
		return // one runner runs, and hands on to the others as it ends
	}
	for c := range l.live {
		c.wakeAll()
	}
}

// watch stops the launch when ctx ends, and returns when the last agent has ended or Launch is not to
// wait for it. A context may be of anybody's making: what its methods do here comes to an end here.
func (l *launch) watch(ctx context.Context, ended <-chan struct{}) {
	returned := false
	defer func() {
		if v := recover(); v != nil {
			l.stop(fmt.Errorf("sm: launch: the context panicked: %v", v))
		} else if !returned {
			l.stop(errors.New("sm: launch: the context ended its caller's goroutine"))
		}
		l.outlast(ended)
	}()
	select {
	case <-ctx.Done():
		l.stop(&outOfTime{cause(ctx), min(int(l.started.Load()), l.clusters)})
	case <-l.stops:
	case <-ended:
	}
	returned = true
}

// Seconds for which no agent of a launch that has stopped ends, or gives its turn to another.
const (
	toDisperse = 1
	toLeave    = 5
)

// outOfTime is the end of a launch's context, when so many clusters had begun.
type outOfTime struct {
	error
	begun int
}

func (e *outOfTime) Unwrap() error { return e.error }

// A stand is an operation that agents were at, or came to, when the context had ended.
type stand struct {
	op     string
	at     site
	agent  *agent // the first
	others int
}

// unwound notes where r was when its launch stopped, which has been unwound for that.
func (l *launch) unwound(r *runner) {
	s := r.ended
	if s.op == "" {
		s = stand{op: r.op, at: r.site, agent: r.agent()}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timed == nil || s.op == "" || r.self == nil && r.cta.agents > 0 {
		return // the kernel function waits for its agents
	}
	if i := slices.IndexFunc(l.stood, func(o stand) bool { return o.op == s.op && o.at == s.at }); i >= 0 {
		l.stood[i].others++
		return
	}
	l.stood = append(l.stood, s)
}

// mostStands is how many a message lists.
const mostStands = 8

// reason returns why the launch has stopped, if it has. Of a context that has ended before agents which wait for
// memory it says what a deadlock's report would.
func (l *launch) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timed == nil {
		return l.err
	}
	var b strings.Builder
	if n := l.clusters - l.timed.begun; n > 0 {
		fmt.Fprintf(&b, "; %d of %d CTAs had not begun%s", n*l.Cluster.Size(), l.Grid.Size(), l.toBegin())
	}
	for i, s := range l.stood {
		if i == mostStands {
			b.WriteString("; and elsewhere")
			break
		}
		fmt.Fprintf(&b, "; %s at %v: %v of CTA %v", s.op, s.at, s.agent, s.agent.cta.idx)
		if s.others > 0 {
			fmt.Fprintf(&b, " and %d more", s.others)
		}
	}
	return fmt.Errorf("sm: launch: %w%s", l.err, b.String())
}

// toBegin says what has all CTAs begin, if they are waited for.
func (l *launch) toBegin() string {
	switch most := sms * fitting(l.Block); {
	case l.resident() == l.clusters:
		return ""
	case l.Grid.Size() > most:
		return fmt.Sprintf(" (Config.Resident; %d SMs have at most %d of them at once)", sms, most)
	}
	return " (Config.Cooperative, if others wait for them)"
}

// outlast waits until the agents have ended, which the launch has told to, and sees to it that they can.
func (l *launch) outlast(ended <-chan struct{}) {
	for still, before := 0, int64(-1); ; {
		select {
		case <-time.After(time.Second):
		case <-ended:
			return
		}
		if now := l.moves.Load(); now != before {
			still, before = 0, now
			continue
		}
		switch still++; {
		case still == toDisperse && l.turns() != nil:
			l.disperse()
		case still == toLeave:
			l.leave()
			return
		}
	}
}

// disperse has all agents of a checked launch that has stopped unwind at once. Who has the turn
// comes to no operation: it waits for a Go mutex, say, that another has, which would unlock it.
func (l *launch) disperse() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.become(stateDispersed)
	for c := range l.live {
		c.wakeAll()
	}
	if _, ok := l.err.(*Fault); !ok {
		l.err = fmt.Errorf("%w; %s: if it waits for a Go mutex, who has that waits for the turn, under Check",
			l.err, l.sched.current.stands())
	}
}

// leave has Launch return though agents have not ended, which do not come to an operation.
func (l *launch) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := ""
	for c := range l.live {
		c.mu.Lock()
		for r := range c.runners {
			if r.self != nil || text == "" {
				text = r.stands()
			}
		}
		c.mu.Unlock()
	}
	l.err = fmt.Errorf("%w; agents that do not end are left behind: %s", l.err, text)
	l.become(stateLeft)
}

// stands says what r, which does nothing else once the launch has stopped, did last.
//
//go:norace
func (r *runner) stands() string {
	op, at, who := r.op, r.site, r.cta.body
	if r.self != nil {
		who = r.self
	}
	since := "it began"
	if op != "" {
		since = fmt.Sprintf("%s at %v", op, at)
	}
	return fmt.Sprintf("%v has come to no operation since %s", who.inCluster(), since)
}
