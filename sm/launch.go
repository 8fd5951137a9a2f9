package sm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"example.com/leafhopper/internal/ended"
)

// Limits of compute capability 9.0 (CUDA C++ Programming Guide, technical
// specifications).
const (
	MaxThreads     = 1024      // of a block
	MaxSharedBytes = 227 << 10 // of a block, barriers included

	portableCluster = 8  // CTAs
	maxCluster      = 16 // with NonPortable
	maxBlockZ       = 64
	maxGridYZ       = 65535
	maxGridX        = 1<<31 - 1
	warpSize        = 32
	groupSize       = 128 // threads of a warpgroup

	// Of an SM, and of the GPUs that have most of them: H100 SXM, H200 and GH200.
	sms           = 132
	residentCTAs  = 32
	residentWarps = 64
	residentBytes = 228 << 10 // shared
	reservedBytes = 1 << 10   // of them, in each CTA
)

// Dim3 is an extent or an index in up to three dimensions. In an extent 0
// counts as 1.
type Dim3 struct{ X, Y, Z int }

// String returns "(x,y,z)".
func (d Dim3) String() string { return fmt.Sprintf("(%d,%d,%d)", d.X, d.Y, d.Z) }

// Size returns the number of indices of an extent.
func (d Dim3) Size() int { d = d.extent(); return d.X * d.Y * d.Z }

func (d Dim3) extent() Dim3 { return Dim3{max(d.X, 1), max(d.Y, 1), max(d.Z, 1)} }

// compare orders indices, X fastest.
func (d Dim3) compare(e Dim3) int {
	return cmp.Or(cmp.Compare(d.Z, e.Z), cmp.Compare(d.Y, e.Y), cmp.Compare(d.X, e.X))
}

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
	// have to be resident all, as they are if the launch is Cooperative.
	Resident int

	// Cooperative is cudaLaunchCooperativeKernel: all CTAs are resident, and their agents may call GridSync. Launch
	// returns an error, as CUDA has cudaErrorCooperativeLaunchTooLarge, if they are more than Resident says or than
	// the 132 SMs of an H100 take, of 2,048 threads and 32 CTAs each; what they share has to fit as well (RuleShared).
	Cooperative bool

	// Check runs one agent at a time, in an order that Seed alone decides, fills shared memory with
	// poison, and judges accesses of it by what orders them: RuleRace and the rules after it.
	Check    bool
	Seed     uint64
	Schedule Schedule

	// Reset, if not nil, is called before the kernel is launched: for [Explore], which launches it again and again, it
	// restores what the kernel changes in global memory.
	Reset func()

	// Verify, if not nil, is called after every launch that has no fault. Its error, such as that the results are
	// wrong, is one of RuleResult: [Explore] finds the seed and the switches that it takes, with up to some hundreds of
	// launches more.
	Verify func() error

	Trace *Trace // collects what the agents did when, if not nil
	Banks *Banks // counts bank conflicts of shared memory, if not nil
	Name  string // of the kernel, in messages; empty is the name of its function
}

// A Kernel runs once for every CTA: it declares what the CTA shares, and then
// starts the CTA's agents, once, with [Block.Threads], [Block.Warpgroups] or
// [Block.Start].
type Kernel = func(*Block)

// Launch runs kernel for every CTA of the grid and returns when the last agent has
// ended. It returns nil, an error of cfg, a [*Fault] if the kernel does what a GPU
// would fault on or PTX leaves undefined, or if cfg.Verify finds something wrong, or, if ctx ended first, an error
// that wraps its cause and says where the agents were.
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
	return l.run(ctx)
}

// launch is a grid under way.
type launch struct {
	Config
	state    atomic.Int32 // see stateFree; what all operations read is no neighbour of active, which waits change
	sched    *scheduler   // under Check
	kernel   Kernel
	clusters int // in the grid
	inGrid   Dim3
	procs    int64         // GOMAXPROCS
	stops    chan struct{} // closed when it is stopping
	agents   sync.WaitGroup

	mu    sync.Mutex
	err   error                 // why it stopped
	timed *outOfTime            // if ctx has stopped it
	stood []stand               // where agents were then
	live  map[*cluster]struct{} // those resident

	started atomic.Int64 // clusters
	active  atomic.Int64 // of all clusters, those that can go on
	global  memory       // that Arrays are of
	all     []*cluster   // that run one of the grid after another
	full    atomic.Int64 // of a cooperative launch, those of which all threads have come to GridSync
	settled atomic.Int64 // counts ends and waits of runners, but for those that doze
	moves   atomic.Int64 // turns given, and runners that have ended
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
		stops: make(chan struct{}),
	}
	l.inGrid = Dim3{cfg.Grid.X / cfg.Cluster.X, cfg.Grid.Y / cfg.Cluster.Y, cfg.Grid.Z / cfg.Cluster.Z}
	l.clusters = l.inGrid.Size()
	l.global.launch = l
	if cfg.Check {
		l.sched = newScheduler(l)
		l.global.tracked = newTracked()
	}
	if cfg.Check || cfg.Banks != nil {
		l.become(stateWatched)
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
		{"cluster", cfg.Cluster, Dim3{maxCluster, maxCluster, maxCluster}},
	} {
		v, most := d.v, d.most
		if v.X < 0 || v.Y < 0 || v.Z < 0 || v.X > most.X || v.Y > most.Y || v.Z > most.Z {
			return fmt.Errorf("sm: launch: %s %v, want 0..%d, 0..%d, 0..%d", d.name, v, most.X, most.Y, most.Z)
		}
	}
	grid, cluster, most := cfg.Grid.extent(), cfg.Cluster.extent(), portableCluster
	if cfg.NonPortable {
		most = maxCluster
	}
	switch {
	case cfg.Block.Size() > MaxThreads:
		return fmt.Errorf("sm: launch: block %v has %d threads, at most %d", cfg.Block, cfg.Block.Size(), MaxThreads)
	case cluster.Size() > most:
		return fmt.Errorf("sm: launch: cluster %v has %d CTAs, at most %d, or %d with NonPortable",
			cfg.Cluster, cluster.Size(), portableCluster, maxCluster)
	case grid.X%cluster.X != 0 || grid.Y%cluster.Y != 0 || grid.Z%cluster.Z != 0:
		return fmt.Errorf("sm: launch: cluster %v does not divide grid %v", cfg.Cluster, cfg.Grid)
	case uint64(grid.X)*uint64(grid.Y)*uint64(grid.Z) > math.MaxInt:
		return fmt.Errorf("sm: launch: grid %v has more CTAs than the %d that an int counts", cfg.Grid, math.MaxInt)
	case cfg.Resident < 0:
		return fmt.Errorf("sm: launch: %d resident clusters, want 0 or more", cfg.Resident)
	case cfg.Cooperative && cfg.Resident > 0 && grid.Size()/cluster.Size() > cfg.Resident:
		return fmt.Errorf("sm: launch: cooperative, of %d clusters, of which Config.Resident has %d at once "+
			"(cudaErrorCooperativeLaunchTooLarge)", grid.Size()/cluster.Size(), cfg.Resident)
	case cfg.Cooperative && grid.Size() > sms*fitting(cfg.Block):
		return fmt.Errorf("sm: launch: cooperative, of %d CTAs of %d threads, of which %d SMs take %d each "+
			"(cudaErrorCooperativeLaunchTooLarge)", grid.Size(), cfg.Block.Size(), sms, fitting(cfg.Block))
	case cfg.Schedule > Random:
		return fmt.Errorf("sm: launch: schedule %v, want Late, Eager or Random", cfg.Schedule)
	}
	return nil
}

// fitting returns how many CTAs of so many threads an SM takes.
func fitting(block Dim3) int {
	return min(residentCTAs, residentWarps/((block.Size()+warpSize-1)/warpSize))
}

// checkResident checks that what the CTAs of a cooperative launch share fits as well.
func (c *cta) checkResident() {
	if l := c.launch; l.Cooperative {
		each := (l.Grid.Size() + sms - 1) / sms
		if most := residentBytes/each - reservedBytes; c.used > most {
			c.body.fail(RuleShared, "%d bytes of a cooperative launch of %d CTAs, %d on one of %d SMs at least, where each "+
				"has at most %d (cudaErrorCooperativeLaunchTooLarge)", c.used, l.Grid.Size(), each, sms, most)
		}
	}
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
	if l.Cooperative {
		n = l.clusters
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
	if l.Reset != nil {
		l.Reset()
	}
	l.Trace.begin()
	ended := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { l.watch(ctx, ended) })
	// The first runners must not end before all are counted.
	l.agents.Add(1)
	for range l.resident() {
		l.all = append(l.all, newCluster(l))
	}
	l.active.Add(1) // those that have begun may wait for those that have not
	for _, c := range l.all {
		l.next(c)
	}
	l.active.Add(-1)
	l.rest()
	if l.sched != nil {
		l.sched.begin()
	}
	l.agents.Done()
	go func() {
		l.agents.Wait()
		close(ended)
	}()
	watch.Wait()
	l.become(stateOver)
	if err := l.reason(); err != nil || l.Verify == nil {
		return err
	}
	if err := l.Verify(); err != nil {
		f := &Fault{Kernel: l.Name, Rule: RuleResult, Detail: err.Error(), cause: err}
		l.seeded(f)
		return f
	}
	return nil
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
	if i >= l.clusters || l.stopped() {
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
