package pipeline

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"example.com/leafhopper/barrier"
)

// A Program is what a grid computes, cut into the pieces its workers share out.
// Every piece is executed exactly once, by any worker, except that a grid does not wait
// for copies that bring nothing; the methods are called concurrently. item counts stages over the whole grid: all K stages of the
// first tile, then those of the second, and so on.
type Program interface {
	// Expect returns the transaction count that the copies of item bring to the
	// full barrier of cta, the multicast ones included. The stage is full when they are
	// in: a copy job that brings nothing may still be under way then, or never begin. A
	// grid of one stage and one CTA without copy jobs does not ask.
	Expect(item, cta int) int
	// Load executes a copy job of item into a stage: job 0 .. Private-1 of
	// what only cta reads, completing bars[0].
	Load(stage, item, cta, job int, bars []barrier.Barrier)
	// LoadMulticast executes a copy job, 0 .. Shared-1, of what all CTAs read,
	// completing each of bars.
	LoadMulticast(stage, item, job int, bars []barrier.Barrier)
	// Compute executes the part of item that belongs to one slab of cta.
	// For one slab, items come strictly in order, each after the other.
	Compute(stage, item, cta, slab int)
}

// MaxItems is the largest number of items of a [Shape].
const MaxItems = 1<<32 - 1

// Shape says how many pieces a grid has. CTAs·Slabs is at most
// [barrier.MaxCount], because all slabs of the cluster arrive at one empty barrier.
type Shape struct {
	Depth   int // stages of the ring, 1..MaxDepth
	Items   int // stages to fill and consume, 0..MaxItems: tiles times K stages
	CTAs    int // CTAs of the cluster, 1..MaxCTAs
	Slabs   int // consumer slabs of a CTA, 1..barrier.MaxCount
	Private int // copy jobs of a stage for one CTA, 0..barrier.MaxCount
	Shared  int // copy jobs of a stage that are multicast to the cluster, 0..barrier.MaxCount
}

// Grid executes a [Program] on a ring with any number of workers. Roles are
// not threads here: a CPU has no copy engine and no spare warps, so a worker
// with nothing to consume fills slots, and the producer computes while the
// ring is full.
//
//	worker w < CTAs, the producer of CTA w      other workers, consumers
//	  1. issue the next stage if it is empty      1. compute a slab of a full stage
//	  2. execute a copy job                       2. execute a copy job
//	  3. compute a slab of a full stage           3. issue the next stage if it is empty
//
// A lone worker computes first, so that what it has copied is still in its
// cache. A grid of one item and one CTA without copy jobs has no ring: its workers
// compute slabs. Pieces are claimed by atomic counters. No worker but the one that
// holds a piece is ever needed for progress, so workers may join late, or not at
// all.
//
// A Grid may be reused, by one Run at a time, and must not be copied.
type Grid struct {
	ring    Ring
	shape   Shape
	prog    Program
	ctx     context.Context
	workers int
	slabs   []progress // [cta*Slabs + slab], unless it is loose
	posts   []post     // of the workers, by id
	run     uint64     // the number of resets; after the first one finished is initialised
	loose   bool       // see loose.go
	trace   *Trace     // nil, as a rule

	// What workers write has lines of the cache of its own.
	_         [64]byte
	issued    atomic.Int64 // items whose stage has been handed to the copiers
	producing atomic.Bool  // elects the worker that issues
	_         [48]byte
	copies    [MaxDepth]claim
	left      atomic.Int64 // slabs whose last item is not computed
	_         [56]byte
	finished  barrier.Barrier // one arrival: nothing is left
	called
	panicked atomic.Pointer[RolePanic]
}

// post is the place of one worker in a grid. All come, claim and leave at the same
// moments: each has a line of the cache.
type post struct {
	taken atomic.Uint64 // of a loose grid: the run, and how many of the worker's slabs; see takenBits
	Stats               // what the worker says of itself when it leaves
	_     [32]byte
}

// claim is a counter of claimed pieces that belongs to one item: the item in
// the upper half, the number of claimed pieces in the lower. A claim made for a
// stage that has meanwhile been recycled fails.
type claim struct {
	word atomic.Uint64
	_    [56]byte
}

func (c *claim) reset(item int) { c.word.Store(uint64(item) << 32) }

// take claims the next of item's n pieces, if there is one.
func (c *claim) take(item, n int) (piece int, ok bool) {
	for {
		w := c.word.Load()
		if piece = int(w & (1<<32 - 1)); w>>32 != uint64(item) || piece >= n {
			return 0, false
		}
		if c.word.CompareAndSwap(w, w+1) {
			return piece, true
		}
	}
}

// progress counts the items that a slab has behind it: twice their number, plus
// one while a worker computes the next. That word claims a slab and keeps its items in order.
type progress struct{ word atomic.Int64 }

// next returns the item that the slab needs next, and whether nobody is at it.
func (p *progress) next() (item int, free bool) {
	v := p.word.Load()
	return int(v >> 1), v&1 == 0
}

// take claims the slab for item.
func (p *progress) take(item int) bool {
	return p.word.CompareAndSwap(int64(item)<<1, int64(item)<<1|1)
}

// done records that the slab's item is computed.
func (p *progress) done(item int) { p.word.Store(int64(item+1) << 1) }

// Reset prepares g for workers 0 .. workers-1 to run prog until ctx, which may be
// nil, is done. No worker may be in g; it waits for helpers of a [Crew] that are
// on their way out. It returns an error if a field of shape or CTAs·Slabs is out
// of range, if workers is less than 1 or if prog is nil; g then needs another
// Reset before anybody works in it.
func (g *Grid) Reset(ctx context.Context, shape Shape, prog Program, workers int) error {
	switch {
	case shape.Items < 0 || int64(shape.Items) > MaxItems:
		return fmt.Errorf("pipeline: %d items are outside 0..%d", shape.Items, int64(MaxItems))
	case shape.Slabs < 1 || shape.Slabs > barrier.MaxCount:
		return fmt.Errorf("pipeline: %d slabs are outside 1..%d", shape.Slabs, barrier.MaxCount)
	case shape.Private < 0 || shape.Private > barrier.MaxCount:
		return fmt.Errorf("pipeline: %d private copy jobs are outside 0..%d", shape.Private, barrier.MaxCount)
	case shape.Shared < 0 || shape.Shared > barrier.MaxCount:
		return fmt.Errorf("pipeline: %d shared copy jobs are outside 0..%d", shape.Shared, barrier.MaxCount)
	case workers < 1:
		return fmt.Errorf("pipeline: %d workers, want at least 1", workers)
	case prog == nil:
		return errors.New("pipeline: nil Program")
	}
	g.waitHelpers()
	n := shape.CTAs * shape.Slabs
	g.reopen()
	if g.loose = shape.loose(); g.loose {
		g.slabs = g.slabs[:0] // or who waits would look at those of a ring that was stopped
	} else {
		if err := g.ring.Reset(shape.Depth, shape.CTAs, n); err != nil {
			return err
		}
		g.resetSlabs(n)
	}
	if g.run > 0 {
		g.finished.Invalidate()
	}
	start(&g.finished, 1)
	g.shape, g.prog, g.ctx, g.workers = shape, prog, ctx, workers
	g.left.Store(int64(n))
	g.resetPosts(workers)
	g.run++
	return nil
}

func (g *Grid) resetSlabs(n int) {
	if cap(g.slabs) < n {
		g.slabs = make([]progress, n)
	}
	g.slabs = g.slabs[:n]
	for i := range g.slabs {
		g.slabs[i].word.Store(0)
	}
	g.issued.Store(0)
	g.producing.Store(false)
}

// resetPosts writes to no line that it need not: the workers have them.
func (g *Grid) resetPosts(workers int) {
	if cap(g.posts) < workers {
		g.posts = make([]post, workers)
	}
	g.posts = g.posts[:workers]
	for id := range g.posts {
		if s := &g.posts[id].Stats; *s != (Stats{}) {
			*s = Stats{}
		}
	}
}

// done counts n slabs whose last item is computed.
func (g *Grid) done(n int) {
	if g.left.Add(int64(-n)) == 0 {
		g.finished.Arrive()
	}
}

// Work executes pieces as worker id, 0 .. workers-1, until the grid is
// finished or stopped, or if id is not 0 until there is nothing left for it. A panic of
// the program stops the grid; see Err. Work panics if the grid was not reset for as
// many workers.
func (g *Grid) Work(id int) {
	if id < 0 || id >= g.workers {
		panic(fmt.Sprintf("pipeline: worker %d of a grid for %d", id, g.workers))
	}
	w := worker{Grid: g, id: id}
	w.turn.Begin()
	returned := false
	defer func() {
		if v := recover(); v != nil {
			g.fail(&RolePanic{Value: v, Stack: debug.Stack()})
		} else if !returned {
			g.ring.Stop(errGoexit)
		}
		if !g.loose || id == 0 {
			w.report()
		}
	}()
	switch {
	case !g.loose:
		w.runRing()
	case id == 0:
		w.runLoose()
		w.await()
	default:
		w.runLoose()
	}
	returned = true
}

// report leaves the worker's statistics where [Grid.Stats] finds them.
func (w *worker) report() {
	if w.stats != (Stats{}) {
		w.posts[w.id].Stats = w.stats
	}
}

// Err returns why the grid stopped early, nil if it ran to its end. It raises
// the panic of a worker again. Call it when every worker has left.
func (g *Grid) Err() error {
	if p := g.panicked.Load(); p != nil {
		panic(p)
	}
	if g.run > 0 && g.finished.TestWaitParity(0) {
		return nil // the stop came when there was nothing left to stop
	}
	return g.ring.Err()
}

// Stats returns what the workers of the last run spent their time on. Call it
// when every worker has left.
func (g *Grid) Stats() (sum Stats) {
	for i := range g.posts {
		sum.add(g.posts[i].Stats)
	}
	return sum
}

// Record has the workers of the run that Reset has prepared note in t what they do. t has
// begun, for as many.
func (g *Grid) Record(t *Trace) { g.trace = t }

// Clear lets go of the program, the context, the trace and what Err returns, for a Grid that
// is kept for another Reset. Call it when every worker has left.
func (g *Grid) Clear() {
	g.prog, g.ctx, g.trace = nil, nil, nil
	g.reopen()
}

// reopen lets go of what Err returns.
func (g *Grid) reopen() {
	if g.panicked.Load() != nil {
		g.panicked.Store(nil)
	}
	g.ring.reopen()
}

func (g *Grid) fail(p *RolePanic) {
	g.panicked.CompareAndSwap(nil, p)
	g.ring.Stop(p)
}

// issue hands the next item's stage to the copiers if that stage is empty and nobody
// else is at it. If the program panics, nobody is again: to post an item's expectations
// twice would be another failure, and might be the one that Err reports.
func (g *Grid) issue() bool {
	if int(g.issued.Load()) >= g.shape.Items || !g.producing.CompareAndSwap(false, true) {
		return false
	}
	issued := g.issueNext()
	g.producing.Store(false)
	return issued
}

// issueNext is issue in the worker that was elected. The expectations are posted
// before the copies can be claimed.
func (g *Grid) issueNext() bool {
	item := int(g.issued.Load())
	if item >= g.shape.Items {
		return false
	}
	s := ProducerStart(g.shape.Depth)
	s.Advance(item)
	if !g.ring.ProducerTryAcquire(s) {
		return false
	}
	for cta := range g.shape.CTAs {
		g.ring.ProducerExpect(s, cta, g.prog.Expect(item, cta))
	}
	g.copies[s.Index].reset(item)
	g.issued.Store(int64(item + 1))
	return true
}

// load executes copy job number job of item. The first CTA's jobs come first,
// then the shared ones, so that the first CTA can start while the others' are
// still being copied.
func (g *Grid) load(stage, item, job int) {
	private, ctas := g.shape.Private, g.shape.CTAs
	switch {
	case job < private:
		g.prog.Load(stage, item, 0, job, g.ring.full[stage*ctas:stage*ctas+1])
	case job < private+g.shape.Shared:
		g.prog.LoadMulticast(stage, item, job-private, g.ring.Multicast(stage))
	default:
		job -= g.shape.Shared
		cta := job / private
		i := stage*ctas + cta
		g.prog.Load(stage, item, cta, job%private, g.ring.full[i:i+1])
	}
}
