package bench

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/cores"
)

// MaxCallers bounds the callers of a [Variant].
const MaxCallers = 1 << 12

// callers returns the number of goroutines that multiply at once.
func (v Variant) callers() int { return max(1, v.Callers) }

// A caller is one of the goroutines that multiply at once. They share A and B,
// and each has its own C.
type caller struct {
	c     []*operand // one, or copies to rotate over
	set   int        // of operands, for the next call
	opts  []gemm.Option
	stats gemm.Stats // of the last call that carried WithStats

	first, made int // of a sample: its first set, its calls
	waits
}

// waits are what workers waited of their time.
type waits struct {
	producer, consumer time.Duration
	of                 time.Duration // workers × elapsed
}

func (w *waits) add(v waits) {
	w.producer, w.consumer, w.of = w.producer+v.producer, w.consumer+v.consumer, w.of+v.of
}

// hire makes the callers of c, whose calls have opts.
func (x *run) hire(c *caseRun, opts []gemm.Option) error {
	p := c.p
	for len(p.more) < c.v.callers()-1 {
		p.more = append(p.more, newOperand(c.v.Out, c.v.M, c.v.N, false))
		if err := x.ctx.Err(); err != nil {
			return err
		}
	}
	for i := range c.v.callers() {
		k := &caller{c: p.c, opts: opts}
		if i > 0 {
			k.c = p.more[i-1 : i]
		}
		if c.watched {
			k.opts = x.watching(k)
		}
		c.callers = append(c.callers, k)
	}
	return nil
}

// watching returns the options of a call of k that can be cancelled and fills in
// k's statistics.
func (x *run) watching(k *caller) []gemm.Option {
	return append(slices.Clip(k.opts), gemm.WithStats(&k.stats), gemm.WithContext(x.ctx))
}

// threads returns on how many workers the peak is measured that c is compared
// with: those of a call, or, since calls add up, of all callers as far as they
// can run at once.
func (c *caseRun) threads() int {
	return max(c.workers, min(c.workers*c.v.callers(), cores.Count()))
}

// resetC gives every C its old value, NaN if it must not be read, unless ctx is done.
func (c *caseRun) resetC(ctx context.Context) {
	for _, k := range c.callers {
		for _, o := range k.c {
			if c.p.c0 != nil {
				copy(o.raw, c.p.c0.raw)
			} else {
				o.poison(ctx)
			}
		}
	}
}

// together has every caller run f, all from start on, and returns the time from
// there to the last end and the allocations meanwhile.
func (c *caseRun) together(f func(k *caller, start time.Time) error) (d time.Duration, mallocs uint64, err error) {
	var (
		wg            sync.WaitGroup
		start         time.Time
		before, after runtime.MemStats
	)
	errs, begin := make([]error, len(c.callers)), make(chan struct{})
	for i, k := range c.callers[1:] {
		wg.Go(func() {
			<-begin
			errs[1+i] = f(k, start)
		})
	}
	runtime.ReadMemStats(&before)
	start = time.Now()
	close(begin)
	errs[0] = f(c.callers[0], start)
	wg.Wait()
	d = time.Since(start)
	runtime.ReadMemStats(&after)
	return d, after.Mallocs - before.Mallocs, cmp.Or(errs...)
}

// timed has every caller call until the shortest sample is over, and counts the
// calls.
func (x *run) timed(c *caseRun) (d time.Duration, mallocs uint64, err error) {
	var failed atomic.Bool
	least := x.minTime()
	return c.together(func(k *caller, start time.Time) error {
		for k.made == 0 || time.Since(start) < least && !failed.Load() {
			if err := x.calls(c, k, c.batch, c.watched); err != nil {
				failed.Store(true)
				return err
			}
			k.made += c.batch
		}
		return nil
	})
}

// calls has k multiply n times, and adds up its waits if it is asked to.
func (x *run) calls(c *caseRun, k *caller, n int, waits bool) error {
	for range n {
		s := k.set
		if k.set++; k.set == len(k.c) {
			k.set = 0
		}
		if err := x.engine.Multiply(k.c[s].view, c.p.a[s].view, c.b[s], k.opts...); err != nil {
			return x.failed(c.v, err)
		}
		if waits {
			k.addWaits()
		}
	}
	return x.ctx.Err()
}

// watch has k multiply once, with statistics.
func (x *run) watch(c *caseRun, k *caller) error {
	if err := x.engine.Multiply(k.c[0].view, c.p.a[0].view, c.b[0], x.watching(k)...); err != nil {
		return x.failed(c.v, err)
	}
	return nil
}

func (k *caller) addWaits() {
	k.waits.add(waits{k.stats.ProducerWait, k.stats.ConsumerWait,
		k.stats.Elapsed * time.Duration(max(1, k.stats.Workers))})
}

// verifyCallers reports whether the first results of all callers are right and
// have the same bits.
func (c *caseRun) verifyCallers() bool {
	for i, k := range c.callers {
		sum, o := checksum(k.c[0]), c.p.ref.check(k.c[0])
		if i == 0 {
			c.sum = sum
		}
		if i == 0 || o.maxError > c.outcome.maxError {
			c.outcome = o
		}
		switch {
		case !o.passed():
			c.fail(i, o.String())
			return false
		case sum != c.sum:
			c.fail(i, "other bits than the first caller's")
			return false
		}
	}
	return true
}

// verifyLater checks that no call of the last sample changed a bit.
func (c *caseRun) verifyLater() {
	for i, k := range c.callers {
		for j := range min(k.made, len(k.c)) {
			if checksum(k.c[(k.first+j)%len(k.c)]) != c.sum {
				c.fail(i, "a later call gave other bits than the first")
				return
			}
		}
	}
}

// fail says what is wrong with the result of caller i.
func (c *caseRun) fail(i int, failure string) {
	if len(c.callers) > 1 {
		failure = fmt.Sprintf("caller %d of %d: %s", i+1, len(c.callers), failure)
	}
	c.failure = failure
}
