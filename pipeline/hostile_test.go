package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/leafhopper/internal/hostile"
)

// ends reports whether a run may end like o because of a hostile context.
func ends(kind hostile.Kind, o hostile.Outcome) bool {
	var strange hostile.Error
	p, _ := o.Panic.(*RolePanic)
	switch {
	case p != nil:
		return p.Value == hostile.Panic && strings.Contains(string(p.Stack), "hostile")
	case o.Panic != nil:
		return o.Panic == hostile.Panic && kind.Done != nil
	default:
		return errors.Is(o.Err, context.Canceled) || errors.As(o.Err, &strange) || errors.Is(o.Err, errGoexit)
	}
}

// TestRunHostile runs roles that only the end of the context ends, with contexts of
// every kind that end before and while they run.
func TestRunHostile(t *testing.T) {
	noLeaks(t)
	for _, kind := range hostile.Kinds() {
		for _, early := range []bool{true, false} {
			if !kind.Closes && kind.Done == nil {
				continue // nobody asks Err before the channel is closed
			}
			ctx := kind.New(0)
			if early {
				ctx.Turn()
			} else {
				time.AfterFunc(time.Millisecond, ctx.Turn)
			}
			tr := endless(2, 2, 2)
			r, err := NewRing(tr.depth, tr.ctas, tr.ctas*tr.consumers)
			if err != nil {
				t.Fatal(err)
			}
			var o hostile.Outcome
			within(t, kind.Name, func() {
				o = hostile.Call(func() error { return Run(ctx, r, tr.roles()...) })
			})
			if !ends(kind, o) {
				t.Errorf("%s, early %t: error %v, panic %v, exit %t", kind.Name, early, o.Err, o.Panic, o.Exit)
			}
		}
	}
	for name, ctx := range hostile.Nils() {
		r, err := NewRing(1, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		ran := false
		o := hostile.Call(func() error {
			return Run(ctx, r, func(context.Context, *Ring) error { ran = true; return nil })
		})
		works := strings.HasSuffix(name, "works")
		if works != ran || works && o != (hostile.Outcome{}) || !works && o.Panic == nil {
			t.Errorf("%s: the role ran: %t, error %v, panic %v", name, ran, o.Err, o.Panic)
		}
	}
}

// TestRunContextOfRoles checks that roles see the deadline and the values of the
// context, and its end as their own.
func TestRunContextOfRoles(t *testing.T) {
	type key struct{}
	r, err := NewRing(1, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
	ctx, stop := context.WithDeadline(ctx, time.Now().Add(time.Hour))
	defer stop()
	want, _ := ctx.Deadline()
	err = Run(ctx, r, func(ctx context.Context, _ *Ring) error {
		if got, ok := ctx.Deadline(); !ok || got != want || ctx.Value(key{}) != "value" || ctx.Err() != nil {
			t.Errorf("the role has deadline %v, value %v, error %v", got, ctx.Value(key{}), ctx.Err())
		}
		child, stop := context.WithCancel(ctx)
		defer stop()
		cancel(boom)
		<-child.Done()
		if context.Cause(child) != boom || ctx.Err() != context.Canceled {
			t.Errorf("the role's context ends with %v, cause %v", ctx.Err(), context.Cause(child))
		}
		return nil
	})
	if !errors.Is(err, boom) {
		t.Errorf("%v, want %v", err, boom)
	}
}

// TestTasksHostile runs a grid and slabs under contexts of every kind, and after each one without.
func TestTasksHostile(t *testing.T) {
	noLeaks(t)
	c := eager(3)
	defer c.Close()
	run := func(kind hostile.Kind, what string, task Task, workers int) (ended bool) {
		var o hostile.Outcome
		within(t, what, func() {
			o = hostile.Call(func() error { c.Run(task, workers); return nil })
			if !o.Exit && o.Panic == nil {
				o = hostile.Call(task.Err)
			}
		})
		_, raised := o.Panic.(*RolePanic)
		if o != (hostile.Outcome{}) && !o.Exit && !raised && !ends(kind, o) {
			t.Errorf("%s: error %v, panic %v, exit %t", what, o.Err, o.Panic, o.Exit)
		}
		return o == hostile.Outcome{}
	}
	var g Grid
	var s Slabs
	shape := Shape{Depth: 2, Items: 30, CTAs: 2, Slabs: 3, Private: 1, Shared: 1}
	const slabs = 12
	for _, kind := range hostile.Kinds() {
		for _, asked := range []int{0, 1, 2, 3, 5, 8, 20} {
			for workers := 1; workers <= 4; workers++ {
				what := kind.Name + ", " + describe(shape, workers)
				prog := newRecorder(shape)
				if err := g.Reset(kind.New(asked), shape, prog, workers); err != nil {
					t.Fatal(err)
				}
				ended := run(kind, what, &g, workers)
				prog.check(t, what, !ended)

				p := &counted{counts: make([]int, slabs)}
				if err := s.Reset(kind.New(asked), slabs, p, workers); err != nil {
					t.Fatal(err)
				}
				what = fmt.Sprintf("%s, %d slabs, %d workers", kind.Name, slabs, workers)
				if run(kind, what, &s, workers) {
					p.check(t, what)
				}
			}
		}
		complete(t, c, &g, shape, 4)
		completeSlabs(t, c, &s, slabs, 4)
	}
}
