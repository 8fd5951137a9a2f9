package bench

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/leafhopper/internal/cores"
)

const (
	// peakSlot is the moment of a probe in which all threads have to run undisturbed:
	// shorter than a scheduler leaves a thread alone, and many calls long.
	peakSlot = time.Millisecond
	// chunkTime is the shortest call of what is probed. None is much longer, because
	// assembly cannot be preempted.
	chunkTime = 40 * time.Microsecond
	// clockTime is how long a probe measures the clock.
	clockTime = peakSlot
)

// probed is what a probe measured.
type probed struct {
	flops       float64       // a second, of all threads together, in the best slot
	together    bool          // in which as many ran as can at once, from its start to its end
	hz          float64       // of the fastest chain on any thread
	got, wanted time.Duration // processor time of the threads; got is 0 if unknown
	others      time.Duration // that others had meanwhile, or may have had
}

// probe has locked threads run loop, of which a turn is so many flops, for about d all
// at once, and then a chain of dependent instructions, which says how fast their clocks are.
//
// An interruption takes flops from the slots that it falls into, and from no other: where
// no slot is without one the peak is too low, and it is never too high.
func probe(ctx context.Context, loop func(turns int), flops, threads int, d time.Duration) probed {
	turns := calibrate(loop)
	machine, process := readProcessorTime(), cores.Time()
	var (
		wg    sync.WaitGroup
		ready atomic.Int32
		begin atomic.Pointer[time.Time]
		ends  = make([][]time.Duration, threads)
		hz    = make([]float64, threads)
		got   atomic.Int64
		most  = int(min(2*d, time.Second)/chunkTime) + 2
	)
	for t := range threads {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			calls := make([]time.Duration, 1, most)
			// The wait spins, so that all start on a running core.
			for ready.Add(1); int(ready.Load()) < threads; {
				runtime.Gosched()
			}
			now := time.Now()
			begin.CompareAndSwap(nil, &now)
			start, before := *begin.Load(), threadTime()
			calls[0] = time.Since(start)
			for end := calls[0]; end < d && ctx.Err() == nil; {
				loop(turns)
				end = time.Since(start)
				calls = append(calls, end)
			}
			got.Add(int64(threadTime() - before))
			ends[t], hz[t] = calls, clock(clockTime)
		})
	}
	wg.Wait()
	spent := readProcessorTime().since(machine)
	used := cores.Time() - process
	p := probed{got: time.Duration(got.Load())}
	ran := 0.0
	p.flops, ran = bestSlot(ends, d, float64(turns)*float64(flops))
	p.together = ran >= 0.9*float64(atOnce(threads))
	for t, calls := range ends {
		p.hz = max(p.hz, hz[t])
		p.wanted += calls[len(calls)-1] - calls[0]
	}
	p.wanted = p.wanted * time.Duration(atOnce(threads)) / time.Duration(threads)
	if p.others = p.wanted; spent.all > 0 {
		p.others = spent.all - spent.idle - used
	}
	return p
}

// calibrate returns how many turns of loop take chunkTime. A call that was interrupted
// looks longer than it is, so the shortest of three counts.
func calibrate(loop func(turns int)) int {
	for turns := 1; ; turns *= 2 {
		shortest := time.Hour
		for range 3 {
			start := time.Now()
			loop(turns)
			shortest = min(shortest, time.Since(start))
		}
		if shortest >= chunkTime || turns >= 1<<20 {
			return turns
		}
	}
}

// bestSlot returns the most flops a second that the threads made together in one of the
// slots into which d is cut, and how many of them ran, on average, in that slot. For each
// thread it takes when its calls ended, of so many
// flops each, all preceded by when the first began. A call counts evenly from its start
// to its end, and not at all if it was interrupted: nobody knows when it ran.
func bestSlot(threads [][]time.Duration, d time.Duration, flops float64) (perSecond, ran float64) {
	slot := min(peakSlot, d)
	if slot <= 0 {
		return 0, 0
	}
	type sum struct{ flops, ran float64 }
	slots := make([]sum, d/slot)
	for _, ends := range threads {
		fastest := d
		for i, end := range ends[1:] {
			fastest = min(fastest, end-ends[i])
		}
		for i, end := range ends[1:] {
			start := ends[i]
			if end-start > interrupted*fastest {
				continue
			}
			for s := int(start / slot); s < len(slots) && slot*time.Duration(s) < end; s++ {
				at := slot * time.Duration(s)
				inside := (min(end, at+slot) - max(start, at)).Seconds()
				slots[s].flops += flops * inside / (end - start).Seconds()
				slots[s].ran += inside
			}
		}
	}
	best := slices.MaxFunc(slots, func(a, b sum) int { return cmp.Compare(a.flops, b.flops) })
	return best.flops / slot.Seconds(), best.ran / slot.Seconds()
}

// interrupted is how many times as long as the fastest a call takes that was interrupted.
const interrupted = 2

// clock measures the clock of the core that it runs on, in Hz, for about d: the fastest
// call of chain, which no interruption makes faster.
func clock(d time.Duration) float64 {
	const turns = 1000 // some µs
	fastest := time.Hour
	for start := time.Now(); time.Since(start) < d; {
		call := time.Now()
		chainEnd.Store(chain(turns, 1, 3, 5))
		fastest = min(fastest, time.Since(call))
	}
	return turns * chainCycles / fastest.Seconds()
}

// chainCycles is how many cycles a turn of chain takes: its instructions wait for each
// other, and each takes one cycle on every core that this package has met.
const chainCycles = 32

// chainEnd keeps the compiler from dropping calls.
var chainEnd atomic.Uintptr

// chain makes n turns of additions and exclusive ors of which each needs the one before.
// Two kinds take turns so that no compiler and no core can make one of several.
//
//go:noinline
func chain(n int, x, y, z uintptr) uintptr {
	for range n {
		x = (((((((x + y) ^ z) + y) ^ z) + y) ^ z) + y) ^ z
		x = (((((((x + y) ^ z) + y) ^ z) + y) ^ z) + y) ^ z
		x = (((((((x + y) ^ z) + y) ^ z) + y) ^ z) + y) ^ z
		x = (((((((x + y) ^ z) + y) ^ z) + y) ^ z) + y) ^ z
	}
	return x
}
