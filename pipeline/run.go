package pipeline

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"example.com/leafhopper/internal/ended"
)

// A Role is one warp's part of a CTA: the producer, or a consumer. It returns
// when its work is done or when a wait on the ring returns an error, which it
// passes on.
type Role func(ctx context.Context, r *Ring) error

// Run executes the roles concurrently on r and returns when all have returned.
// The first role to fail, or ctx when it is done, stops the ring, which ends
// the waits of the others; Run then returns that first error, even if the roles had
// ended in the meantime. A panic in a role, or in a method of ctx, stops the others
// likewise and is raised again in the caller as a [*RolePanic] once every role has
// ended, whatever else failed. Run panics if r is nil.
func Run(ctx context.Context, r *Ring, roles ...Role) error {
	if r == nil {
		panic("pipeline: Run of a nil Ring")
	}
	done := ctx.Done()
	inner, cancel := context.WithCancelCause(detached{ctx})
	n := run{ring: r, cancel: cancel}
	for _, role := range roles {
		n.roles.Go(func() { n.guard(func() error { return role(inner, r) }) })
	}
	over := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		n.guard(func() error {
			select {
			case <-done:
				return cause(ctx)
			case <-over:
				return nil
			}
		})
	})
	n.roles.Wait()
	close(over)
	watch.Wait() // nobody may stop the ring once its owner has it back
	cancel(nil)
	if n.panicked != nil {
		panic(n.panicked)
	}
	return n.first
}

// A detached context has the values and the deadline of another, and does not end with
// it: package context would ask the other why it has ended on a goroutine of its own,
// where nobody could recover a panic.
type detached struct{ context.Context }

func (detached) Done() <-chan struct{} { return nil }
func (detached) Err() error            { return nil }

// cause returns the cause of the end of ctx, whose Done channel was found closed.
func cause(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return ended.Why(ctx)
}

// run is what the goroutines of a Run share.
type run struct {
	ring   *Ring
	cancel context.CancelCauseFunc
	roles  sync.WaitGroup

	mu       sync.Mutex
	first    error
	panicked *RolePanic
}

// fail stops the ring because of err, if nothing has failed before.
func (n *run) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.first == nil {
		n.first = err
		n.ring.Stop(err)
		n.cancel(err)
	}
}

// raise is fail for a panic.
func (n *run) raise(p *RolePanic) {
	n.fail(p)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.panicked == nil {
		n.panicked = p
	}
}

// guard calls f, which belongs to a goroutine of the run.
func (n *run) guard(f func() error) {
	returned := false
	defer func() {
		if v := recover(); v != nil {
			n.raise(&RolePanic{Value: v, Stack: debug.Stack()})
		} else if !returned {
			n.fail(errGoexit)
		}
	}()
	err := f()
	returned = true
	if err != nil {
		n.fail(err)
	}
}

// errGoexit is the error of a role that neither returned nor panicked.
var errGoexit = errors.New("pipeline: role ended its goroutine with runtime.Goexit")

// RolePanic is the value with which a role's panic is raised again in the
// goroutine that owns the role.
type RolePanic struct {
	Value any    // what the role panicked with
	Stack []byte // the role's stack
}

// Error returns the panic's value and the role's stack.
func (p *RolePanic) Error() string {
	return fmt.Sprintf("pipeline: role panicked: %v\n\n%s", p.Value, p.Stack)
}

// Unwrap returns the panic's value if it was an error.
func (p *RolePanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}
