package sm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/leafhopper/internal/ended"
)

// Limits of compute capability 9.0 (CUDA C++ Programming Guide, technical
// specifications).
const (
	MaxThreads     = 1024      // of a block
	MaxSharedBytes = 227 << 10 // of a block, barriers included

	maxCluster  = 8  // CTAs of a portable cluster
	maxCluster9 = 16 // CTAs with NonPortable
	maxBlockZ   = 64
	maxGridYZ   = 65535
	maxGridX    = 1<<31 - 1
	warpSize    = 32
	groupSize   = 128 // threads of a warpgroup
)

// Dim3 is an extent or an index in up to three dimensions. In an extent 0
// counts as 1.
type Dim3 struct{ X, Y, Z int }

// String returns "(x,y,z)".
func (d Dim3) String() string { return fmt.Sprintf("(%d,%d,%d)", d.X, d.Y, d.Z) }

// Size returns the number of indices of an extent.
func (d Dim3) Size() int { d = d.extent(); return d.X * d.Y * d.Z }

func (d Dim3) extent() Dim3 { return Dim3{max(d.X, 1), max(d.Y, 1), max(d.Z, 1)} }

// at returns the index number i of an extent, X fastest.
func (d Dim3) at(i int) Dim3 { return Dim3{i % d.X, i / d.X % d.Y, i / d.X / d.Y} }

// Config says how a kernel is launched. The zero value is one CTA of one thread.
type Config struct {
	Grid  Dim3 // CTAs
	Block Dim3 // threads of a CTA, at most [MaxThreads]
	// Cluster is the CTAs that run together and reach each other's shared memory. It
	// divides Grid in every dimension and has at most 8 CTAs, 16 with NonPortable.
	Cluster     Dim3
	NonPortable bool

	// Resident is how many clusters run at once. 0 is as many as the cores take, or
	// under Check as many as make 8 CTAs. A grid may have any number of CTAs; those
	// beyond wait for their turn, so that CTAs which wait for each other in global memory
	// (a grid barrier) have to be resident all.
	Resident int

	// Check runs one agent at a time, in an order that Seed alone decides, and fills
	// shared memory with poison.
	Check    bool
	Seed     uint64
	Schedule Schedule

	Trace *Trace // collects what the agents did when, if not nil
	Name  string // of the kernel, in messages; empty is the name of its function
}

// A Kernel runs once for every CTA: it declares what the CTA shares, and then
// starts the CTA's agents, once, with [Block.Threads], [Block.Warpgroups] or
// [Block.Start].
type Kernel = func(*Block)

// Launch runs kernel for every CTA of the grid and returns when the last agent has
// ended. It returns nil, an error of cfg, a [*Fault] if the kernel does what a GPU
// would fault on or PTX leaves undefined, or the cause of ctx if that ended first.
// The first fault stops all agents: each ends at its next operation, with its
// deferred functions run. If for five seconds none does, because they wait for something of Go
// or loop, Launch returns an error that says so, and leaves them behind.
func Launch(ctx context.Context, cfg Config, kernel Kernel) error {
	if ctx == nil {
		return errors.New("sm: launch: context is nil")
	}
	l, err := newLaunch(cfg, kernel)
	if err != nil {
		return err
	}
	if err := l.run(ctx); err != nil {
		return err
	}
	return nil
}

// launch is a grid under way.
type launch struct {
	Config
	kernel   Kernel
	clusters int // in the grid
	inGrid   Dim3
	sched    *scheduler // under Check

	started atomic.Int64 // clusters
	active  atomic.Int64 // of all clusters, those that can go on
	procs   int64        // GOMAXPROCS
	agents  sync.WaitGroup

	stopped   atomic.Bool
	stopping  chan struct{} // closed then
	left      chan struct{} // closed when Launch returns though agents have not ended
	moves     atomic.Int64  // turns given, and runners that have ended
	dispersed atomic.Bool   // under Check, agents unwind all at once
	over      atomic.Bool   // the last agent has ended
	watched   atomic.Bool   // every access of an Array is an operation
	mu        sync.Mutex
	err       error                 // why it stopped
	live      map[*cluster]struct{} // those resident
}

func newLaunch(cfg Config, kernel Kernel) (*launch, error) {
	if kernel == nil {
		return nil, errors.New("sm: launch: kernel is nil")
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.Grid, cfg.Block, cfg.Cluster = cfg.Grid.extent(), cfg.Block.extent(), cfg.Cluster.extent()
	if cfg.Name == "" {
		cfg.Name = functionName(kernel)
	}
	l := &launch{
		Config: cfg, kernel: kernel, procs: int64(runtime.GOMAXPROCS(0)), live: map[*cluster]struct{}{},
		stopping: make(chan struct{}), left: make(chan struct{}),
	}
	l.inGrid = Dim3{cfg.Grid.X / cfg.Cluster.X, cfg.Grid.Y / cfg.Cluster.Y, cfg.Grid.Z / cfg.Cluster.Z}
	l.clusters = l.inGrid.Size()
	if cfg.Check {
		l.sched = newScheduler(cfg.Seed, cfg.Schedule)
		l.watched.Store(true)
	}
	return l, nil
}

// check reports a field that no launch may have.
func (cfg *Config) check() error {
	for _, d := range []struct {
		name    string
		v, most Dim3
	}{
		{"grid", cfg.Grid, Dim3{maxGridX, maxGridYZ, maxGridYZ}},
		{"block", cfg.Block, Dim3{MaxThreads, MaxThreads, maxBlockZ}},
		{"cluster", cfg.Cluster, Dim3{maxCluster9, maxCluster9, maxCluster9}},
	} {
		v, most := d.v, d.most
		if v.X < 0 || v.Y < 0 || v.Z < 0 || v.X > most.X || v.Y > most.Y || v.Z > most.Z {
			return fmt.Errorf("sm: launch: %s %v, want 0..%d, 0..%d, 0..%d", d.name, v, most.X, most.Y, most.Z)
		}
	}
	grid, cluster, most := cfg.Grid.extent(), cfg.Cluster.extent(), maxCluster
	if cfg.NonPortable {
		most = maxCluster9
	}
	switch {
	case cfg.Block.Size() > MaxThreads:
		return fmt.Errorf("sm: launch: block %v has %d threads, at most %d", cfg.Block, cfg.Block.Size(), MaxThreads)
	case cluster.Size() > most:
		return fmt.Errorf("sm: launch: cluster %v has %d CTAs, at most %d, or %d with NonPortable",
			cfg.Cluster, cluster.Size(), maxCluster, maxCluster9)
	case grid.X%cluster.X != 0 || grid.Y%cluster.Y != 0 || grid.Z%cluster.Z != 0:
		return fmt.Errorf("sm: launch: cluster %v does not divide grid %v", cfg.Cluster, cfg.Grid)
	case uint64(grid.X)*uint64(grid.Y)*uint64(grid.Z) > math.MaxInt:
		return fmt.Errorf("sm: launch: grid %v has more CTAs than the %d that an int counts", cfg.Grid, math.MaxInt)
	case cfg.Resident < 0:
		return fmt.Errorf("sm: launch: %d resident clusters, want 0 or more", cfg.Resident)
	case cfg.Schedule > Random:
		return fmt.Errorf("sm: launch: schedule %v, want Late, Eager or Random", cfg.Schedule)
	}
	return nil
}

// resident returns how many clusters run at once.
func (l *launch) resident() int {
	n := l.Resident
	if n == 0 {
		ctas := int(l.procs)
		if l.Check {
			ctas = checkedCTAs
		}
		n = max(1, ctas/l.Cluster.Size())
	}
	return min(n, l.clusters)
}

// checkedCTAs is how many CTAs run at once under Check, on any machine: seeds must
// repeat everywhere.
const checkedCTAs = 8

func (l *launch) run(ctx context.Context) error {
	if err := cause(ctx); err != nil {
		return err
	}
	l.Trace.begin()
	over := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { l.watch(ctx, over) })
	// The first runners must not end before all are counted.
	l.agents.Add(1)
	for n := l.resident(); n > 0 && !l.stopped.Load(); n-- {
		l.next(newCluster(l))
	}
	if l.sched != nil {
		l.sched.begin()
	}
	l.agents.Done()
	ended := make(chan struct{})
	go func() {
		l.agents.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-l.left:
	}
	l.over.Store(true)
	close(over)
	watch.Wait()
	l.halt() // agents that somebody has kept
	return l.err
}

// watch stops the launch when ctx ends, unless it is over first, and sees to it that agents which
// have to end can. A context may be of anybody's making: what its methods do here comes to an end
// here.
func (l *launch) watch(ctx context.Context, over <-chan struct{}) {
	returned := false
	defer func() {
		if v := recover(); v != nil {
			l.stop(fmt.Errorf("sm: launch: the context panicked: %v", v))
		} else if !returned {
			l.stop(errors.New("sm: launch: the context ended its caller's goroutine"))
		}
	}()
	select {
	case <-ctx.Done():
		l.stop(cause(ctx))
	case <-l.stopping:
	case <-over:
	}
	returned = true
	for still, before := 0, int64(-1); ; {
		select {
		case <-time.After(time.Second):
		case <-over:
			return
		}
		if now := l.moves.Load(); now != before {
			still, before = 0, now
			continue
		}
		switch still++; {
		case still == toDisperse && l.sched != nil:
			l.disperse()
		case still == toLeave:
			l.leave()
			return
		}
	}
}

// Seconds for which no agent of a launch that has stopped ends, or gives its turn to another.
const (
	toDisperse = 1
	toLeave    = 5
)

// disperse has all agents of a checked launch that has stopped unwind at once. Who has the turn
// comes to no operation: it waits for a Go mutex, say, that another has, which would unlock it.
func (l *launch) disperse() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dispersed.Store(true)
	for c := range l.live {
		c.wakeAll()
	}
	if _, ok := l.err.(*Fault); !ok {
		l.err = fmt.Errorf("%w; %s: if it waits for a Go mutex, who has that waits for the turn, under Check",
			l.err, l.sched.current.stands())
	}
}

// leave has Launch return though agents have not ended, which do not come to an operation.
func (l *launch) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := ""
	for c := range l.live {
		c.mu.Lock()
		for r := range c.runners {
			if r.self != nil || text == "" {
				text = r.stands()
			}
		}
		c.mu.Unlock()
	}
	l.err = fmt.Errorf("%w; agents that do not end are left behind: %s", l.err, text)
	close(l.left)
}

// leaves reports whether Launch has returned though agents had not ended.
func (l *launch) leaves() bool {
	select {
	case <-l.left:
		return true
	default:
		return false
	}
}

// stands says what r, which does nothing else once the launch has stopped, did last.
//
//go:norace
func (r *runner) stands() string {
	op, at, who := r.op, r.site, r.cta.body
	if r.self != nil {
		who = r.self
	}
	since := "it began"
	if op != "" {
		since = fmt.Sprintf("%s at %v", op, at)
	}
	return fmt.Sprintf("%v has come to no operation since %s", who.inCluster(), since)
}

// turns returns the scheduler, nil if all agents that can go on do.
func (l *launch) turns() *scheduler {
	if l.dispersed.Load() {
		return nil
	}
	return l.sched
}

// cause returns why ctx has ended, nil if it has not.
func cause(ctx context.Context) error {
	err := ended.Err(ctx)
	if err == nil {
		return nil
	}
	if c := context.Cause(ctx); c != nil {
		return c
	}
	return err
}

// next makes c the next cluster of the grid and starts its CTAs, if there is one.
func (l *launch) next(c *cluster) {
	i := int(l.started.Add(1)) - 1
	if i >= l.clusters || l.stopped.Load() {
		return
	}
	c.reset(i)
	l.mu.Lock()
	l.live[c] = struct{}{}
	l.mu.Unlock()
	c.start()
}

// retire takes c, whose last runner is ending, out of the launch.
func (l *launch) retire(c *cluster) {
	l.mu.Lock()
	delete(l.live, c)
	l.mu.Unlock()
}

// stop ends the launch with err, unless it has been stopped: every runner ends at its
// next operation.
func (l *launch) stop(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	l.err = err
	l.halt()
	close(l.stopping)
	if l.sched != nil {
		return // one runner runs, and hands on to the others as it ends
	}
	for c := range l.live {
		c.wakeAll()
	}
}

// halt ends agents at their next operation.
func (l *launch) halt() {
	l.stopped.Store(true)
	l.watched.Store(true)
}

// functionName returns what a reader calls the function of a kernel: without its
// package, and without the numbers of closures.
func functionName(kernel Kernel) string {
	f := runtime.FuncForPC(reflect.ValueOf(kernel).Pointer())
	if f == nil {
		return "kernel"
	}
	name := f.Name()
	name = name[strings.LastIndex(name, "/")+1:]
	parts := strings.Split(strings.TrimSuffix(name, "-fm"), ".")[1:] // -fm: the value of a method
	for len(parts) > 1 && isClosure(parts[len(parts)-1]) {
		parts = parts[:len(parts)-1]
	}
	return parts[len(parts)-1]
}

// isClosure reports whether a part of a function's name is the compiler's: func1, 2, gowrap1.
func isClosure(part string) bool {
	digits := strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(part, "func"), "gowrap"), "0123456789")
	return digits == "" || digits == "-range1"
}
