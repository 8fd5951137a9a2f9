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
	c     []*operand       // one of each product of a call, or more to rotate over
	views []gemm.AnyMatrix // of c
	set   int              // of operands, for the next call
	opts  []gemm.Option
	stats gemm.Stats // of the last call that carried WithStats, or what is known of a batch without it

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
		var cs []*operand
		for range c.v.products() {
			cs = append(cs, newOperand(c.v.Out, c.v.M, c.v.N, false))
			if err := x.ctx.Err(); err != nil {
				return err
			}
		}
		p.more = append(p.more, cs)
	}
	for i := range c.v.callers() {
		k := &caller{c: p.c, opts: opts}
		if i > 0 {
			k.c = p.more[i-1]
		}
		k.views = views(k.c)
		if c.watched {
			k.opts = x.watching(c, k)
		}
		c.callers = append(c.callers, k)
	}
	return nil
}

// watching returns the options of a call of k that can be cancelled and, if it is of one product, fills in
// k's statistics.
func (x *run) watching(c *caseRun, k *caller) []gemm.Option {
	opts := append(slices.Clip(k.opts), gemm.WithContext(x.ctx))
	if c.each == 1 {
		opts = append(opts, gemm.WithStats(&k.stats))
	}
	return opts
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
		for i, o := range k.c {
			if old := c.p.c0; old != nil {
				copy(o.raw, old[i%len(old)].raw)
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
			if err := x.calls(c, k, c.burst, c.watched); err != nil {
				failed.Store(true)
				return err
			}
			k.made += c.burst
		}
		return nil
	})
}

// calls has k multiply n times, and adds up its waits if it is asked to.
func (x *run) calls(c *caseRun, k *caller, n int, waits bool) error {
	for range n {
		s := k.set
		if k.set += c.each; k.set == len(k.c) {
			k.set = 0
		}
		if err := x.call(c, k, s, k.opts); err != nil {
			return err
		}
		if waits {
			k.addWaits()
		}
	}
	return x.ctx.Err()
}

// watch has k multiply every product of the batch once, with statistics of a call that has them.
func (x *run) watch(c *caseRun, k *caller) error {
	opts := x.watching(c, k)
	for s := 0; s < c.v.products(); s += c.each {
		if err := x.call(c, k, s, opts); err != nil {
			return err
		}
	}
	return nil
}

// call is one of k with the sets of operands from s on.
func (x *run) call(c *caseRun, k *caller, s int, opts []gemm.Option) (err error) {
	if end := s + c.each; c.each > 1 {
		err = x.engine.MultiplyBatch(k.views[s:end], c.a[s:end], c.b[s:end], opts...)
	} else {
		err = x.engine.Multiply(k.views[s], c.a[s], c.b[s], opts...)
	}
	if err != nil {
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
		for j, ref := range c.p.refs {
			sum, o := checksum(k.c[j]), ref.check(k.c[j])
			if i == 0 {
				c.sums = append(c.sums, sum)
			}
			if o.maxError > c.outcome.maxError {
				c.outcome = o
			}
			switch {
			case !o.passed():
				c.fail(i, j, o.String())
				return false
			case sum != c.sums[j]:
				c.fail(i, j, "other bits than the first caller's")
				return false
			}
		}
	}
	return true
}

// verifyLater checks that no call of the last sample changed a bit.
func (c *caseRun) verifyLater() {
	for i, k := range c.callers {
		for j := range min(k.made*c.each, len(k.c)) {
			set := (k.first + j) % len(k.c)
			if product := set % len(c.sums); checksum(k.c[set]) != c.sums[product] {
				c.fail(i, product, "a later call gave other bits than the first")
				return
			}
		}
	}
}

// fail says what is wrong with the result of caller i, of a product of the batch.
func (c *caseRun) fail(i, product int, failure string) {
	if n := c.v.products(); n > 1 {
		failure = fmt.Sprintf("product %d of %d: %s", product+1, n, failure)
	}
	if len(c.callers) > 1 {
		failure = fmt.Sprintf("caller %d of %d: %s", i+1, len(c.callers), failure)
	}
	c.failure = failure
}
