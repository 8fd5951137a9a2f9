package sm

import (
	"math/rand/v2"
	"slices"

	"example.com/leafhopper/internal/enum"
)

// A Schedule says when copies land in a checked launch. Whatever it is, the order of
// agents comes from the seed.
type Schedule uint8

const (
	// Late has a copy land only when no agent can go on, or all have gone on for long as in a loop,
	// and in pieces: what reads it without having waited reads poison or what was there before.
	Late Schedule = iota
	// Eager has a copy land when it is issued.
	Eager
	// Random has the pieces of copies land at any moment that the rules allow.
	Random
)

// String returns the name of the constant.
func (s Schedule) String() string {
	return enum.Name("Schedule", []string{"Late", "Eager", "Random"}, s)
}

// A choice is who gets the turn: a runner, by the order in which it was started, or one of
// its copies.
type choice struct {
	runner int
	copy   int // of that runner, from 1 on; 0 is none
}

// A moment is when a choice is made: before an operation of a runner, by how many it has done.
// It is the same when others do less or more in between, so that a plan holds when some of
// it is left out.
type moment struct{ runner, step int }

// A scheduler lets one runner of a checked launch run at a time. Whoever has the turn
// executes these methods, so they need no lock.
type scheduler struct {
	launch *launch
	random *rand.Rand
	plan   map[moment]choice // replaces chance if not nil

	step    int
	current *runner   // that has the turn
	turns   []*runner // that can go on and have not got the turn, the longest waiting first
	dozing  []*runner // that wait for a time, which is over when nobody else can go on
	live    []*runner // that have not ended
	started int
	copies  []*flight // under way, the oldest first
	history [][]switched
	noted   int  // in it
	tooMany bool // of them: none is kept

	survey, offered int      // how many of the switches that a plan could have are wanted, were possible
	options         []Switch // some of them
}

func newScheduler(l *launch) *scheduler {
	return &scheduler{launch: l, random: rand.New(rand.NewPCG(l.Seed, 1))}
}

// add makes r, which is about to start, one of those who get the turn.
func (s *scheduler) add(r *runner) {
	r.number = s.started
	s.started++
	r.notBefore = s.step + s.lateness(r)
	s.live = append(s.live, r)
	s.turns = append(s.turns, r)
}

// mostLate bounds how many operations others do before who begins late.
const mostLate = 1 << 12

// lateness returns how many operations others do before r's first, if they can. A GPU starts CTAs, and
// warps, as much as thousands of cycles apart, which would take chance too long: so under every second
// seed half of the runners, or of the CTAs, begin late.
func (s *scheduler) lateness(r *runner) int {
	var who uint64
	switch s.launch.Seed % 4 {
	case 1:
		who = 1<<62 | uint64(r.number)
	case 3:
		who = 1<<63 | uint64(r.cta.idx.X)<<32 | uint64(r.cta.idx.Y)<<16 | uint64(r.cta.idx.Z)
	default:
		return 0
	}
	random := rand.New(rand.NewPCG(s.launch.Seed, who))
	if random.IntN(2) == 0 {
		return 0
	}
	return 1 + random.IntN(1+random.IntN(mostLate))
}

// timely returns the index of a turn of somebody who is not late, -1 if there is none.
func (s *scheduler) timely() int {
	n := len(s.turns)
	for i, from := 0, s.random.IntN(max(n, 1)); i < n; i++ {
		if at := (from + i) % n; s.turns[at].notBefore <= s.step {
			return at
		}
	}
	return -1
}

// ready makes r, which waited, one of those who get the turn.
func (s *scheduler) ready(r *runner) {
	s.dozing = slices.DeleteFunc(s.dozing, func(d *runner) bool { return d == r })
	s.turns = append(s.turns, r)
}

// begin gives the turn to the first.
func (s *scheduler) begin() {
	if next := s.pick(nil, ""); next != nil {
		s.give(next)
	}
}

// give gives the turn to next.
func (s *scheduler) give(next *runner) {
	s.current = next
	s.launch.moves.Add(1)
	next.wake <- struct{}{}
}

// switchOdds is how rarely a runner that could go on loses its turn at an operation.
const switchOdds = 4

// tick counts an operation of r.
func (s *scheduler) tick(r *runner) {
	s.step++
	r.steps++
}

// now is the moment of r's operation, or if r is nil that before the first.
func (s *scheduler) now(r *runner) moment {
	if r == nil {
		return moment{runner: -1}
	}
	return moment{r.number, r.steps}
}

// longTurn is how many operations a runner does before others go on in any case: it may be
// looping until one of them changes what it loads.
const longTurn = 1000

// point may give r's turn to another, or let pieces of copies land.
func (s *scheduler) point(r *runner) {
	s.tick(r)
	if s.starved() {
		s.land(0)
	}
	if r.steps-r.turn > longTurn {
		s.pass(r)
		return
	}
	for {
		i := s.decide(r)
		if i < 0 {
			return
		}
		s.note(r, "before", i)
		if n := len(s.turns); i >= n {
			s.land(i - n)
			s.tick(r)
			continue
		}
		next := s.take(i)
		s.turns = append(s.turns, r)
		s.handOver(r, next)
		return
	}
}

// decide returns who gets r's turn, as nth has it, -1 if it is no other.
func (s *scheduler) decide(r *runner) int {
	if s.plan != nil {
		return s.planned(r)
	}
	n := len(s.turns) + s.adrift()
	if r.notBefore > s.step {
		if i := s.timely(); i >= 0 {
			return i
		}
	}
	if n == 0 || s.random.IntN(switchOdds) > 0 {
		return -1
	}
	i := s.random.IntN(n)
	if i < len(s.turns) && s.turns[i].notBefore > s.step {
		return -1
	}
	return i
}

// planned returns the choice of the plan at r's operation, as nth has it, -1 if there is none.
func (s *scheduler) planned(r *runner) int {
	for i := range min(s.survey, 1) * (len(s.turns) + s.adrift()) {
		s.offered++
		o := Switch{at: s.now(r), to: s.nth(i)}
		if len(s.options) < s.survey {
			s.options = append(s.options, o)
		} else if at := s.random.IntN(s.offered); at < s.survey {
			s.options[at] = o
		}
	}
	c, ok := s.plan[s.now(r)]
	switch {
	case !ok:
		return -1
	case c.copy > 0:
		i := slices.IndexFunc(s.copies, func(f *flight) bool { return f.choice == c })
		if i >= 0 {
			i += len(s.turns)
		}
		return i
	}
	return slices.IndexFunc(s.turns, func(r *runner) bool { return r.number == c.runner })
}

// nth returns a choice out of the turns, and behind them the copies.
func (s *scheduler) nth(i int) choice {
	if n := len(s.turns); i >= n {
		return s.copies[i-n].choice
	}
	return choice{runner: s.turns[i].number}
}

// take takes the runner number i out of those who get the turn.
func (s *scheduler) take(i int) *runner {
	r := s.turns[i]
	s.turns = slices.Delete(s.turns, i, i+1)
	return r
}

// handOver gives r's turn to next and waits for another.
func (s *scheduler) handOver(r, next *runner) {
	if next == r {
		return
	}
	s.give(next)
	<-r.wake
	r.turn = r.steps
}

// block gives r's turn to another and returns when r has been made ready and has got it
// again, or when the launch stops.
func (s *scheduler) block(r *runner) {
	s.tick(r)
	if next := s.pick(r, "waiting in"); next != nil {
		s.handOver(r, next)
	}
}

// doze is block with a time after which r goes on in any case.
func (s *scheduler) doze(r *runner) {
	s.dozing = append(s.dozing, r)
	s.block(r)
}

// pass lets others go on, or a copy land, while r finds nothing to do.
func (s *scheduler) pass(r *runner) {
	r.turn = r.steps
	if len(s.turns)+len(s.copies) == 0 {
		return
	}
	s.tick(r)
	s.turns = append(s.turns, r)
	if len(s.turns) == 1 {
		s.land(0)
	}
	s.handOver(r, s.take(0))
}

// pick returns who gets the turn of r, which cannot go on. It lets copies land until there
// is somebody; if the launch stops, r itself ends first.
func (s *scheduler) pick(r *runner, how string) *runner {
	for {
		if r != nil && s.launch.stopped() {
			return nil
		}
		if len(s.turns)+len(s.copies) == 0 {
			if len(s.dozing) == 0 {
				return nil
			}
			next := s.dozing[0]
			s.dozing = s.dozing[1:]
			return next
		}
		i, n := 0, len(s.turns)
		switch {
		case s.plan != nil:
			i = max(0, s.planned(r))
		case n > 0:
			i = s.random.IntN(n + s.adrift())
			if i < n && s.turns[i].notBefore > s.step {
				if at := s.timely(); at >= 0 {
					i = at
				}
			}
		default:
			i = s.random.IntN(len(s.copies))
		}
		if i > 0 {
			s.note(r, how, i)
		}
		if i < n {
			return s.take(i)
		}
		s.land(i - n)
		s.tick(r)
	}
}

// leave gives the turn of r, which has ended, to another.
func (s *scheduler) leave(r *runner) {
	at := slices.Index(s.live, r)
	s.live = slices.Delete(s.live, at, at+1)
	s.tick(r)
	if next := s.pick(r, "ended after"); next != nil {
		s.give(next)
	} else {
		s.end()
	}
}

// end gives the turn to who was started last. When the launch stops all get it one by one,
// to end: agents before the function that started them.
func (s *scheduler) end() {
	if n := len(s.live); n > 0 {
		s.give(s.live[n-1])
	}
}
