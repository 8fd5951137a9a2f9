package pipeline

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"example.com/leafhopper/internal/ended"
)

// A Role is one warp's part of a CTA: the producer, or a consumer. It returns
// when its work is done or when a wait on the ring returns an error, which it
// passes on. The ring is the one that Run was given, as the role sees it: what waits
// there is known to be the role.
type Role func(ctx context.Context, r *Ring) error

// Run executes the roles concurrently on r and returns when all have returned.
// The first role to fail, or ctx when it is done, stops the ring, which ends the waits
// of the others. The error is that of the first role to fail, joined with what others
// returned but the ring's error, or an [*Interrupted] if ctx was the first, even if the
// roles had ended in the meantime. A panic in a role, or in a method of ctx, stops the
// others likewise and is raised again in the caller as a [*RolePanic] once every role has
// ended, whatever else failed. Run panics if r is nil.
func Run(ctx context.Context, r *Ring, roles ...Role) error {
	if r == nil {
		panic("pipeline: Run of a nil Ring")
	}
	done := ctx.Done()
	inner, cancel := context.WithCancelCause(detached{ctx})
	n := run{ring: r, cancel: cancel, members: make([]member, len(roles))}
	var work, watch sync.WaitGroup
	for i, role := range roles {
		m := &n.members[i]
		m.role = role
		m.ring.see(r)
		work.Go(func() {
			m.err = n.guard(func() error { return role(inner, &m.ring) })
			m.returned.Store(true)
		})
	}
	over := make(chan struct{})
	watch.Go(func() {
		n.guard(func() error {
			select {
			case <-done:
				n.interrupt(ctx)
			case <-over:
			}
			return nil
		})
	})
	work.Wait()
	close(over)
	watch.Wait() // nobody may stop the ring once its owner has it back
	cancel(nil)
	if n.panicked != nil {
		panic(n.panicked)
	}
	return n.result()
}

// A detached context has the values and the deadline of another, and does not end with
// it: package context would ask the other why it has ended on a goroutine of its own,
// where nobody could recover a panic.
type detached struct{ context.Context }

func (detached) Done() <-chan struct{} { return nil }
func (detached) Err() error            { return nil }

// run is what the goroutines of a Run share.
type run struct {
	ring    *Ring
	cancel  context.CancelCauseFunc
	members []member

	mu          sync.Mutex
	first       error
	panicked    *RolePanic
	interrupted *Interrupted // if the context was the first to end
}

// A member is a role in a run.
type member struct {
	role     Role
	ring     Ring
	returned atomic.Bool
	err      error
}

// fail stops the ring because of err, and reports whether nothing has failed before.
func (n *run) fail(err error) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.first != nil {
		return false
	}
	n.first = err
	n.ring.Stop(err)
	n.cancel(err)
	return true
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

// interrupt is fail for the end of ctx.
func (n *run) interrupt(ctx context.Context) {
	e := n.where() // before the stop, which changes it
	e.Err = ended.Why(ctx)
	if e.Cause = context.Cause(ctx); e.Cause == nil {
		e.Cause = e.Err
	}
	if n.fail(e.Cause) {
		n.interrupted = e
	}
}

// guard calls f, which belongs to a goroutine of the run, and returns how it failed.
func (n *run) guard(f func() error) (err error) {
	returned := false
	defer func() {
		if v := recover(); v != nil {
			n.raise(&RolePanic{Value: v, Stack: debug.Stack()})
		} else if !returned {
			err = errGoexit
			n.fail(err)
		}
	}()
	err = f()
	returned = true
	if err != nil {
		n.fail(err)
	}
	return err
}

// result returns the error of a run whose goroutines have ended.
func (n *run) result() error {
	errs := []error{n.first}
	for i := range n.members {
		err := n.members[i].err
		if err == nil || same(err, n.first) {
			continue
		}
		errs = append(errs, err)
		if n.interrupted != nil {
			n.interrupted.Roles[i].Err = err
		}
	}
	switch {
	case n.interrupted != nil:
		return n.interrupted
	case len(errs) == 1:
		return n.first
	}
	return errors.Join(errs...)
}

// same reports whether a is b, as errors that cannot be compared never are.
func same(a, b error) bool { return reflect.ValueOf(a).Comparable() && a == b }

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
