package gemm

import (
	"context"
	"runtime"
	"testing"
	"time"

	"example.com/leafhopper/internal/hostile"
)

// TestAdmitHostile has calls with hostile contexts wait for a ring while another has the
// only one. Whatever ends the wait, no admission is given back that was not got.
func TestAdmitHostile(t *testing.T) {
	e := newEngine(settings{alpha: 1})
	e.admit = make(chan struct{}, 1)
	held, err := e.begin(&settings{})
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
			o := hostile.Call(func() (err error) { r, err = e.begin(&settings{ctx: ctx}); return err })
			if r != nil || o == (hostile.Outcome{}) || len(e.admit) != 1 {
				t.Errorf("%s: run %p, outcome %v, %d calls are admitted, want no run, an end and 1 call",
					kind.Name, r, o, len(e.admit))
			}
		}
	}
	e.end(held)
	if err := e.Close(); err != nil || len(e.admit) != 0 {
		t.Errorf("Close: %v, and %d calls are still admitted", err, len(e.admit))
	}
}

// TestAdmit has calls wait for a ring while another has the only one: the end of a
// context ends the wait, and after Close there is nothing to wait for.
func TestAdmit(t *testing.T) {
	e := newEngine(settings{alpha: 1})
	e.admit = make(chan struct{}, 1)
	r, err := e.begin(&settings{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	refused := make(chan error)
	begin := func(s settings) {
		_, err := e.begin(&s)
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
	e.end(r)
	if err := <-refused; err != ErrClosed {
		t.Errorf("a call that waits while the engine is closed: %v, want %v", err, ErrClosed)
	}
	if err := <-closed; err != nil || len(e.admit) != 0 {
		t.Errorf("Close: %v, and %d calls are still admitted", err, len(e.admit))
	}
}
