package pipeline

import (
	"context"
	"fmt"
	"testing"

	"example.com/leafhopper/barrier"
)

func TestRingConfig(t *testing.T) {
	if r, err := NewRing(0, 1, 1); r != nil || err == nil {
		t.Errorf("a ring of depth 0: %v, error %v", r, err)
	}
	good := RingConfig{Depth: 1, CTAs: 1, Producers: 1, Consumers: 1}
	for want, change := range map[string]func(c *RingConfig){
		"": func(c *RingConfig) {
			*c = RingConfig{MaxDepth, MaxCTAs, barrier.MaxCount, barrier.MaxCount, true}
		},
		"0 producers are outside 1..1048575":       func(c *RingConfig) { c.Producers = 0 },
		"-1 producers are outside 1..1048575":      func(c *RingConfig) { c.Producers = -1 },
		"1048576 producers are outside 1..1048575": func(c *RingConfig) { c.Producers = barrier.MaxCount + 1 },
		"0 consumers are outside 1..1048575":       func(c *RingConfig) { c.Consumers, c.PerCTA = 0, true },
		"1048576 consumers are outside 1..1048575": func(c *RingConfig) { c.Consumers = barrier.MaxCount + 1 },
		"depth 0 is outside 1..16":                 func(c *RingConfig) { c.Depth = 0 },
		"depth -1 is outside 1..16":                func(c *RingConfig) { c.Depth = -1 },
		"depth 17 is outside 1..16":                func(c *RingConfig) { c.Depth = MaxDepth + 1 },
		"0 CTAs are outside 1..16":                 func(c *RingConfig) { c.CTAs = 0 },
		"17 CTAs are outside 1..16":                func(c *RingConfig) { c.CTAs, c.PerCTA = MaxCTAs+1, true },
	} {
		c := good
		change(&c)
		r, err := NewRing(2, 3, 4)
		if err != nil {
			t.Fatal(err)
		}
		err = r.Configure(c)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != "pipeline: "+want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
		if kept := r.Depth() == 2 && r.CTAs() == 3 && r.Empty(1, 2).State().Expected == 4; kept != (err != nil) {
			t.Errorf("%+v, error %v: the ring of before is there: %t", c, err, kept)
		}
	}
}

// TestRingPerCTA follows the empty barriers of a ring in which every CTA has its own.
func TestRingPerCTA(t *testing.T) {
	const depth, ctas = 2, 3
	var r Ring
	if err := r.Configure(RingConfig{Depth: depth, CTAs: ctas, Producers: 2, Consumers: 2, PerCTA: true}); err != nil {
		t.Fatal(err)
	}
	seen := map[*barrier.Barrier]bool{}
	for stage := range depth {
		for cta := range ctas {
			seen[r.Empty(stage, cta)], seen[r.Full(stage, cta)] = true, true
			if got := r.Full(stage, cta).State().Expected; got != 2 {
				t.Errorf("the full barrier of stage %d, CTA %d expects %d arrivals, want 2", stage, cta, got)
			}
		}
	}
	if len(seen) != 2*depth*ctas {
		t.Errorf("%d barriers, want %d", len(seen), 2*depth*ctas)
	}
	c, again := ConsumerStart(depth), ProducerStart(depth)
	again.Advance(depth)
	empty := func() (free [ctas]bool) {
		for cta := range ctas {
			free[cta] = r.ProducerTryAcquire(again, cta)
		}
		return free
	}
	r.ConsumerRelease(c)
	r.ConsumerRelease(c, 0, 2)
	all, two := r.ProducerTryAcquire(again), r.ProducerTryAcquire(again, 2, 1)
	if got := empty(); got != [ctas]bool{true, false, true} || all || two {
		t.Errorf("empty for %v, for all: %t, for 2 and 1: %t", got, all, two)
	}
	r.ConsumerRelease(c, 1)
	if err := r.ProducerAcquire(again); err != nil || empty() != [ctas]bool{true, true, true} {
		t.Errorf("empty for %v, want all; %v", empty(), err)
	}
	if err := r.Reset(depth, ctas, 1); err != nil {
		t.Fatal(err)
	}
	r.ConsumerRelease(c, 0, 1, 2) // one barrier, one arrival
	one := r.Empty(0, 0)
	if got := empty(); got != [ctas]bool{true, true, true} || one != r.Empty(0, 2) || one.State().Phase != 1 {
		t.Errorf("with one empty barrier: empty for %v, %v", got, r.Empty(0, 0))
	}
}

// slots are the payload of rings, plain memory so that the race detector sees a wait that
// orders too little.
type slots [][]int // [stage*ctas + cta][part]

func newSlots(n, parts int) slots {
	s := make(slots, n)
	for i := range s {
		s[i] = make([]int, parts)
	}
	return s
}

// holds returns an error unless every part of a slot is that of item.
func (s slots) holds(slot, item int) error {
	for part, got := range s[slot] {
		if want := item*100 + part; got != want {
			return fmt.Errorf("item %d, slot %d, part %d: %d, want %d", item, slot, part, got, want)
		}
	}
	return nil
}

// finish runs the roles on a ring of c.
func finish(t *testing.T, c RingConfig, roles ...Role) {
	t.Helper()
	noLeaks(t)
	var r Ring
	if err := r.Configure(c); err != nil {
		t.Fatal(err)
	}
	var err error
	within(t, fmt.Sprintf("%+v", c), func() { err = Run(t.Context(), &r, roles...) })
	if err != nil {
		t.Error(err)
	}
}

const usersItems, usersBytes = 40, 16

// TestEverybodyArrives has all threads of the block arrive at both barriers: consumers at
// full ones too, the producer at empty ones, which consumers arrive at before they begin.
func TestEverybodyArrives(t *testing.T) {
	const depth, warpgroups, threads = 5, 2, 128
	mem := newSlots(depth, 1)
	roles := []Role{func(_ context.Context, r *Ring) error {
		for s := ConsumerStart(depth); s.Count < usersItems; s.Next() { // phase 0 empties a stage for the first time
			r.Empty(s.Index, 0).Arrive()
			if err := r.ProducerAcquire(s); err != nil {
				return err
			}
			mem[s.Index][0] = s.Count * 100
			r.Full(s.Index, 0).CompleteTx(usersBytes)
			r.ProducerExpect(s, 0, usersBytes)
		}
		return nil
	}}
	for range warpgroups {
		roles = append(roles, func(_ context.Context, r *Ring) error {
			for stage := range depth {
				r.Empty(stage, 0).ArriveN(threads)
			}
			for s := ConsumerStart(depth); s.Count < usersItems; s.Next() {
				r.Full(s.Index, 0).ArriveN(threads)
				if err := r.ConsumerWait(s, 0); err != nil {
					return err
				}
				if err := mem.holds(s.Index, s.Count); err != nil {
					return err
				}
				r.Empty(s.Index, 0).ArriveN(threads)
			}
			return nil
		})
	}
	n := warpgroups*threads + 1
	finish(t, RingConfig{Depth: depth, CTAs: 1, Producers: n, Consumers: n}, roles...)
}

// TestPartitioned has several producer threads fill a stage together.
func TestPartitioned(t *testing.T) {
	const depth, producers, consumers = 3, 3, 2
	mem := newSlots(depth, producers)
	var roles []Role
	for part := range producers {
		roles = append(roles, func(_ context.Context, r *Ring) error {
			for s := ProducerStart(depth); s.Count < usersItems; s.Next() {
				if err := r.ProducerAcquire(s); err != nil {
					return err
				}
				mem[s.Index][part] = s.Count*100 + part
				r.ProducerExpect(s, 0, 0) // it has copied itself
			}
			return nil
		})
	}
	for range consumers {
		roles = append(roles, func(_ context.Context, r *Ring) error {
			for s := ConsumerStart(depth); s.Count < usersItems; s.Next() {
				if err := r.ConsumerWait(s, 0); err != nil {
					return err
				}
				if err := mem.holds(s.Index, s.Count); err != nil {
					return err
				}
				r.ConsumerRelease(s)
			}
			return nil
		})
	}
	finish(t, RingConfig{Depth: depth, CTAs: 1, Producers: producers, Consumers: consumers}, roles...)
}

// TestMulticastSets is a cluster of 2 x 2 CTAs of which each shares what it loads of A
// with those of its row and what it loads of B with those of its column, so that stages
// need not be empty in the fourth.
func TestMulticastSets(t *testing.T) {
	const depth, width, ctas, warpgroups = 3, 2, 4, 2
	mem := newSlots(depth*ctas, 2*width) // parts of A by column of who loads them, then those of B by row
	var roles []Role
	for cta := range ctas {
		x, y := cta%width, cta/width
		row, column := []int{y * width, y*width + 1}, []int{x, width + x}
		set := append([]int{row[1-x]}, column...)
		roles = append(roles, func(_ context.Context, r *Ring) error {
			for s := ProducerStart(depth); s.Count < usersItems; s.Next() {
				if err := r.ProducerAcquire(s, cta); err != nil {
					return err
				}
				r.ProducerExpect(s, cta, 2*width*usersBytes)
				for _, to := range row {
					mem[s.Index*ctas+to][x] = s.Count*100 + x
					r.Full(s.Index, to).CompleteTx(usersBytes)
				}
				for _, to := range column {
					mem[s.Index*ctas+to][width+y] = s.Count*100 + width + y
					r.Full(s.Index, to).CompleteTx(usersBytes)
				}
			}
			return nil
		})
		for range warpgroups {
			roles = append(roles, func(_ context.Context, r *Ring) error {
				for s := ConsumerStart(depth); s.Count < usersItems; s.Next() {
					if err := r.ConsumerWait(s, cta); err != nil {
						return err
					}
					if err := mem.holds(s.Index*ctas+cta, s.Count); err != nil {
						return fmt.Errorf("CTA %d: %w", cta, err)
					}
					r.ConsumerRelease(s, set...)
				}
				return nil
			})
		}
	}
	consumers := (2*width - 1) * warpgroups // of the CTAs that one loads for
	finish(t, RingConfig{Depth: depth, CTAs: ctas, Producers: 1, Consumers: consumers, PerCTA: true}, roles...)
}
