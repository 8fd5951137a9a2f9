package pipeline

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// A Role is one warp's part of a CTA: the producer, or a consumer. It returns
// when its work is done or when a wait on the ring returns an error, which it
// passes on.
type Role func(ctx context.Context, r *Ring) error

// Run executes the roles concurrently on r and returns when all have returned.
// The first role to fail, or ctx when it is done, stops the ring, which ends
// the waits of the others; Run then returns that first error, even if the roles had
// ended in the meantime. A panic in a role stops the others likewise and is raised
// again in the caller as a [*RolePanic] once every role has ended, whatever else
// failed. Run panics if r is nil.
func Run(ctx context.Context, r *Ring, roles ...Role) error {
	if r == nil {
		panic("pipeline: Run of a nil Ring")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var (
		wg       sync.WaitGroup
		mu       sync.Mutex
		first    error
		panicked *RolePanic
	)
	fail := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = err
			r.Stop(err)
			cancel(err)
		}
	}
	raise := func(p *RolePanic) {
		fail(p)
		mu.Lock()
		defer mu.Unlock()
		if panicked == nil {
			panicked = p
		}
	}
	stopped := make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() {
		fail(context.Cause(ctx))
		close(stopped)
	})
	for _, role := range roles {
		wg.Go(func() {
			returned := false
			defer func() {
				if v := recover(); v != nil {
					raise(&RolePanic{Value: v, Stack: debug.Stack()})
				} else if !returned {
					fail(errGoexit)
				}
			}()
			err := role(ctx, r)
			returned = true
			if err != nil {
				fail(err)
			}
		})
	}
	wg.Wait()
	if !unwatch() {
		<-stopped // nobody may stop the ring once its owner has it back
	}
	cancel(nil)
	if panicked != nil {
		panic(panicked)
	}
	return first
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
