package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"example.com/leafhopper/barrier"
)

// A Program is what a [Grid] computes, cut into the pieces its workers share out.
// Every piece is executed exactly once, by any worker, except that a grid does not wait
// for copies that bring nothing; the methods are called concurrently. item counts stages
// over the whole grid: all K stages of the first tile, then those of the second, and so on.
type Program interface {
	// Expect returns the transaction count that the copies of item bring to the
	// full barrier of cta, the multicast ones included. The stage is full when they are
	// in: a copy job that brings nothing may still be under way then, or never begin.
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

// Grid is a [Task] that executes a [Program] on a ring with any number of workers. Roles are
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
// cache.
type Grid struct {
	ring  Ring
	shape Shape
	prog  Program
	slabs []progress // [cta*Slabs + slab]

	// What workers write has lines of the cache of its own.
	_         [64]byte
	issued    atomic.Int64 // items whose stage has been handed to the copiers
	producing atomic.Bool  // elects the worker that issues
	_         [48]byte
	copies    [MaxDepth]claim
	team
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
	if err := check(shape.Slabs, workers); err != nil {
		return err
	}
	switch {
	case shape.Items < 0 || int64(shape.Items) > MaxItems:
		return fmt.Errorf("pipeline: %d items are outside 0..%d", shape.Items, int64(MaxItems))
	case shape.Private < 0 || shape.Private > barrier.MaxCount:
		return fmt.Errorf("pipeline: %d private copy jobs are outside 0..%d", shape.Private, barrier.MaxCount)
	case shape.Shared < 0 || shape.Shared > barrier.MaxCount:
		return fmt.Errorf("pipeline: %d shared copy jobs are outside 0..%d", shape.Shared, barrier.MaxCount)
	case prog == nil:
		return errors.New("pipeline: nil Program")
	}
	n := shape.CTAs * shape.Slabs
	g.reset(ctx, workers, n)
	if err := g.ring.Reset(shape.Depth, shape.CTAs, n); err != nil {
		return err
	}
	g.shape, g.prog = shape, prog
	if cap(g.slabs) < n {
		g.slabs = make([]progress, n)
	}
	g.slabs = g.slabs[:n]
	for i := range g.slabs {
		g.slabs[i].word.Store(0)
	}
	g.issued.Store(0)
	g.producing.Store(false)
	return nil
}

// Clear implements [Task].
func (g *Grid) Clear() {
	g.prog = nil
	g.team.Clear()
}

// settled implements [Task].
func (g *Grid) settled() bool { return false }

// Work implements [Task].
func (g *Grid) Work(id int) {
	w := worker{Grid: g}
	w.begin(&g.team, id)
	defer w.end()
	w.run()
	w.returned = true
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
	switch shared := job - g.shape.Private; {
	case shared >= g.shape.Shared:
		job -= g.shape.Shared
	case shared >= 0:
		g.prog.LoadMulticast(stage, item, shared, g.ring.Multicast(stage))
		return
	}
	cta := job / g.shape.Private
	g.prog.Load(stage, item, cta, job%g.shape.Private, g.ring.Multicast(stage)[cta:cta+1])
}
