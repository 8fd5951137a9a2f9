// Package hostile has contexts for tests that break the contract of package context
// in ways that those of programs do.
package hostile

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A Context is like one that cannot end until it turns: when it has been asked for its
// error so many times, or when Turn is called.
type Context struct {
	Kind
	left atomic.Int64
	once sync.Once
	done chan struct{}
}

// A Kind of Context.
type Kind struct {
	Name   string
	Closes bool         // its channel, when it turns
	Err    func() error // what it does when it has turned and is asked for its error
	Done   func()       // what it does when it is asked for its channel, unless nil
}

// Panic is what contexts panic with.
const Panic = "hostile: context"

// An Error cannot be compared with another.
type Error []string

// Error returns what went wrong.
func (e Error) Error() string { return e[0] }

var asked atomic.Int64

// Kinds lists them. None of them blocks.
func Kinds() []Kind {
	nothing := func() error { return nil }
	panics := func() error { panic(Panic) }
	exits := func() error { runtime.Goexit(); return nil }
	return []Kind{
		{Name: "done without an error", Closes: true, Err: nothing},
		{Name: "done, its Err panics", Closes: true, Err: panics},
		{Name: "done, its Err ends the goroutine", Closes: true, Err: exits},
		{Name: "done, its error comes and goes", Closes: true, Err: comesAndGoes},
		{Name: "an error that comes and goes", Err: comesAndGoes},
		{Name: "Err panics", Err: panics},
		{Name: "Err ends the goroutine", Err: exits},
		{Name: "Done panics", Err: nothing, Done: func() { panic(Panic) }},
	}
}

func comesAndGoes() error {
	if asked.Add(1)%2 == 0 {
		return nil
	}
	return Error{"hostile: comes and goes"}
}

// New returns a context that turns when it is asked for its error the nth time after
// so many times.
func (k Kind) New(times int) *Context {
	c := &Context{Kind: k, done: make(chan struct{})}
	c.left.Store(int64(times))
	return c
}

// Turn makes c hostile.
func (c *Context) Turn() {
	c.left.Store(0)
	if c.Closes {
		c.once.Do(func() { close(c.done) })
	}
}

// Done implements [context.Context].
func (c *Context) Done() <-chan struct{} {
	if c.Kind.Done != nil {
		c.Kind.Done()
	}
	return c.done
}

// Err implements [context.Context].
func (c *Context) Err() error {
	if c.left.Add(-1) >= 0 {
		return nil
	}
	c.Turn()
	return c.Kind.Err()
}

// Deadline implements [context.Context].
func (c *Context) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value implements [context.Context].
func (c *Context) Value(any) any { return nil }

// Nils lists contexts that are not nil, and have nothing in them.
func Nils() map[string]context.Context {
	return map[string]context.Context{
		"a nil pointer":            (*Context)(nil),
		"a struct without context": struct{ context.Context }{},
		"a nil pointer that works": (*never)(nil),
	}
}

// A never works without a receiver, and does not end.
type never struct{}

func (*never) Done() <-chan struct{}       { return nil }
func (*never) Err() error                  { return nil }
func (*never) Deadline() (time.Time, bool) { return time.Time{}, false }
func (*never) Value(any) any               { return nil }

// Outcome is how a call ended.
type Outcome struct {
	Err   error
	Panic any  // what it panicked with
	Exit  bool // it ended its goroutine
}

// Call calls f on a goroutine of its own and returns how it ended.
func Call(f func() error) (o Outcome) {
	var wg sync.WaitGroup
	wg.Go(func() {
		o.Exit = true
		defer func() {
			if o.Panic = recover(); o.Panic != nil {
				o.Exit = false
			}
		}()
		o.Err = f()
		o.Exit = false
	})
	wg.Wait()
	return o
}
