package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/gemm"
)

// Defaults of a Runner.
const (
	DefaultCount   = 10
	DefaultMinTime = 50 * time.Millisecond
)

// ErrMemory is what an error of [Runner.Validate] wraps if the variants are good
// but their operands do not fit in memory together.
var ErrMemory = errors.New("bench: not enough memory")

// maxSets bounds the operands, copies of each other, so small that each takes less memory
// than what describes it.
const maxSets = 1 << 14

// A Runner measures variants. The zero value takes 10 samples of 50 ms of each,
// warm, and verifies them.
type Runner struct {
	Count      int           // samples of each variant; 0 is DefaultCount
	MinTime    time.Duration // shortest sample; 0 is DefaultMinTime
	SkipVerify bool          // results are not compared with a reference
	// Cold rotates over copies of the operands that together exceed twice the
	// last-level cache, so that no call finds its operands there, as the layers of a
	// model do not. Beside the products it measures what it takes to read as many
	// bytes. Several callers share theirs and cannot be measured so.
	Cold bool
	// Timelines has a run end with traced products of every variant, for [Report.WriteTable]
	// and [Report.WriteTimelines]. Batches cannot be traced.
	Timelines bool
	// ExecutionTrace, if set, gets package runtime/trace's of those products.
	ExecutionTrace io.Writer
	// Progress, if set, is called before every step.
	Progress func(Progress)
}

// Progress says where a run stands.
type Progress struct {
	Step, Steps int           // steps done, and all
	What        string        // what the step does
	Left        time.Duration // estimate for the rest; 0 while unknown
}

// Compare measures the variants. It returns ctx's error when ctx is done, within
// about the time of one product, and beside it the report of those rounds that are whole,
// or nil if none is. A result that fails its verification is no
// error; see [Report.Failures].
func (r *Runner) Compare(ctx context.Context, variants []Variant) (*Report, error) {
	if err := r.Validate(variants); err != nil {
		return nil, err
	}
	engine, err := gemm.New()
	if err != nil {
		return nil, err
	}
	rep, err := r.compare(ctx, engine, variants)
	return rep, errors.Join(err, engine.Close())
}

// Validate reports what makes the variants impossible to measure: the first bad
// variant, or operands that do not fit in memory together, see [ErrMemory].
func (r *Runner) Validate(variants []Variant) error {
	if len(variants) == 0 {
		return errors.New("bench: no variants")
	}
	if r.Count < 0 || r.MinTime < 0 {
		return fmt.Errorf("bench: negative count %d or minimum time %v", r.Count, r.MinTime)
	}
	total := 0.0
	type packed struct {
		Workload
		kernel string
	}
	seen, seenPacked := map[Workload]int{}, map[packed]bool{} // callers with the same operands
	for _, v := range variants {
		if err := v.Validate(); err != nil {
			return err
		}
		if r.Cold && v.Callers > 1 {
			return fmt.Errorf("bench: %d callers share A and B and find them in each other's caches: "+
				"they cannot be measured cold", v.Callers)
		}
		if r.Timelines && v.Batch > 1 {
			return fmt.Errorf("bench: a trace tells of one product, not of a batch of %d", v.Batch)
		}
		operands := v.operands()
		callers := seen[operands]
		if callers == 0 {
			callers, seen[operands] = 1, 1
			total += v.bytes() * float64(r.sets(v.Workload))
		}
		if n := v.callers(); n > callers {
			seen[operands] = n
			total += float64(n-callers) * float64(v.products()) * float64(v.M*v.N*v.Out.Size())
		}
		if key := (packed{v.Workload, v.Kernel}); v.Prepacked && !seenPacked[key] {
			seenPacked[key] = true
			total += float64(v.packedBytes()) * float64(v.products()*r.sets(v.Workload))
		}
	}
	if have := availableMemory(); have > 0 && total > 0.75*float64(have) {
		return fmt.Errorf("%w: the operands take %.1f GiB, more than three quarters of the %.1f GiB available",
			ErrMemory, total/(1<<30), float64(have)/(1<<30))
	}
	return nil
}

// sets returns the number of copies of w's operands, those of a batch together, to rotate over.
func (r *Runner) sets(w Workload) int {
	if !r.Cold {
		return 1
	}
	return min(2*lastLevelCache()/w.Bytes()+2, maxSets/w.products())
}

// steps returns how many steps each variant takes: a first call, its samples, its trace.
func (r *Runner) steps() int {
	if r.Timelines {
		return 2 + r.count()
	}
	return 1 + r.count()
}

func (r *Runner) count() int {
	if r.Count == 0 {
		return DefaultCount
	}
	return r.Count
}

func (r *Runner) minTime() time.Duration {
	if r.MinTime == 0 {
		return DefaultMinTime
	}
	return r.MinTime
}

// A run is the state of one Compare.
type run struct {
	*Runner
	ctx      context.Context
	engine   multiplier
	cases    []*caseRun
	turns    []*caseRun // cases, and their products in a call each, in the order in which they are measured
	matrices map[Workload]*matrices
	problem  map[Workload]*problem
	peaks    []*peakRun
	before   processorTime
	rounds   int // that are whole
	bits     map[bitsKey]firstBits

	step, steps int
	left        time.Duration
}

// A multiplier is a gemm.Engine.
type multiplier interface {
	Multiply(c, a, b gemm.AnyMatrix, opts ...gemm.Option) error
	MultiplyBatch(c, a, b []gemm.AnyMatrix, opts ...gemm.Option) error
}

func (r *Runner) compare(ctx context.Context, engine multiplier, variants []Variant) (*Report, error) {
	x := &run{
		Runner: r, ctx: ctx, engine: engine,
		matrices: map[Workload]*matrices{}, problem: map[Workload]*problem{}, bits: map[bitsKey]firstBits{},
		before: readProcessorTime(),
	}
	for _, v := range variants {
		x.steps += min(v.products(), 2) * r.steps()
	}
	for _, v := range variants {
		if err := x.add(v); err != nil {
			return nil, err
		}
	}
	err := x.measure()
	if err != nil && (ctx.Err() == nil || x.rounds == 0) {
		return nil, err
	}
	rep := x.report()
	if err != nil {
		rep.Notes = append(rep.Notes,
			fmt.Sprintf("interrupted: %d of %s are whole", x.rounds, plural(r.count(), "round")))
	}
	return rep, err
}

// add makes the case of v, and if that is a batch beside it one of as many calls.
func (x *run) add(v Variant) error {
	x.progress("first call of ", v)
	c, err := x.prepare(v, v.products())
	if err != nil {
		return err
	}
	x.cases, x.turns = append(x.cases, c), append(x.turns, c)
	if v.products() > 1 {
		x.progress("first call of ", v)
		if c.calls, err = x.prepare(v, 1); err != nil {
			return err
		}
		x.turns = append(x.turns, c.calls)
	}
	return nil
}

// measure takes the samples, round by round, and the traces.
func (x *run) measure() error {
	var round time.Duration
	for _, c := range x.turns {
		round += max(x.minTime(), c.call)
	}
	runtime.GC() // once: a collection empties the engine's pools
	for i := range x.count() {
		x.left = time.Duration(x.count()-i) * round
		if err := x.measurePeaks(); err != nil {
			return err
		}
		for j := range x.turns {
			c := x.turns[(i+j)%len(x.turns)] // no variant always comes first
			x.progress(fmt.Sprintf("round %d of %d: ", i+1, x.count()), c.v)
			if err := x.sample(c); err != nil {
				return err
			}
			x.left = max(0, x.left-max(x.minTime(), c.call))
		}
		x.rounds++
	}
	if err := x.measurePeaks(); err != nil {
		return err
	}
	if x.Timelines {
		return x.traceAll()
	}
	return nil
}

func (x *run) progress(what string, v Variant) {
	if x.Progress != nil {
		extra := ""
		if v.Prepacked {
			extra = " prepacked"
		}
		if v.Callers > 1 {
			extra += fmt.Sprintf(" %d callers", v.Callers)
		}
		if v.Batch > 1 {
			extra += fmt.Sprintf(" batch %d", v.Batch)
		}
		what = fmt.Sprintf("%s%dx%dx%d %v %v depth %s%s",
			what, v.M, v.N, v.K, v.In, v.Arith, depthName(v.Depth), extra)
		x.Progress(Progress{Step: x.step, Steps: x.steps, What: what, Left: x.left})
	}
	x.step++
}

func (x *run) measurePeaks() error {
	for _, p := range x.peaks {
		if err := p.measure(x.ctx); err != nil {
			return err
		}
	}
	return nil
}

// peakOf returns the collector of the kernel called name on that many workers.
func (x *run) peakOf(name string, workers int) (*peakRun, error) {
	for _, p := range x.peaks {
		if p.kernel.Name == name && p.workers == workers {
			return p, nil
		}
	}
	k := asm.Named(name)
	if k == nil {
		return nil, fmt.Errorf("bench: the engine reports kernel %q, which is not in the list", name)
	}
	p := &peakRun{kernel: k, workers: workers}
	x.peaks = append(x.peaks, p)
	return p, nil
}

func (x *run) report() *Report {
	rep := &Report{Machine: ThisMachine()}
	for _, p := range x.peaks {
		rep.Peak = append(rep.Peak, p.result())
	}
	rep.Load = loadOf(x.peaks, x.before)
	for _, c := range x.cases {
		rep.Results = append(rep.Results, x.result(c))
	}
	x.scale(rep.Results)
	return rep
}
