package bench

import (
	"fmt"
	"runtime"
	"time"

	"example.com/leafhopper/gemm"
)

const (
	// watchedFlops is the size from which timed calls carry a context and
	// statistics; smaller products are too short to hide their cost.
	watchedFlops = 1e8
	// calibration is how long the warm-up calls run together, at least.
	calibration = 20 * time.Millisecond
)

// A problem is a workload with its operands, shared by its variants.
type problem struct {
	a, b, c []*operand                  // one each, or copies to rotate over
	packed  map[string][]gemm.AnyMatrix // each of b, by the kernel that a variant names
	c0      *operand                    // C's old value; nil if beta is 0
	ref     *reference                  // nil if nothing is verified
}

// firstBits are the checksum of a result and the way that gave it.
type firstBits struct {
	sum    uint32
	v      Variant
	kernel string
}

// A caseRun is one variant while it is measured.
type caseRun struct {
	v       Variant
	p       *problem
	b       []gemm.AnyMatrix // p's, packed or not
	workers int
	opts    []gemm.Option
	stats   gemm.Stats // of the last call that carried WithStats
	watched bool
	set     int // of operands, for the next call
	batch   int // calls between two looks at the clock
	call    time.Duration
	peak    *peakRun
	sum     uint32 // of the verified result
	outcome outcome
	failure string

	samples, allocs        []float64
	producer, consumer, of time.Duration // waits, and workers × elapsed
}

// prepare makes the first call of v, verifies it, and warms up.
func (x *run) prepare(v Variant) (*caseRun, error) {
	c := &caseRun{v: v, workers: v.Workers, watched: v.Flops() >= watchedFlops, batch: 1}
	if c.workers == 0 {
		c.workers = runtime.GOMAXPROCS(0)
	}
	c.opts = []gemm.Option{
		gemm.WithAlpha(v.Alpha), gemm.WithBeta(v.Beta), gemm.WithWorkers(v.Workers), gemm.WithDepth(v.Depth),
		gemm.WithKernel(v.Kernel), gemm.WithTile(v.Tile[0], v.Tile[1], v.Tile[2]),
		gemm.WithArithmetic(v.Arith), gemm.WithSplitK(max(1, v.SplitK)),
	}
	var err error
	if c.p, err = x.problemOf(v.Workload); err != nil {
		return nil, err
	}
	if c.b, err = x.operandB(c.p, v); err != nil {
		return nil, x.failed(v, err)
	}
	c.p.resetC()
	start := time.Now()
	if err := x.engine.Multiply(c.p.c[0].view, c.p.a[0].view, c.b[0], append(c.opts, gemm.WithStats(&c.stats), gemm.WithContext(x.ctx))...); err != nil {
		return nil, x.failed(v, err)
	}
	c.call = time.Since(start)
	if c.peak, err = x.peakOf(c.stats.Kernel, c.workers); err != nil {
		return nil, err
	}
	x.verifyFirst(c)
	if c.watched {
		c.opts = append(c.opts, gemm.WithStats(&c.stats), gemm.WithContext(x.ctx))
	}
	return c, x.warmUp(c)
}

// problemOf returns w's operands and reference, made when they are first needed.
func (x *run) problemOf(w Workload) (*problem, error) {
	if p := x.problem[w]; p != nil {
		return p, nil
	}
	p := &problem{}
	a, b := newOperand(w.In, w.M, w.K, w.TransA), newOperand(w.In, w.K, w.N, w.TransB)
	a.fill(mix(w.Seed, 0))
	b.fill(mix(w.Seed, 1))
	if w.Beta != 0 {
		p.c0 = newOperand(w.Out, w.M, w.N, false)
		p.c0.fill(mix(w.Seed, 2))
	}
	p.a, p.b = []*operand{a}, []*operand{b}
	for range x.sets(w) {
		if len(p.c) > 0 {
			p.a, p.b = append(p.a, a.clone()), append(p.b, b.clone())
		}
		p.c = append(p.c, newOperand(w.Out, w.M, w.N, false))
		if err := x.ctx.Err(); err != nil {
			return nil, err
		}
	}
	if !x.SkipVerify {
		p.ref = newReference(w, a, b, p.c0)
	}
	x.problem[w] = p
	return p, x.ctx.Err()
}

// operandB returns the copies of B as v wants them.
func (x *run) operandB(p *problem, v Variant) (views []gemm.AnyMatrix, err error) {
	if v.Prepacked && p.packed[v.Kernel] != nil {
		return p.packed[v.Kernel], nil
	}
	for _, b := range p.b {
		view := b.view
		if v.Prepacked {
			if view, err = b.pack(v.packOptions()...); err != nil {
				return nil, err
			}
		}
		if err := x.ctx.Err(); err != nil {
			return nil, err
		}
		views = append(views, view)
	}
	if v.Prepacked {
		if p.packed == nil {
			p.packed = map[string][]gemm.AnyMatrix{}
		}
		p.packed[v.Kernel] = views
	}
	return views, nil
}

// resetC gives every C its old value: NaN if it must not be read.
func (p *problem) resetC() {
	for _, c := range p.c {
		if p.c0 != nil {
			copy(c.raw(), p.c0.raw())
		} else {
			c.poison()
		}
	}
}

// failed wraps an error of the engine; a cancellation is passed on as it is.
func (x *run) failed(v Variant, err error) error {
	if x.ctx.Err() != nil {
		return x.ctx.Err()
	}
	return fmt.Errorf("bench: %dx%dx%d %v to %v %s, depth %d, workers %d, prepacked %v: %w", v.M, v.N, v.K, v.In, v.Out, v.Trans(), v.Depth, v.Workers, v.Prepacked, err)
}

// verifyFirst checks the first result, and that its bits are those of the other
// variants of the same workload and kernel, or arithmetic if that is Hopper's.
func (x *run) verifyFirst(c *caseRun) {
	if c.p.ref == nil {
		return
	}
	c.sum = checksum(c.p.c[0])
	if c.outcome = c.p.ref.check(c.p.c[0]); !c.outcome.passed() {
		c.failure = c.outcome.String()
		return
	}
	key := bitsKey{c.v.Workload, c.stats.Kernel}
	if c.v.Arith == gemm.Hopper {
		key.kernel = ""
	}
	if first, ok := x.bits[key]; !ok {
		x.bits[key] = firstBits{c.sum, c.v, c.stats.Kernel}
	} else if first.sum != c.sum {
		c.failure = fmt.Sprintf("other bits than with depth %d, workers %d, tile %v, kernel %s", first.v.Depth, first.v.Workers, first.v.Tile, first.kernel)
		if first.v.Prepacked != c.v.Prepacked {
			c.failure += fmt.Sprintf(", prepacked %v", first.v.Prepacked)
		}
	}
}

// warmUp repeats the call until it is warm and its time is known.
func (x *run) warmUp(c *caseRun) error {
	if c.call < 2*calibration {
		for n := 1; ; n *= 2 {
			start := time.Now()
			if err := x.calls(c, n, nil); err != nil {
				return err
			}
			d := time.Since(start)
			c.call = d / time.Duration(n)
			if d >= calibration {
				break
			}
		}
	}
	c.batch = int(max(1, x.minTime()/8/max(1, c.call)))
	return nil
}

// calls multiplies n times, and calls each, if it is set, after each.
func (x *run) calls(c *caseRun, n int, each func()) error {
	for range n {
		s := c.set
		if c.set++; c.set == len(c.p.c) {
			c.set = 0
		}
		if err := x.engine.Multiply(c.p.c[s].view, c.p.a[s].view, c.b[s], c.opts...); err != nil {
			return x.failed(c.v, err)
		}
		if each != nil {
			each()
		}
	}
	return x.ctx.Err()
}

// sample takes one sample of c.
func (x *run) sample(c *caseRun) error {
	if c.p.c0 != nil {
		c.p.resetC() // or C would grow from sample to sample
	}
	// The measurement of the peak, or another variant, came before. A product
	// that is long enough not to notice is not run for nothing.
	if c.call < x.minTime()/8 {
		if err := x.calls(c, 1, nil); err != nil {
			return err
		}
	}
	var each func()
	if c.watched {
		each = c.addWaits
	}
	first := c.set
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n, d := 0, time.Duration(0)
	for start := time.Now(); n == 0 || d < x.minTime(); d = time.Since(start) {
		if err := x.calls(c, c.batch, each); err != nil {
			return err
		}
		n += c.batch
	}
	runtime.ReadMemStats(&after)
	c.samples = append(c.samples, d.Seconds()/float64(n))
	c.allocs = append(c.allocs, float64(after.Mallocs-before.Mallocs)/float64(n))
	if !c.watched {
		if err := x.engine.Multiply(c.p.c[0].view, c.p.a[0].view, c.b[0], append(c.opts, gemm.WithStats(&c.stats))...); err != nil {
			return x.failed(c.v, err)
		}
		c.addWaits()
	}
	if c.p.ref != nil && c.p.c0 == nil && c.failure == "" {
		for i := range min(n, len(c.p.c)) {
			if checksum(c.p.c[(first+i)%len(c.p.c)]) != c.sum {
				c.failure = "a later call gave other bits than the first"
			}
		}
	}
	return nil
}

func (c *caseRun) addWaits() {
	c.producer += c.stats.ProducerWait
	c.consumer += c.stats.ConsumerWait
	c.of += c.stats.Elapsed * time.Duration(max(1, c.stats.Workers))
}

func (c *caseRun) result() Result {
	v := c.v
	res := Result{
		M: v.M, N: v.N, K: v.K, DType: v.In.String(), Out: v.Out.String(), Trans: v.Trans(),
		Depth: v.Depth, Workers: c.workers, Kernel: c.stats.Kernel, Prepacked: v.Prepacked, Count: len(c.samples),
		SecondsMedian: median(c.samples), AllocsPerOp: median(c.allocs),
		Samples: c.samples, Inline: c.stats.Inline, Checked: c.p.ref != nil, Failure: c.failure,
	}
	if res.Depth == 0 {
		res.Depth = c.stats.Depth
	}
	if v.Arith != gemm.Native {
		res.Arith = v.Arith.String()
	}
	if v.SplitK > 1 {
		res.SplitK = v.SplitK
	}
	if v.Tile != [3]int{} {
		res.Tile = fmt.Sprintf("%dx%dx%d", v.Tile[0], v.Tile[1], v.Tile[2])
	}
	for i, s := range c.samples {
		if i == 0 || s < res.SecondsMin {
			res.SecondsMin = s
		}
		res.SecondsMax = max(res.SecondsMax, s)
	}
	if res.SecondsMedian > 0 {
		res.GFLOPS = v.Flops() / res.SecondsMedian / 1e9
	}
	if peak := c.peak.result().GFLOPS; peak > 0 {
		res.PeakFraction = res.GFLOPS / peak
	}
	if c.of > 0 {
		res.ProducerWait = c.producer.Seconds() / c.of.Seconds()
		res.ConsumerWait = c.consumer.Seconds() / c.of.Seconds()
	}
	if res.Checked {
		res.Verified = c.failure == ""
		res.MaxError = finite(c.outcome.maxError)
	}
	return res
}
