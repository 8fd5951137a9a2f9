package pipeline

import (
	"context"
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
// the waits of the others; Run then returns that first error. A panic in a role
// stops the others likewise and is raised again in the caller as a
// [*RolePanic] once every role has ended.
func Run(ctx context.Context, r *Ring, roles ...Role) error {
	ctx, cancel := context.WithCancelCause(ctx)
	unwatch := context.AfterFunc(ctx, func() { r.Stop(context.Cause(ctx)) })
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		first error
	)
	fail := func(err error) {
		mu.Lock()
		if first == nil {
			first = err
		}
		mu.Unlock()
		cancel(err)
		r.Stop(err)
	}
	for _, role := range roles {
		wg.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					fail(&RolePanic{Value: v, Stack: debug.Stack()})
				}
			}()
			if err := role(ctx, r); err != nil {
				fail(err)
			}
		})
	}
	wg.Wait()
	unwatch()
	cancel(nil)
	if p, ok := first.(*RolePanic); ok {
		panic(p)
	}
	return first
}

// RolePanic is the value with which a role's panic is raised again in the
// goroutine that owns the role.
type RolePanic struct {
	Value any    // what the role panicked with
	Stack []byte // the role's stack
}

func (p *RolePanic) Error() string {
	return fmt.Sprintf("pipeline: role panicked: %v\n\n%s", p.Value, p.Stack)
}

// Unwrap returns the panic's value if it was an error.
func (p *RolePanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}
