package pipeline

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// TestRingByHand follows the barriers of a small ring step by step.
func TestRingByHand(t *testing.T) {
	const depth, ctas, consumers = 2, 2, 3
	r, err := NewRing(depth, ctas, consumers)
	if err != nil {
		t.Fatal(err)
	}
	p, c := ProducerStart(depth), ConsumerStart(depth)
	for round := range 5 {
		if !r.ProducerTryAcquire(p) {
			t.Fatalf("round %d: stage %d is not empty", round, p.Index)
		}
		// A copy may land before its CTA's expectation.
		multicast := r.Multicast(p.Index)
		if len(multicast) != ctas || &multicast[1] != r.Full(p.Index, 1) {
			t.Fatalf("round %d: Multicast is not the full barriers of stage %d", round, p.Index)
		}
		for i := range multicast {
			multicast[i].CompleteTx(8)
		}
		for cta := range ctas {
			if r.ConsumerTryWait(c, cta) {
				t.Fatalf("round %d: full for CTA %d before its producer arrived", round, cta)
			}
			r.ProducerExpect(p, cta, 8+cta)
		}
		if !r.ConsumerTryWait(c, 0) || r.ConsumerTryWait(c, 1) {
			t.Fatalf("round %d: full is %t, %t; CTA 1 misses a byte, CTA 0 none", round, r.ConsumerTryWait(c, 0),
				r.ConsumerTryWait(c, 1))
		}
		r.Full(p.Index, 1).CompleteTx(1)
		if err := r.ConsumerWait(c, 1); err != nil {
			t.Fatal(err)
		}
		again := p
		again.Advance(depth)
		for range consumers {
			if r.ProducerTryAcquire(again) {
				t.Fatalf("round %d: stage %d is empty before the last consumer let go", round, p.Index)
			}
			r.ConsumerRelease(c)
		}
		if !r.ProducerTryAcquire(again) {
			t.Fatalf("round %d: stage %d is not empty", round, p.Index)
		}
		p.Next()
		c.Next()
	}
}

// TestRingBounds asks for barriers that a ring does not have, and that are there:
// other CTAs' ones and, since the ring was larger, other stages'.
func TestRingBounds(t *testing.T) {
	const depth, ctas = 4, 2
	r, err := NewRing(2*depth, 2*ctas, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Reset(depth, ctas, 1); err != nil {
		t.Fatal(err)
	}
	panics := func(r *Ring, method string, stage, cta int, call func()) {
		t.Helper()
		want := fmt.Sprintf("pipeline: stage %d, CTA %d of a ring of %d stages and %d CTAs", stage, cta, r.Depth(),
			r.CTAs())
		if got := fmt.Sprint(thrown(call)); got != want {
			t.Errorf("%s panics with %q, want %q", method, got, want)
		}
	}
	r.Stop(nil) // or a wait for what is not there would hang
	for _, c := range [][2]int{
		{0, 5}, {1, -1}, {0, ctas}, {depth - 1, 1 << 30},
		{depth, 0}, {2*depth - 1, ctas - 1}, {-1, ctas}, {-1, 0}, {1 << 30, 0},
	} {
		stage, cta := c[0], c[1]
		s := PipelineState{Index: stage, depth: depth}
		panics(r, "Full", stage, cta, func() { r.Full(stage, cta) })
		panics(r, "ProducerExpect", stage, cta, func() { r.ProducerExpect(s, cta, 0) })
		panics(r, "ConsumerWait", stage, cta, func() { r.ConsumerWait(s, cta) })
		panics(r, "ConsumerTryWait", stage, cta, func() { r.ConsumerTryWait(s, cta) })
		if stage >= 0 && stage < depth {
			continue
		}
		panics(r, "Multicast", stage, 0, func() { r.Multicast(stage) })
		panics(r, "ProducerAcquire", stage, 0, func() { r.ProducerAcquire(s) })
		panics(r, "ProducerTryAcquire", stage, 0, func() { r.ProducerTryAcquire(s) })
		panics(r, "ConsumerRelease", stage, 0, func() { r.ConsumerRelease(s) })
	}
	for _, s := range []PipelineState{ConsumerStart(depth + 1), ProducerStart(1)} {
		want := fmt.Sprintf("pipeline: state of depth %d for a ring of %d stages", s.depth, depth)
		for method, call := range map[string]func(){
			"ProducerExpect":     func() { r.ProducerExpect(s, 0, 0) },
			"ConsumerWait":       func() { r.ConsumerWait(s, 0) },
			"ConsumerTryWait":    func() { r.ConsumerTryWait(s, 0) },
			"ProducerAcquire":    func() { r.ProducerAcquire(s) },
			"ProducerTryAcquire": func() { r.ProducerTryAcquire(s) },
			"ConsumerRelease":    func() { r.ConsumerRelease(s) },
		} {
			if got := fmt.Sprint(thrown(call)); got != want {
				t.Errorf("%s panics with %q, want %q", method, got, want)
			}
		}
	}
	var none Ring
	panics(&none, "Full of a zero ring", 0, 0, func() { none.Full(0, 0) })
	for stage := range depth {
		for cta := range ctas {
			if &r.Multicast(stage)[cta] != r.Full(stage, cta) {
				t.Errorf("stage %d: Multicast has another barrier of CTA %d than Full", stage, cta)
			}
		}
	}
}

func TestRingStop(t *testing.T) {
	r, err := NewRing(1, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if r.Err() != nil {
		t.Fatalf("fresh ring: %v", r.Err())
	}
	first := errors.New("first")
	waited := make(chan error, 2)
	full := ProducerStart(1)
	full.Next() // nobody fills the stage, so nobody empties it
	go func() { waited <- r.ConsumerWait(ConsumerStart(1), 0) }()
	go func() { waited <- r.ProducerAcquire(full) }()
	time.Sleep(2 * time.Millisecond)
	r.Stop(first)
	r.Stop(errors.New("second"))
	within(t, "a wait on a stopped ring", func() {
		for range 2 {
			if err := <-waited; err != first {
				t.Errorf("a wait returned %v, want %v", err, first)
			}
		}
	})
	if err := r.ProducerAcquire(ProducerStart(1)); err != first {
		t.Errorf("acquiring an empty stage of a stopped ring: %v, want %v", err, first)
	}
	if err := r.Reset(1, 1, 1); err != nil {
		t.Fatal(err)
	}
	if err := r.ProducerAcquire(ProducerStart(1)); err != nil {
		t.Errorf("after Reset: %v", err)
	}
	r.Stop(nil)
	if r.Err() != ErrStopped {
		t.Errorf("Stop(nil) left %v", r.Err())
	}
}

// TestRingReset grows and shrinks one ring and uses every shape.
func TestRingReset(t *testing.T) {
	noLeaks(t)
	var r Ring
	rng := random(t)
	for range 60 {
		tr := transfer{depth: 1 + rng.IntN(MaxDepth), ctas: 1 + rng.IntN(3), consumers: 1 + rng.IntN(3),
			items: rng.IntN(20)}
		if err := r.Reset(tr.depth, tr.ctas, tr.ctas*tr.consumers); err != nil {
			t.Fatal(err)
		}
		tr.check(t, context.Background(), &r)
		if err := r.Reset(0, 1, 1); err == nil {
			t.Fatal("Reset to depth 0 succeeded")
		}
	}
}
