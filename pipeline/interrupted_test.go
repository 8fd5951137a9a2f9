package pipeline

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// stuck runs roles until each of those in waiting has waited long on what it sees of the
// ring, ends their context because of boom, and returns the report.
func stuck(t *testing.T, r *Ring, boom error, waiting []int, roles ...Role) *Interrupted {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	seen := make([]chan *Ring, len(roles))
	for i, role := range roles {
		seen[i] = make(chan *Ring, 1)
		roles[i] = func(ctx context.Context, r *Ring) error {
			seen[i] <- r
			return role(ctx, r)
		}
	}
	go func() {
		for _, i := range waiting {
			for r := <-seen[i]; r.waits.at.Load() == 0; {
				time.Sleep(time.Millisecond)
			}
		}
		cancel(boom)
	}()
	var err error
	within(t, "Run", func() { err = Run(ctx, r, roles...) })
	var e *Interrupted
	if !errors.As(err, &e) || !errors.Is(err, boom) || !errors.Is(err, context.Canceled) {
		t.Fatalf("Run returned %v, want an Interrupted that is %v and %v", err, boom, context.Canceled)
	}
	if r.Err() != boom {
		t.Errorf("the ring's error is %v, want %v", r.Err(), boom)
	}
	return e
}

// matches fails the test unless the lines of e's text are as the patterns say.
func (e *Interrupted) matches(t *testing.T, patterns ...string) {
	t.Helper()
	lines := strings.Split(e.Error(), "\n")
	for i, p := range patterns {
		if i >= len(lines) || !regexp.MustCompile("^"+p+"$").MatchString(lines[i]) {
			t.Errorf("line %d does not match %q in\n%v", i, p, e)
		}
	}
	if len(lines) != len(patterns) {
		t.Errorf("%d lines, want %d:\n%v", len(lines), len(patterns), e)
	}
}

// TestInterrupted has a producer expect more bytes than its copies bring: it is found
// where a stage does not become empty, its consumers where one does not become full.
func TestInterrupted(t *testing.T) {
	noLeaks(t)
	const depth, bytes = 3, 16384
	r, err := NewRing(depth, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	producer := func(_ context.Context, r *Ring) error {
		s := ProducerStart(depth)
		for item := 0; ; item++ {
			if err := r.ProducerAcquire(s); err != nil {
				return err
			}
			expected := bytes
			if item == 4 {
				expected += 16
			}
			r.ProducerExpect(s, 0, expected)
			r.Full(s.Index, 0).CompleteTx(bytes)
			s.Next()
		}
	}
	cleanup := errors.New("cleanup")
	consumer := func(result error) Role {
		return func(_ context.Context, r *Ring) error {
			for s := ConsumerStart(depth); ; s.Next() {
				if err := r.ConsumerWait(s, 0); err != nil {
					if result == nil {
						return err
					}
					return result
				}
				r.ConsumerRelease(s)
			}
		}
	}
	boom := errors.New("boom")
	e := stuck(t, r, boom, []int{0, 1, 2}, producer, consumer(nil), consumer(cleanup))
	e.matches(t,
		`pipeline: context canceled: boom`,
		`  role 0, pipeline\.stuck\.func\d: ProducerAcquire at interrupted_test\.go:\d+ for item 7: `+
			`empty barrier of stage 1, CTA 0, phase 1: 2 of 2 arrivals missing, 0 bytes missing`,
		`  role 1, pipeline\.stuck\.func\d: ConsumerWait at interrupted_test\.go:\d+ for item 4: `+
			`full barrier of stage 1, CTA 0, phase 1: 0 of 1 arrivals missing, 16 bytes missing`,
		`  role 2, .* 16 bytes missing; it returned: cleanup`)
	if !errors.Is(e, cleanup) {
		t.Errorf("%v is not %v", e, cleanup)
	}
	w := e.Roles[1].Wait
	if got := (Wait{Op: w.Op, Stage: w.Stage, CTA: w.CTA, Phase: w.Phase, Count: w.Count}); w.State.Pending != 0 ||
		w.State.Tx != 16 ||
		got != (Wait{Op: "ConsumerWait", Stage: 1, Phase: 1, Count: 4}) {
		t.Errorf("the consumer's wait is %+v", *w)
	}
	if e.Roles[1].Err != nil || e.Roles[2].Err != cleanup {
		t.Errorf("the consumers returned %v and %v of their own", e.Roles[1].Err, e.Roles[2].Err)
	}
}

// TestInterruptedElsewhere has a role that has returned, one that waits for something
// else than the ring, and one that waits on a ring that is no role's.
func TestInterruptedElsewhere(t *testing.T) {
	noLeaks(t)
	r, err := NewRing(1, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	r.Full(0, 1).CompleteTx(8)
	cleanup := errors.New("cleanup")
	returned := make(chan struct{})
	e := stuck(t, r, errors.New("boom"), []int{3},
		func(context.Context, *Ring) error { close(returned); return nil },
		func(ctx context.Context, _ *Ring) error { <-ctx.Done(); return fmt.Errorf("role 1: %w", cleanup) },
		func(context.Context, *Ring) error { return r.ConsumerWait(ConsumerStart(1), 0) },
		func(_ context.Context, own *Ring) error {
			<-returned
			for r.waits.at.Load() == 0 {
				time.Sleep(time.Millisecond)
			}
			return own.ConsumerWait(ConsumerStart(1), 1)
		})
	e.matches(t,
		`pipeline: context canceled: boom`,
		`  role 0, pipeline\.stuck\.func\d: had returned`,
		`  role 1, pipeline\.stuck\.func\d: was not waiting on the ring; it returned: role 1: cleanup`,
		`  role 2, pipeline\.stuck\.func\d: was not waiting on the ring`,
		`  role 3, pipeline\.stuck\.func\d: ConsumerWait at interrupted_test\.go:\d+ for item 0: `+
			`full barrier of stage 0, CTA 1, phase 0: 1 of 1 arrivals missing, 8 bytes too many`,
		`  on the ring of Run, not of a role: ConsumerWait at interrupted_test\.go:\d+ for item 0: `+
			`full barrier of stage 0, CTA 0, phase 0: 1 of 1 arrivals missing, 0 bytes missing`)
	if !errors.Is(e, cleanup) {
		t.Errorf("%v is not %v", e, cleanup)
	}
}

func neverFilled(_ context.Context, r *Ring) error { return r.ConsumerWait(ConsumerStart(1), 0) }

// TestInterruptedDeadline has the time run out.
func TestInterruptedDeadline(t *testing.T) {
	r, err := NewRing(1, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	late := errors.New("late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, late)
	defer cancel()
	within(t, "Run", func() { err = Run(ctx, r, neverFilled) })
	says := strings.Contains(fmt.Sprint(err), "role 0, pipeline.neverFilled: ")
	if !says || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, late) {
		t.Errorf("%v, want %v and %v of role neverFilled", err, context.DeadlineExceeded, late)
	}
}

// TestRunKeepsErrors has a role fail because another did.
func TestRunKeepsErrors(t *testing.T) {
	r, err := NewRing(1, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	boom, cleanup := errors.New("boom"), errors.New("cleanup")
	err = Run(t.Context(), r,
		func(context.Context, *Ring) error { return boom },
		neverFilled,
		func(ctx context.Context, r *Ring) error { return fmt.Errorf("%w: %w", cleanup, neverFilled(ctx, r)) })
	got, want := fmt.Sprint(err), "boom\ncleanup: boom"
	if got != want || !errors.Is(err, boom) || !errors.Is(err, cleanup) {
		t.Errorf("Run returned %q, want %q", got, want)
	}
}

// TestRingAllocations checks that what roles call allocates nothing.
func TestRingAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector has allocations of its own")
	}
	var r Ring
	if err := r.Configure(RingConfig{Depth: 2, CTAs: 2, Producers: 1, Consumers: 2, PerCTA: true}); err != nil {
		t.Fatal(err)
	}
	p, c := ProducerStart(2), ConsumerStart(2)
	if n := testing.AllocsPerRun(100, func() {
		for cta := range 2 {
			if err := r.ProducerAcquire(p, cta); err != nil {
				t.Fatal(err)
			}
			r.ProducerExpect(p, cta, 0)
			if err := r.ConsumerWait(c, cta); err != nil {
				t.Fatal(err)
			}
			r.ConsumerRelease(c)
		}
		p.Next()
		c.Next()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
