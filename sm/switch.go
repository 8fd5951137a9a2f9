package sm

import "fmt"

// A Switch is a place where the order of a checked launch differs from that of agents
// that run until they wait, and then leave the turn to who has waited for it longest.
type Switch struct {
	Step int    // the number of the operation before which it happens
	From string // who had the turn, and where it was
	To   string // who got it: an agent or a copy
	at   moment
	to   choice
}

// String returns "step 17: thread 3 before Load at k.go:12 -> thread 1 in Store at k.go:9".
func (s Switch) String() string { return fmt.Sprintf("step %d: %s -> %s", s.Step, s.From, s.To) }

// mostNoted is how many switches are kept. A kernel with more is none that fewer would explain, or one that
// loops until memory changes, which is not to take all memory for it.
const mostNoted = 1 << 18

// note keeps the choice number i, which is not the one of agents that run until they wait. how is what
// r, who had the turn, is doing.
func (s *scheduler) note(r *runner, how string, i int) {
	if s.tooMany || s.noted == mostNoted {
		s.history, s.noted, s.tooMany = nil, 0, true
		return
	}
	w := switched{step: s.step, at: s.now(r), to: s.nth(i), how: how}
	if r != nil {
		w.who = r.doing()
	}
	if n := len(s.turns); i < n {
		w.whom = s.turns[i].doing()
	} else {
		f := s.copies[i-n]
		w.whom = doing{f.by, f.cta.idx, f.op}
	}
	last := len(s.history) - 1
	switch {
	case last < 0:
		s.history = make([][]switched, 1)
		last = 0
	case len(s.history[last]) == stretch:
		s.history = append(s.history, make([]switched, 0, stretch))
		last++
	}
	s.history[last] = append(s.history[last], w)
	s.noted++
}

// stretch is how many switches lie one behind the other: to move many takes longer than to note them.
const stretch = 1 << 10

// switched is a Switch before it is put into words, which takes longer than what happens
// between two of them.
type switched struct {
	step      int
	at        moment
	to        choice
	who, whom doing
	how       string
}

// A doing is an operation of an agent.
type doing struct {
	mark
	cta Dim3
	op  string
}

// doing returns what r is at.
func (r *runner) doing() doing { return doing{mark{r.agent(), r.site}, r.cta.idx, r.op} }

// switches puts the history of a launch into words.
func (s *scheduler) switches() []Switch {
	all := make([]Switch, s.noted)
	for i := range all {
		w := &s.history[i/stretch][i%stretch]
		name := func(p doing) string {
			if s.launch.Grid.Size() == 1 {
				return p.agent.String()
			}
			return fmt.Sprintf("%v of CTA %v", p.agent, p.cta)
		}
		all[i] = Switch{Step: w.step, at: w.at, to: w.to}
		if w.who.agent != nil {
			all[i].From = fmt.Sprintf("%s %s %s at %v", name(w.who), w.how, w.who.op, w.who.site)
		}
		switch to := w.whom; {
		case w.to.copy > 0:
			all[i].To = fmt.Sprintf("the %s by %s at %v", to.op, name(to), to.site)
		case to.op == "":
			all[i].To = name(to) + " at its start"
		default:
			all[i].To = fmt.Sprintf("%s in %s at %v", name(to), to.op, to.site)
		}
	}
	return all
}
