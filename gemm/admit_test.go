package gemm

import (
	"context"
	"runtime"
	"testing"
	"time"

	"example.com/leafhopper/internal/hostile"
)

// narrowEngine returns an engine that admits one long call and one brief one at once.
func narrowEngine() *Engine {
	e := newEngine(settings{alpha: 1})
	e.admit = [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}
	return e
}

// TestBriefGoesAhead has a call of few multiply-adds computed while long ones, which wait for each other, have no turn.
func TestBriefGoesAhead(t *testing.T) {
	e := narrowEngine()
	held, err := e.begin(&settings{}, e.admit[0])
	if err != nil {
		t.Fatal(err)
	}
	wide := NewMatrix[float32](1024, 1024)
	multiply := func(rows int, limit time.Duration) (Stats, float32, error) {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		var st Stats
		c := NewMatrix[float32](rows, 1024)
		c.Data[0] = 1
		err := e.Multiply(c, NewMatrix[float32](rows, 1024), wide, WithContext(ctx), WithStats(&st), WithDepth(1))
		return st, c.Data[0], err
	}
	if st, first, err := multiply(4, time.Minute); err != nil || first != 0 || st.Route == "caller" {
		t.Errorf("a brief call: %v, C holds %v, %v", err, first, st)
	}
	if st, first, err := multiply(1025, time.Millisecond); err != context.DeadlineExceeded || first != 1 {
		t.Errorf("a long call: %v, C holds %v, %v", err, first, st)
	}
	e.end(held, e.admit[0])
	if !testing.Short() { // it takes long in plain Go
		if _, first, err := multiply(1025, time.Minute); err != nil || first != 0 {
			t.Errorf("a long call that has its turn: %v, C holds %v", err, first)
		}
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// TestAdmitHostile has calls with hostile contexts wait for a ring while another has the
// only one. Whatever ends the wait, no admission is given back that was not got.
func TestAdmitHostile(t *testing.T) {
	e := narrowEngine()
	turns := e.admit[0]
	held, err := e.begin(&settings{}, turns)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range hostile.Kinds() {
		if !kind.Closes && kind.Done == nil {
			continue // would wait until the ring is free, as it should
		}
		for _, early := range []bool{true, false} {
			ctx := kind.New(0)
			if early {
				ctx.Turn()
			} else {
				time.AfterFunc(time.Millisecond, ctx.Turn)
			}
			var r *run
			o := hostile.Call(func() (err error) { r, err = e.begin(&settings{ctx: ctx}, turns); return err })
			if r != nil || o == (hostile.Outcome{}) || len(turns) != 1 {
				t.Errorf("%s: run %p, outcome %v, %d calls are admitted, want no run, an end and 1 call",
					kind.Name, r, o, len(turns))
			}
		}
	}
	e.end(held, turns)
	if err := e.Close(); err != nil || len(turns) != 0 {
		t.Errorf("Close: %v, and %d calls are still admitted", err, len(turns))
	}
}

// TestAdmit has calls wait for a ring while another has the only one: the end of a
// context ends the wait, and after Close there is nothing to wait for.
func TestAdmit(t *testing.T) {
	e := narrowEngine()
	turns := e.admit[0]
	r, err := e.begin(&settings{}, turns)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	refused := make(chan error)
	begin := func(s settings) {
		_, err := e.begin(&s, turns)
		refused <- err
	}
	go begin(settings{ctx: ctx})
	cancel()
	if err := <-refused; err != context.Canceled {
		t.Errorf("a call whose context ends while it waits: %v, want %v", err, context.Canceled)
	}
	go begin(settings{})
	closed := make(chan error)
	go func() { closed <- e.Close() }()
	for !e.closed.Load() {
		runtime.Gosched()
	}
	e.end(r, turns)
	if err := <-refused; err != ErrClosed {
		t.Errorf("a call that waits while the engine is closed: %v, want %v", err, ErrClosed)
	}
	if err := <-closed; err != nil || len(turns) != 0 {
		t.Errorf("Close: %v, and %d calls are still admitted", err, len(turns))
	}
}
