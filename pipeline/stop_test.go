package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"
)

// endless is a transfer that only a stop ends.
func endless(depth, ctas, consumers int) *transfer {
	return &transfer{depth: depth, ctas: ctas, consumers: consumers, items: math.MaxInt}
}

// sabotage replaces role number n by one that ends with f once it has passed some
// waits: the ring is then stuck, because its part is never done again.
func sabotage(tr *transfer, n, waits int, f func() error) Role {
	short := *tr
	short.items = waits
	cta, member := n/(1+tr.consumers), n%(1+tr.consumers)
	role := short.consumer(cta)
	if member == 0 {
		role = short.producer(cta)
	}
	return func(ctx context.Context, r *Ring) error {
		if err := role(ctx, r); err != nil {
			return err
		}
		return f()
	}
}

// TestRunStops ends runs by an error, a panic and a Goexit of a random role
// and by the context, at random moments, and then uses the ring again.
func TestRunStops(t *testing.T) {
	noLeaks(t)
	rng := random(t)
	boom := errors.New("boom")
	var r Ring
	for i := range 240 {
		tr := endless(1+rng.IntN(MaxDepth), 1+rng.IntN(3), 1+rng.IntN(3))
		if err := r.Reset(tr.depth, tr.ctas, tr.ctas*tr.consumers); err != nil {
			t.Fatal(err)
		}
		roles := tr.roles()
		ctx, cancel := context.WithCancelCause(context.Background())
		victim, waits := rng.IntN(len(roles)), rng.IntN(2*tr.depth)
		want := boom
		kind := []string{"error", "panic", "Goexit", "cancel"}[i%4]
		switch kind {
		case "error":
			roles[victim] = sabotage(tr, victim, waits, func() error { return boom })
		case "panic":
			roles[victim] = sabotage(tr, victim, waits, func() error { panic(boom) })
		case "Goexit":
			want = errGoexit
			roles[victim] = sabotage(tr, victim, waits, func() error { runtime.Goexit(); return nil })
		case "cancel":
			time.AfterFunc(time.Duration(rng.IntN(300))*time.Microsecond, func() { cancel(boom) })
		}
		what := fmt.Sprintf("%s in role %d of depth %d, %d CTAs, %d consumers after %d waits", kind, victim, tr.depth,
			tr.ctas, tr.consumers, waits)
		within(t, what, func() {
			v := thrown(func() {
				if err := Run(ctx, &r, roles...); err != want && !(kind == "cancel" && errors.Is(err, want)) {
					t.Errorf("%s: Run returned %v, want %v", what, err, want)
				}
			})
			p, ok := v.(*RolePanic)
			switch {
			case kind != "panic":
				if v != nil {
					t.Errorf("%s: Run panicked with %v", what, v)
				}
			case !ok || p.Value != boom || !errors.Is(p, boom):
				t.Errorf("%s: Run panicked with %v, want a RolePanic of %v", what, v, boom)
			case !strings.Contains(string(p.Stack), "TestRunStops") ||
				!strings.Contains(p.Error(), "pipeline: role panicked: boom"):
				t.Errorf("%s: the panic does not tell where it comes from: %v", what, p)
			}
		})
		if err := r.Err(); !errors.Is(err, want) {
			t.Errorf("%s: the ring's error is %v, want %v", what, err, want)
		}
		cancel(nil)
		good := transfer{depth: tr.depth, ctas: tr.ctas, consumers: tr.consumers, items: 2 * tr.depth}
		if err := r.Reset(good.depth, good.ctas, good.ctas*good.consumers); err != nil {
			t.Fatal(err)
		}
		good.check(t, context.Background(), &r)
	}
}

// TestRunLetsGo looks for a stop that reaches the ring after Run has returned,
// when its owner may have reset it.
func TestRunLetsGo(t *testing.T) {
	noLeaks(t)
	boom := errors.New("boom")
	var r Ring
	for range 300 {
		if err := r.Reset(1, 1, 1); err != nil {
			t.Fatal(err)
		}
		if err := Run(context.Background(), &r, func(context.Context, *Ring) error { return boom }); err != boom {
			t.Fatal(err)
		}
		if err := r.Reset(1, 1, 1); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			runtime.Gosched()
		}
		if err := r.Err(); err != nil {
			t.Fatalf("the ring was stopped after Run had returned: %v", err)
		}
	}
}

// TestRunFirstError has all roles fail at once: Run and the ring must agree, and no
// error is lost.
func TestRunFirstError(t *testing.T) {
	for range 100 {
		r, err := NewRing(1, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		var (
			roles []Role
			errs  []error
		)
		for i := range 8 {
			errs = append(errs, fmt.Errorf("role %d", i))
			roles = append(roles, func(context.Context, *Ring) error { return errs[i] })
		}
		err = Run(context.Background(), r, roles...)
		if err == nil || !strings.HasPrefix(err.Error(), r.Err().Error()) {
			t.Fatalf("Run returned %v, the ring %v", err, r.Err())
		}
		for _, want := range errs {
			if !errors.Is(err, want) || strings.Count(err.Error(), want.Error()) != 1 {
				t.Fatalf("Run returned %v, which does not have %v once", err, want)
			}
		}
	}
}

// TestRunPanicIsNotSwallowed has a role panic after another has failed.
func TestRunPanicIsNotSwallowed(t *testing.T) {
	r, err := NewRing(1, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	v := thrown(func() {
		_ = Run(context.Background(), r,
			func(context.Context, *Ring) error { return boom },
			func(ctx context.Context, _ *Ring) error { <-ctx.Done(); panic("later") })
	})
	if p, ok := v.(*RolePanic); !ok || p.Value != "later" || p.Unwrap() != nil {
		t.Errorf("Run panicked with %v, want a RolePanic of later", v)
	}
	if r.Err() != boom {
		t.Errorf("the ring's error is %v, want %v", r.Err(), boom)
	}
}

// TestRunPanicIsAnError has a role return the panic of another Run's role as an error,
// which no role of this one has raised.
func TestRunPanicIsAnError(t *testing.T) {
	r, err := NewRing(1, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	other := &RolePanic{Value: "elsewhere"}
	v := thrown(func() {
		err = Run(context.Background(), r, func(context.Context, *Ring) error { return other })
	})
	if v != nil || err != other || r.Err() != other {
		t.Errorf("Run panicked with %v, returned %v, the ring's error is %v; want no panic and the role's error", v,
			err, r.Err())
	}
}

// TestRunCancelled starts with a context that is done.
func TestRunCancelled(t *testing.T) {
	noLeaks(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 50 {
		tr := endless(2, 2, 2)
		r, err := NewRing(tr.depth, tr.ctas, tr.ctas*tr.consumers)
		if err != nil {
			t.Fatal(err)
		}
		within(t, "Run with a cancelled context", func() { err = Run(ctx, r, tr.roles()...) })
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("%v, want %v", err, context.Canceled)
		}
	}
}

// TestRunCancelledFirst has a context end before a role fails, or returns nil: Run and
// the ring must agree that the context was the first, and the role's error is not lost.
func TestRunCancelledFirst(t *testing.T) {
	for _, role := range []error{errors.New("my cleanup failed"), nil} {
		r, err := NewRing(1, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		within(t, "Run", func() {
			err = Run(ctx, r, func(context.Context, *Ring) error {
				cancel()
				for r.Err() == nil {
					time.Sleep(time.Millisecond / 10)
				}
				return role
			})
		})
		if !errors.Is(err, context.Canceled) || role != nil && !errors.Is(err, role) || r.Err() != context.Canceled {
			t.Errorf("the role returns %v: Run returned %v, the ring %v, want %v", role, err, r.Err(), context.Canceled)
		}
	}
}

// TestRunNilRing checks that a nil ring is the caller's panic and nobody else's.
func TestRunNilRing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if v := thrown(func() { _ = Run(ctx, nil) }); v != "pipeline: Run of a nil Ring" {
		t.Errorf("Run panicked with %v", v)
	}
}

// TestRunRoleSeesContext checks that roles which wait elsewhere learn of a
// failure too.
func TestRunRoleSeesContext(t *testing.T) {
	r, err := NewRing(1, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	within(t, "Run", func() {
		err = Run(context.Background(), r,
			func(ctx context.Context, _ *Ring) error { <-ctx.Done(); return context.Cause(ctx) },
			func(context.Context, *Ring) error { return boom })
	})
	if err != boom {
		t.Errorf("%v, want %v", err, boom)
	}
}
