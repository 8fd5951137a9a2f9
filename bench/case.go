package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/cores"
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
	*matrices
	packed map[string][]gemm.AnyMatrix // each of b, by the kernel that a variant names
	refs   []*reference                // one for each product; nil if nothing is verified
}

// matrices are operands, shared by the problems that have the same.
type matrices struct {
	a, b, c []*operand   // one each for every product, or copies of all those to rotate over
	more    [][]*operand // C of the callers after the first
	c0      []*operand   // C's old value for every product; nil if beta is 0
}

// firstBits are the checksums of the results of all products and the way that gave them.
type firstBits struct {
	sums   []uint32
	v      Variant
	kernel string
	each   int
}

// A caseRun is one variant while it is measured.
type caseRun struct {
	v       Variant
	p       *problem
	a, b    []gemm.AnyMatrix // p's, those of B packed or not
	each    int              // products in a call: all of the batch, or 1
	calls   *caseRun         // the same products in calls of one each, if there are several
	workers int
	callers []*caller
	watched bool
	burst   int           // calls of each caller between two looks at the clock
	call    time.Duration // in which each caller makes a call
	peak    *peakRun
	sums    []uint32 // of the verified results
	outcome outcome
	failure string

	// A round adds one of each.
	samples, allocs []float64
	reads           []float64 // seconds to read A and B, if they are cold
	waits           []waits

	trace *gemm.Trace
}

// prepare makes the first call of v, with each products, or as many as all of them take, verifies it, and warms up.
func (x *run) prepare(v Variant, each int) (*caseRun, error) {
	c := &caseRun{v: v, each: each, workers: v.Workers, watched: float64(each)*v.Flops() >= watchedFlops, burst: 1}
	if c.workers == 0 {
		c.workers = cores.Count()
	}
	var err error
	if c.p, err = x.problemOf(v.Workload); err != nil {
		return nil, err
	}
	c.a = views(c.p.a)
	if c.b, err = x.operandB(c.p, v); err != nil {
		return nil, x.failed(v, err)
	}
	if err := x.hire(c, options(v)); err != nil {
		return nil, err
	}
	if c.each > 1 { // statistics are of one product
		k, err := asm.SelectArithmetic(v.In, v.Arith, v.Kernel)
		if err != nil {
			return nil, err
		}
		c.callers[0].stats = gemm.Stats{Kernel: k.Name, Depth: v.Depth}
	}
	c.resetC(x.ctx)
	if c.call, _, err = c.together(func(k *caller, _ time.Time) error { return x.watch(c, k) }); err != nil {
		return nil, err
	}
	c.call /= time.Duration(c.turn())
	if c.peak, err = x.peakOf(c.callers[0].stats.Kernel, c.threads()); err != nil {
		return nil, err
	}
	x.verifyFirst(c)
	return c, x.warmUp(c)
}

// turn returns the calls that all products of the batch take.
func (c *caseRun) turn() int { return c.v.products() / c.each }

// options returns the options of v, without those that are what Multiply does
// anyway: a small product would notice them.
func options(v Variant) (opts []gemm.Option) {
	add := func(o gemm.Option, needed bool) {
		if needed {
			opts = append(opts, o)
		}
	}
	add(gemm.WithAlpha64(v.Alpha), v.Alpha != 1)
	add(gemm.WithBeta64(v.Beta), v.Beta != 0)
	add(gemm.WithWorkers(v.Workers), v.Workers != 0)
	add(gemm.WithDepth(v.Depth), v.Depth != 0)
	add(gemm.WithKernel(v.Kernel), v.Kernel != "")
	add(gemm.WithTile(v.Tile[0], v.Tile[1], v.Tile[2]), v.Tile != [3]int{})
	add(gemm.WithArithmetic(v.Arith), v.Arith != gemm.Native)
	add(gemm.WithSplitK(v.SplitK), v.SplitK > 1)
	add(gemm.WithPromotion(v.Promotion), v.Promotion > 0)
	vectors := v.vectors()
	add(gemm.WithScales(vectors.scaleA, vectors.scaleB), v.Scales != NoScales)
	add(gemm.WithBias(vectors.bias), v.Bias)
	add(gemm.WithActivation(v.Activation), v.Activation != gemm.Identity)
	return opts
}

// problemOf returns w with its operands and reference, made when they are first needed.
func (x *run) problemOf(w Workload) (*problem, error) {
	if p := x.problem[w]; p != nil {
		return p, nil
	}
	o, err := x.matricesOf(w.operands())
	if err != nil {
		return nil, err
	}
	p := &problem{matrices: o}
	for i := range w.products() {
		if x.SkipVerify {
			break
		}
		var c0 *operand
		if o.c0 != nil {
			c0 = o.c0[i]
		}
		p.refs = append(p.refs, newReference(w, o.a[i], o.b[i], c0))
		if err := x.ctx.Err(); err != nil {
			return nil, err
		}
	}
	x.problem[w] = p
	return p, x.ctx.Err()
}

// matricesOf returns the operands of w, made when they are first needed.
func (x *run) matricesOf(w Workload) (*matrices, error) {
	if o := x.matrices[w]; o != nil {
		return o, nil
	}
	o, n := &matrices{}, w.products()
	for i := range n * x.sets(w) {
		if i >= n {
			o.a, o.b = append(o.a, o.a[i-n].clone()), append(o.b, o.b[i-n].clone())
		} else {
			a, b, c0 := newOperands(x.ctx, w.product(i))
			if o.a, o.b = append(o.a, a), append(o.b, b); c0 != nil {
				o.c0 = append(o.c0, c0)
			}
		}
		o.c = append(o.c, newOperand(w.Out, w.M, w.N, false))
		if err := x.ctx.Err(); err != nil {
			return nil, err
		}
	}
	x.matrices[w] = o
	return o, nil
}

// newOperands returns A, B and, if beta is not 0, C's old value. They are not whole once ctx is done.
func newOperands(ctx context.Context, w Workload) (a, b, c0 *operand) {
	a, b = newOperand(w.In, w.M, w.K, w.TransA), newOperand(w.In, w.K, w.N, w.TransB)
	a.fill(ctx, mix(w.Seed, 0))
	b.fill(ctx, mix(w.Seed, 1))
	if w.Beta != 0 {
		c0 = newOperand(w.Out, w.M, w.N, false)
		c0.fill(ctx, mix(w.Seed, 2))
	}
	return a, b, c0
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

// failed wraps an error of the engine; a cancellation is passed on as it is.
func (x *run) failed(v Variant, err error) error {
	if x.ctx.Err() != nil {
		return x.ctx.Err()
	}
	return fmt.Errorf("bench: %dx%dx%d %v to %v %s, depth %s, workers %d, callers %d, batch %d, prepacked %v: %w",
		v.M, v.N, v.K, v.In, v.Out, v.Trans(), depthName(v.Depth), v.Workers, v.callers(), v.products(), v.Prepacked,
		err)
}

// verifyFirst checks the first results of every caller, and that their bits are
// those of the other variants of the same workload and kernel, or arithmetic if
// that is Hopper's.
func (x *run) verifyFirst(c *caseRun) {
	if c.p.refs == nil {
		return
	}
	kernel := c.callers[0].stats.Kernel
	if !c.verifyCallers() {
		return
	}
	key := bitsKey{c.v.Workload, kernel}
	if c.v.Arith == gemm.Hopper {
		key.kernel = ""
	}
	if first, ok := x.bits[key]; !ok {
		x.bits[key] = firstBits{c.sums, c.v, kernel, c.each}
	} else if !slices.Equal(first.sums, c.sums) {
		c.failure = fmt.Sprintf("other bits than with depth %s, workers %d, tile %v, kernel %s",
			depthName(first.v.Depth), first.v.Workers, first.v.Tile, first.kernel)
		if first.v.Prepacked != c.v.Prepacked {
			c.failure += fmt.Sprintf(", prepacked %v", first.v.Prepacked)
		}
		if first.v.callers() != c.v.callers() {
			c.failure += fmt.Sprintf(", callers %d", first.v.callers())
		}
		if first.each != c.each {
			c.failure += fmt.Sprintf(", %s a call", plural(first.each, "product"))
		}
	}
}

// warmUp repeats the call until it is warm and its time is known.
func (x *run) warmUp(c *caseRun) error {
	if c.call < 2*calibration {
		for n := 1; ; n *= 2 {
			d, _, err := c.together(func(k *caller, _ time.Time) error { return x.calls(c, k, n, false) })
			if err != nil {
				return err
			}
			c.call = d / time.Duration(n)
			if d >= calibration {
				break
			}
		}
	}
	c.burst = int(max(1, x.minTime()/8/max(1, c.call)))
	return nil
}

// sample takes one sample of c.
func (x *run) sample(c *caseRun) error {
	if c.p.c0 != nil {
		c.resetC(x.ctx) // or C would grow from sample to sample
	}
	// The measurement of the peak, or another variant, came before. A product
	// that is long enough not to notice is not run for nothing.
	if n := c.turn(); time.Duration(n)*c.call < x.minTime()/8 {
		if _, _, err := c.together(func(k *caller, _ time.Time) error { return x.calls(c, k, n, false) }); err != nil {
			return err
		}
	}
	for _, k := range c.callers {
		k.first, k.made, k.waits = k.set, 0, waits{}
	}
	d, mallocs, err := x.timed(c)
	if err != nil {
		return err
	}
	n := 0
	for _, k := range c.callers {
		n += k.made
	}
	if !c.watched && c.v.products() == 1 {
		_, _, err := c.together(func(k *caller, _ time.Time) error {
			defer k.addWaits()
			return x.watch(c, k)
		})
		if err != nil {
			return err
		}
	}
	var w waits
	for _, k := range c.callers {
		w.add(k.waits)
	}
	c.samples = append(c.samples, d.Seconds()*float64(len(c.callers)*c.turn())/float64(n))
	c.allocs = append(c.allocs, float64(mallocs)/float64(n))
	if x.Cold && c.turn() == 1 {
		c.reads = append(c.reads, c.readCold().Seconds())
	}
	c.waits = append(c.waits, w)
	if c.p.refs != nil && c.p.c0 == nil && c.failure == "" {
		c.verifyLater()
	}
	return nil
}

// result returns what the whole rounds say of c.
func (x *run) result(c *caseRun) Result {
	v, stats, samples := c.v, &c.callers[0].stats, c.samples[:x.rounds]
	res := Result{
		M: v.M, N: v.N, K: v.K, DType: v.In.String(), Out: v.Out.String(), Trans: v.Trans(),
		Depth: v.Depth, DepthUsed: stats.Depth, Workers: c.workers, Kernel: stats.Kernel,
		Prepacked: v.Prepacked, Count: len(samples),
		SecondsMedian: Median(samples), AllocsPerOp: Median(c.allocs[:x.rounds]),
		Samples: samples, Trace: c.trace, Checked: c.p.refs != nil, Failure: c.failure,
		Arith: v.Arith.String(), Alpha: v.Alpha, Beta: v.Beta, Seed: v.Seed,
		Cold: x.Cold, MinTime: x.minTime().Seconds(),
	}
	res.Promotion, res.Bias = v.Promotion, v.Bias
	if v.Scales != NoScales {
		res.Scales = v.Scales.String()
	}
	if v.Activation != gemm.Identity {
		res.Activation = v.Activation.String()
	}
	if v.SplitK > 1 {
		res.SplitK = v.SplitK
	}
	if v.Callers > 1 {
		res.Callers = v.Callers
	}
	if c.calls != nil {
		res.Batch, res.CallsSamples = v.Batch, c.calls.samples[:x.rounds]
		if res.Failure == "" && c.calls.failure != "" {
			res.Failure = "in a call for each product: " + c.calls.failure
		}
	}
	if v.Tile != [3]int{} {
		res.Tile = fmt.Sprintf("%dx%dx%d", v.Tile[0], v.Tile[1], v.Tile[2])
	}
	for i, s := range samples {
		if i == 0 || s < res.SecondsMin {
			res.SecondsMin = s
		}
		res.SecondsMax = max(res.SecondsMax, s)
	}
	if res.SecondsMedian > 0 {
		res.GFLOPS = res.gflops(res.SecondsMedian)
	}
	if x.Cold && res.SecondsMedian > 0 {
		bytes := float64(v.products()) * float64(v.M*v.K+v.K*v.N) * float64(v.In.Size())
		res.GBs, res.ReadGBs = bytes/res.SecondsMedian/1e9, bytes/Median(c.reads[:x.rounds])/1e9
	}
	if peak := c.peak.result().GFLOPS; peak > 0 {
		res.PeakFraction = res.GFLOPS / peak
	}
	var w waits
	for _, v := range c.waits[:x.rounds] {
		w.add(v)
	}
	if w.of > 0 {
		res.ProducerWait = w.producer.Seconds() / w.of.Seconds()
		res.ConsumerWait = w.consumer.Seconds() / w.of.Seconds()
	}
	if res.Checked {
		res.Verified = res.Failure == ""
		res.MaxError = finite(c.outcome.maxError)
	}
	return res
}
