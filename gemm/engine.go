package gemm

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"example.com/leafhopper/internal/ended"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/pipeline"
	"example.com/leafhopper/tile"
)

// Engine multiplies matrices with its own workers, memory and default options. The package function [Multiply] uses
// one that the whole program shares. An Engine may be used by several goroutines at once: each call's own goroutine
// computes, and the engine's helpers are shared among the calls under way.
type Engine struct {
	defaults settings
	crew     *pipeline.Crew
	slots    tile.SlotPool
	admit    [2]chan struct{} // bound the runs, and so the memory, in use at once, of long calls and of brief ones

	closed atomic.Bool
	plans  plans

	mu   sync.Mutex // guards runs
	runs []*run
}

// New returns an engine whose calls have the given options unless they name others. WithWorkers bounds the goroutines
// of each call. WithContext, WithStats and WithTrace belong to a call and are refused here. It is an error, too, if
// an option is out of its range, or if the kernel that WithKernel or otherwise LEAFHOPPER_KERNEL names is unknown or
// cannot run here.
func New(opts ...Option) (*Engine, error) {
	s := settings{alpha: 1}
	if err := s.apply(opts); err != nil {
		return nil, err
	}
	for _, o := range opts {
		if name := ofCall[o.kind]; name != "" {
			return nil, fmt.Errorf("gemm: New: %s belongs to a call", name)
		}
	}
	if err := cmp.Or(s.checkKernel(), s.checkParts()); err != nil {
		return nil, err
	}
	return newEngine(s), nil
}

func newEngine(s settings) *Engine {
	limit := max(s.workers, runtime.GOMAXPROCS(0))
	return &Engine{
		defaults: s,
		crew:     pipeline.NewCrew(MaxWorkers - 1),
		admit:    [2]chan struct{}{make(chan struct{}, limit), make(chan struct{}, limit)},
	}
}

// sharedEngine is that of the package functions. Its channel must not belong to a bubble of testing/synctest, as one
// that is made by the first call may.
var sharedEngine = newEngine(settings{alpha: 1})

// Close waits for the calls under way and the helpers to end and returns the engine's memory to the system. Later
// calls fail, and so do those that still wait for their turn; a second Close fails at once. Small products, which run
// on their caller's goroutine with no memory of the engine, are not waited for.
func (e *Engine) Close() error {
	if e == nil || e.crew == nil {
		return errZero
	}
	if !e.closed.CompareAndSwap(false, true) {
		return ErrClosed
	}
	for range cap(e.admit[0]) { // until none is under way
		e.admit[0] <- struct{}{}
		e.admit[1] <- struct{}{}
	}
	for range cap(e.admit[0]) { // for who still waits
		<-e.admit[0]
		<-e.admit[1]
	}
	e.crew.Close()
	e.slots.Free()
	return nil
}

// ErrClosed is the error of every call on an [Engine] after Close, and of those that waited for their turn then.
var ErrClosed = errors.New("gemm: engine is closed")

var errZero = errors.New("gemm: nil or zero Engine; make one with New")

// turns is where a call that workers share waits for its turn. A service has some of up to 10 ms beside some that take
// seconds: the brief ones wait for each other only.
func (e *Engine) turns(flops float64) chan struct{} {
	if flops <= 1<<31 {
		return e.admit[1]
	}
	return e.admit[0]
}

// begin admits a call that workers share and returns what it runs with. Every such call waits for its turn or its
// context, so that the memory of runs stays bounded.
func (e *Engine) begin(s *settings, turns chan struct{}) (*run, error) {
	var done <-chan struct{}
	if s.ctx != nil {
		done = s.ctx.Done()
	}
	select {
	case turns <- struct{}{}:
	case <-done:
		return nil, ended.Why(s.ctx)
	}
	if e.closed.Load() {
		<-turns
		return nil, ErrClosed
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if last := len(e.runs) - 1; last >= 0 {
		r := e.runs[last]
		e.runs = e.runs[:last]
		return r, nil
	}
	return new(run), nil
}

func (e *Engine) end(r *run, turns chan struct{}) {
	e.mu.Lock()
	e.runs = append(e.runs, r)
	e.mu.Unlock()
	<-turns
}

// share computes the product with workers, as its plan says.
func (e *Engine) share(in *slab, s *settings, start time.Time) error {
	defer in.leave()
	turns := e.turns(in.Flops())
	r, err := e.begin(s, turns)
	if err != nil {
		return err
	}
	defer e.end(r, turns)
	defer r.release(&e.slots)
	g := in.plan
	st := Stats{Kernel: in.Kernel.Name, Route: g.Share.String(), Plan: g, Workers: g.Workers}
	task, err := r.start(s.ctx, &e.slots, in, &st)
	if err != nil {
		return err
	}
	s.trace.Begin(s.ctx, g.Workers)
	task.Record(s.trace)
	e.crew.Run(task, g.Workers)
	if err := task.Err(); err != nil {
		return err
	}
	if s.stats != nil {
		if in.transposed {
			st.TileM, st.TileN = st.TileN, st.TileM
		}
		w := task.Stats()
		st.ProducerWait, st.ConsumerWait, st.Copy = w.ProducerWait, w.ConsumerWait, w.Copy
		st.Elapsed = time.Since(start)
		*s.stats = st
	}
	return nil
}

// plans keeps the plans of an engine's problems: the last two of those that come to lie in the same place, so that
// nearly all stay of hundreds, as a model's layers have for many batch sizes. It takes 32 KiB and half a KiB for each
// plan, 2 MiB at most.
type plans [2][2048]atomic.Pointer[planned]

type planned struct {
	plan.Problem
	plan  plan.Plan
	stays bool // with its caller, whoever may share it
}

// of returns what is planned for q, or nil.
func (ps *plans) of(q *plan.Problem) *planned {
	at := ps.at(q)
	for i := range ps {
		if had := ps[i][at].Load(); had != nil && had.Equal(q) {
			return had
		}
	}
	return nil
}

// add keeps p, and the plan before it in its place.
func (ps *plans) add(p *planned) {
	at := ps.at(&p.Problem)
	ps[1][at].Store(ps[0][at].Swap(p))
}

func (ps *plans) at(q *plan.Problem) uint { return q.Hash() % uint(len(ps[0])) }

// plan returns how to compute p. A product that is worth sharing asks how many there are to share it.
func (e *Engine) plan(p *product, s *settings) *plan.Plan {
	p.survey(plan.Here)
	q := &p.Problem
	if had := e.plans.of(q); had != nil && had.stays {
		return &had.plan
	}
	if !q.Alone(plan.Many) {
		q.Staff(s.workerCount(p), runtime.GOMAXPROCS(0), s.ctx != nil)
	}
	return e.planOf(q)
}

// planOf returns how to compute q, of which everything is known.
func (e *Engine) planOf(q *plan.Problem) *plan.Plan {
	had := e.plans.of(q)
	if had == nil {
		had = &planned{*q, plan.Choose(q), q.Alone(plan.Many)}
		e.plans.add(had)
	}
	return &had.plan
}
