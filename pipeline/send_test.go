package pipeline

import (
	"math"
	"testing"

	"example.com/leafhopper/internal/spin"
)

// TestCrewSends has helpers started when calls have followed each other for long enough, and
// for the Ps that are idle.
func TestCrewSends(t *testing.T) {
	noLeaks(t)
	idle := 0
	c := NewCrew(7)
	c.idle, c.least = func() int { return idle }, math.MaxUint64/4
	gone := make(chan struct{})
	b := newBell(c)
	b.help = func() {
		<-gone
		c.helper(b)
	}
	c.bells, c.free = []*bell{b}, []*bell{b}
	var s Slabs
	if err := s.Reset(noContext, 8, working{}, 4); err != nil {
		t.Fatal(err)
	}
	check := func(what string, want int) {
		t.Helper()
		if alive, _, _ := c.count(); alive != want || (s.missing == nil) != (want == 3) {
			t.Errorf("%s: %d helpers, want %d; some are missing: %v", what, alive, want, s.missing != nil)
		}
	}
	idle = 7
	c.publish(&s, 3)
	check("a call begins", 0)
	c.send(&s.team, s.due-1)
	check("a moment too early", 0)
	idle = 0
	c.send(&s.team, s.due)
	check("no P is idle", 0)
	idle = 2
	c.send(&s.team, s.due-1)
	check("before it is time to look again", 0)
	c.send(&s.team, s.due)
	check("two Ps are idle", 2)
	idle = 7
	c.send(&s.team, s.due)
	check("all are idle", 3)
	close(gone)
	s.Work(0)
	c.retract(&s, b)
	if s.missing != nil {
		t.Error("somebody is missing when the call is over")
	}
	c.Close()
}

// TestBellSince has calls follow each other closely, or not.
func TestBellSince(t *testing.T) {
	c := NewCrew(1)
	b := newBell(c)
	c.bells, c.free, c.idle = []*bell{b}, []*bell{b}, func() int { return 0 }
	call := func(ago uint64) (follows bool) {
		t.Helper()
		var s Slabs
		if err := s.Reset(noContext, 2, working{}, 2); err != nil {
			t.Fatal(err)
		}
		b.ended = spin.Ticks() - ago
		since := b.since
		c.publish(&s, 1)
		s.Work(0)
		c.retract(&s, b)
		return b.since == since
	}
	for _, test := range []struct {
		worth, ago uint64
		follows    bool
	}{
		{0, 0, true},
		{0, 100 * wakeTicks, false},
		{3 * wakeTicks, 2 * wakeTicks, false}, // longer than it takes to wake somebody
		{0, 3 * wakeTicks / 4, false},
	} {
		b.worth.Store(test.worth)
		// A test that loses its processor in between would be a longer pause.
		ok := false
		for range 10 {
			b.worth.Store(test.worth)
			if ok = call(test.ago) == test.follows; ok {
				break
			}
		}
		if !ok {
			t.Errorf("worth %d, %d ticks ago: follows is %v", test.worth, test.ago, !test.follows)
		}
	}
}

func TestBellStay(t *testing.T) {
	for worth, want := range map[uint64]uint64{0: wakeTicks / 2, wakeTicks / 4 * 3: wakeTicks / 4 * 3,
		9 * wakeTicks: wakeTicks} {
		var b bell
		b.worth.Store(worth)
		if got := b.stay(); got != want {
			t.Errorf("worth %d: helpers stay for %d, want %d", worth, got, want)
		}
	}
}
