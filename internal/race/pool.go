package race

import "sync"

// A Pool is a sync.Pool of memory that a call works in. To the race detector what is taken from one comes after what
// has been put there; so that it does not take that for an order of the callers, with it every call gets new memory.
type Pool[T any] struct{ pool sync.Pool }

// Get returns a T, which may hold anything.
func (p *Pool[T]) Get() *T {
	if !Enabled {
		if x, ok := p.pool.Get().(*T); ok {
			return x
		}
	}
	return new(T)
}

// Put gives back what Get has returned.
func (p *Pool[T]) Put(x *T) {
	if !Enabled {
		p.pool.Put(x)
	}
}
