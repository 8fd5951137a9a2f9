package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bench"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// The bars of a good neighbour.
const (
	sleepMedianBar = 1500 * time.Microsecond // of sleeps of a millisecond
	sleepTailBar   = 5 * time.Millisecond    // 99 of 100
	burnBar        = 1.3                     // processor time of a helper, in times of calls,
	burnLeast      = 0.02                    // unless it is no more of a core than can be measured
	callersBar     = 0.95                    // of the speed of one worker each, if there are as many as cores
)

// slices of time in which two ways to multiply take turns.
const sliceTime = 25 * time.Millisecond

// A neighbour measures what products do to others in the same process.
type neighbour struct {
	dtype    asm.Type
	workers  int
	duration time.Duration
	pause    time.Duration
}

// Sleeps are how long a goroutine slept that wanted to sleep for a millisecond, beside products.
type sleeps struct {
	M       int     `json:"m"` // 0: beside nothing
	N       int     `json:"n"`
	K       int     `json:"k"`
	GFLOPS  float64 `json:"gflops"`
	Sleeps  int     `json:"sleeps"`
	Median  float64 `json:"median_seconds"`
	P99     float64 `json:"p99_seconds"`
	Longest float64 `json:"longest_seconds"`
	Passed  bool    `json:"passed"`
}

// A burn is the processor time that helpers use where products come with a pause between them.
type burn struct {
	M       int     `json:"m"`
	N       int     `json:"n"`
	K       int     `json:"k"`
	Calls   int     `json:"calls"`
	Call    float64 `json:"call_seconds"`    // mean time of a call
	Alone   float64 `json:"alone_seconds"`   // the same of one worker
	Helpers float64 `json:"helpers_cores"`   // that helpers kept busy, beyond what one worker does
	Ratio   float64 `json:"helpers_to_call"` // their processor time to the time in calls, for each helper that may come
	Passed  bool    `json:"passed"`
}

// A crowd is callers that multiply at once.
type crowd struct {
	M       int     `json:"m"`
	N       int     `json:"n"`
	K       int     `json:"k"`
	Callers int     `json:"callers"`
	GFLOPS  float64 `json:"gflops"`
	Alone   float64 `json:"alone_gflops"` // with one worker each
	Ratio   float64 `json:"ratio"`        // median of those of neighbouring moments
	Barred  bool    `json:"barred"`       // there are as many callers as processors
	Passed  bool    `json:"passed"`
}

type neighbourReport struct {
	Machine  bench.Machine `json:"machine"`
	DType    string        `json:"dtype"`
	Workers  int           `json:"workers"` // 0 is the default
	Pause    float64       `json:"pause_seconds"`
	Sleepers []sleeps      `json:"sleepers"`
	Burns    []burn        `json:"burns"`
	Crowds   []crowd       `json:"callers"`
}

var neighbourParts = []string{"sleeper", "burn", "callers"}

func setupNeighbour(fs *flag.FlagSet) func(context.Context, io.Writer, io.Writer) error {
	var out output
	out.declare(fs, "table", "json")
	part := fs.String("part", strings.Join(neighbourParts, ","), "`list` of what to measure: "+strings.Join(neighbourParts, ", "))
	size := fs.String("size", "", "`list` of sizes, MxNxK or one number (default: 128,512,2048 for sleeper, 32 to 256 for burn, 32 to 512 for callers)")
	dtype := fs.String("dtype", "f32", "`type` of A and B: bf16, f16, f32")
	workers := fs.Int("workers", 0, "workers of a call, `n`; 0 is the default of a call that does not say")
	callers := fs.String("callers", "2,8,64", "`list` of numbers of callers at once")
	duration := fs.Duration("duration", time.Second, "`time` for each row of the table, 50ms to 10m")
	pause := fs.Duration("pause", 150*time.Microsecond, "`time` between calls of burn, 0 to 1s")
	return func(ctx context.Context, stdout, _ io.Writer) error {
		parts, err := parseList(*part, parsePart)
		if err != nil {
			return usagef("neighbour: -part: %w", err)
		}
		sizes := map[string][][3]int{"sleeper": squares(128, 512, 2048), "burn": squares(32, 64, 128, 256), "callers": squares(32, 64, 128, 256, 512)}
		if *size != "" {
			shapes, err := parseList(*size, parseShapes)
			if err != nil {
				return usagef("neighbour: -size: %w", err)
			}
			for name := range sizes {
				sizes[name] = shapes
			}
		}
		elem, err := parseType([]asm.Type{asm.BF16, asm.F16, asm.F32})(*dtype)
		if err != nil {
			return usagef("neighbour: -dtype: %w", err)
		}
		crowds, err := parseList(*callers, parseInts(1, bench.MaxCallers))
		if err != nil {
			return usagef("neighbour: -callers: %w", err)
		}
		switch {
		case *workers < 0 || *workers > gemm.MaxWorkers:
			return usagef("neighbour: -workers: %d is outside 0..%d", *workers, gemm.MaxWorkers)
		case *duration < 50*time.Millisecond || *duration > 10*time.Minute:
			return usagef("neighbour: -duration: %v is outside 50ms..10m", *duration)
		case *pause < 0 || *pause > time.Second:
			return usagef("neighbour: -pause: %v is outside 0s..1s", *pause)
		}
		if err := out.open(stdout); err != nil {
			return err
		}
		defer out.discard()
		n := &neighbour{elem[0], *workers, *duration, *pause}
		rep := &neighbourReport{Machine: bench.ThisMachine(), DType: n.dtype.String(), Workers: n.workers, Pause: n.pause.Seconds(),
			Sleepers: []sleeps{}, Burns: []burn{}, Crowds: []crowd{}}
		for _, part := range parts {
			if err := n.measure(ctx, rep, part, sizes[part], crowds); err != nil {
				return err
			}
		}
		return out.write(func(w io.Writer) error { return rep.write(w, out.format) })
	}
}

func parsePart(s string) ([]string, error) {
	if !slices.Contains(neighbourParts, strings.ToLower(s)) {
		return nil, fmt.Errorf("%q is not one of %s", s, strings.Join(neighbourParts, ", "))
	}
	return []string{strings.ToLower(s)}, nil
}

func squares(sizes ...int) (all [][3]int) {
	for _, n := range sizes {
		all = append(all, [3]int{n, n, n})
	}
	return all
}

// measure measures a part.
func (n *neighbour) measure(ctx context.Context, rep *neighbourReport, part string, sizes [][3]int, callers []int) error {
	if part == "sleeper" {
		sizes = append([][3]int{{}}, sizes...) // beside nothing
	}
	for _, size := range sizes {
		counts := []int{1}
		if part == "callers" {
			counts = callers
		}
		for _, count := range counts {
			if err := ctx.Err(); err != nil {
				return err
			}
			all, err := n.callers(size, count)
			if err != nil {
				return err
			}
			switch part {
			case "sleeper":
				rep.Sleepers = append(rep.Sleepers, n.sleeper(ctx, all[0]))
			case "burn":
				rep.Burns = append(rep.Burns, n.burn(ctx, all[0], helpersOf(n.workers, rep.Machine)))
			default:
				rep.Crowds = append(rep.Crowds, n.crowd(ctx, all, rep.Machine))
			}
			for _, c := range all {
				if c.err != nil {
					return c.err
				}
			}
		}
	}
	return ctx.Err()
}

// helpersOf returns how many helpers a call may have.
func helpersOf(workers int, m bench.Machine) int {
	if workers == 0 {
		workers = m.Workers
	}
	return max(1, workers-1)
}

// A neighbourCall is one caller's product.
type neighbourCall struct {
	size     [3]int
	multiply func(opts ...gemm.Option) error
	opts     []gemm.Option
	err      error
}

func (c *neighbourCall) flops() float64 {
	return 2 * float64(c.size[0]) * float64(c.size[1]) * float64(c.size[2])
}

// call multiplies once, and reports whether that went well.
func (c *neighbourCall) call(opts []gemm.Option) bool {
	if c.err == nil {
		c.err = c.multiply(opts...)
	}
	return c.err == nil
}

var alone = []gemm.Option{gemm.WithWorkers(1)}

// callers makes callers of products of a size, which share A and B, and has each call once.
func (n *neighbour) callers(size [3]int, count int) ([]*neighbourCall, error) {
	all := make([]*neighbourCall, count)
	multiply := n.products(size)
	for i := range all {
		c := &neighbourCall{size: size, multiply: multiply()}
		if n.workers > 0 {
			c.opts = []gemm.Option{gemm.WithWorkers(n.workers)}
		}
		for _, opts := range [][]gemm.Option{alone, c.opts} {
			if !c.call(opts) {
				return nil, c.err
			}
		}
		all[i] = c
	}
	return all, nil
}

// products returns what makes a product with a C of its own.
func (n *neighbour) products(size [3]int) func() func(...gemm.Option) error {
	switch n.dtype {
	case asm.BF16:
		return productsOf[bf16.BF16](size)
	case asm.F16:
		return productsOf[float16.Float16](size)
	}
	return productsOf[float32](size)
}

func productsOf[T gemm.Element](size [3]int) func() func(...gemm.Option) error {
	a, b := gemm.NewMatrix[T](size[0], size[2]), gemm.NewMatrix[T](size[2], size[1])
	return func() func(...gemm.Option) error {
		c := gemm.NewMatrix[float32](size[0], size[1])
		return func(opts ...gemm.Option) error { return gemm.Multiply(c, a, b, opts...) }
	}
}

// sleeper has a goroutine sleep for a millisecond, again and again, beside products back to back.
func (n *neighbour) sleeper(ctx context.Context, c *neighbourCall) sleeps {
	var stop atomic.Bool
	var wg sync.WaitGroup
	calls := 0
	start := time.Now()
	if c.flops() > 0 {
		wg.Go(func() {
			for !stop.Load() && c.call(c.opts) {
				calls++
			}
		})
	}
	var all []time.Duration
	for time.Since(start) < n.duration && ctx.Err() == nil {
		from := time.Now()
		time.Sleep(time.Millisecond)
		all = append(all, time.Since(from))
	}
	stop.Store(true)
	wg.Wait()
	s := sleeps{M: c.size[0], N: c.size[1], K: c.size[2], Sleeps: len(all), GFLOPS: float64(calls) * c.flops() / time.Since(start).Seconds() / 1e9}
	if slices.Sort(all); len(all) > 0 {
		median, p99 := all[len(all)/2], all[len(all)*99/100]
		s.Median, s.P99, s.Longest = median.Seconds(), p99.Seconds(), all[len(all)-1].Seconds()
		s.Passed = median <= sleepMedianBar && p99 <= sleepTailBar
	}
	return s
}

// burn has one caller call with a pause between calls, in which it waits without giving its
// processor away, and compares the processor time of the process with that of one worker.
func (n *neighbour) burn(ctx context.Context, c *neighbourCall, helpers int) burn {
	b := burn{M: c.size[0], N: c.size[1], K: c.size[2]}
	var wall, cpu, in [2]time.Duration // with one worker, and with all
	var calls [2]int
	known := true
	start := time.Now()
	for i := 0; i < 2 || time.Since(start) < n.duration && ctx.Err() == nil && c.err == nil; i++ {
		way, opts := i%2, alone
		if way == 1 {
			opts = c.opts
		}
		time.Sleep(time.Millisecond) // what others have begun, ends
		before, ok := cpuTime()
		from := time.Now()
		for time.Since(from) < sliceTime {
			at := time.Now()
			if !c.call(opts) {
				break
			}
			in[way] += time.Since(at)
			calls[way]++
			for at = time.Now(); time.Since(at) < n.pause; {
			}
		}
		wall[way] += time.Since(from)
		after, _ := cpuTime()
		cpu[way] += after - before
		known = known && ok
	}
	b.Calls = calls[1]
	b.Alone = in[0].Seconds() / float64(max(1, calls[0]))
	b.Call = in[1].Seconds() / float64(max(1, calls[1]))
	if wall[0] > 0 && wall[1] > 0 && in[1] > 0 && known {
		b.Helpers = max(0, cpu[1].Seconds()/wall[1].Seconds()-cpu[0].Seconds()/wall[0].Seconds())
		b.Ratio = b.Helpers * wall[1].Seconds() / in[1].Seconds() / float64(helpers)
		b.Passed = b.Ratio <= burnBar || b.Helpers <= burnLeast
	}
	return b
}

// crowd has callers multiply at once, with one worker each and as they would, in turns.
func (n *neighbour) crowd(ctx context.Context, all []*neighbourCall, m bench.Machine) crowd {
	size := all[0].size
	r := crowd{M: size[0], N: size[1], K: size[2], Callers: len(all)}
	var speeds [2][]float64
	start := time.Now()
	for i := 0; i < 2 || i%2 == 1 || time.Since(start) < n.duration && ctx.Err() == nil; i++ {
		way := (i + i/2) % 2 // each comes first as often
		var calls atomic.Int64
		var stop atomic.Bool
		var wg sync.WaitGroup
		from := time.Now()
		for _, c := range all {
			wg.Go(func() {
				opts := alone
				if way == 1 {
					opts = c.opts
				}
				for n := 0; n == 0 || !stop.Load(); n++ {
					if !c.call(opts) {
						return
					}
					calls.Add(1)
					if time.Since(from) > sliceTime {
						stop.Store(true)
					}
				}
			})
		}
		wg.Wait()
		speeds[way] = append(speeds[way], float64(calls.Load())*all[0].flops()/time.Since(from).Seconds()/1e9)
	}
	var ratios []float64
	for i := range speeds[0] {
		ratios = append(ratios, speeds[1][i]/speeds[0][i])
	}
	r.Alone, r.GFLOPS, r.Ratio = middle(speeds[0]), middle(speeds[1]), middle(ratios)
	r.Barred = len(all) >= m.Workers
	r.Passed = !r.Barred || r.Ratio >= callersBar
	return r
}

// middle returns the median of values, of which there are some.
func middle(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return (values[len(values)/2] + values[(len(values)-1)/2]) / 2
}

func (r *neighbourReport) write(w io.Writer, format string) error {
	if format == "json" {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	m := r.Machine
	fmt.Fprintf(w, "%s, GOMAXPROCS %d, %s; %s\n", m.CPU, m.GOMAXPROCS, workersLine(m), r.DType)
	if len(r.Sleepers) > 0 {
		fmt.Fprintf(w, "\nsleeper: a goroutine sleeps 1 ms, beside products back to back; at most %v in the median, %v for 99 of 100\n\n", sleepMedianBar, sleepTailBar)
		t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, "beside\tGFLOP/s\tmedian\t99 of 100\tlongest\t\t")
		for _, s := range r.Sleepers {
			beside, speed := "nothing", "-"
			if s.M > 0 {
				beside, speed = shapeName(s.M, s.N, s.K), fmt.Sprintf("%.1f", s.GFLOPS)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t\n", beside, speed, shortTime(s.Median), shortTime(s.P99), shortTime(s.Longest), verdict(s.Passed, true))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if len(r.Burns) > 0 {
		fmt.Fprintf(w, "\nburn: one call every %v; a helper's processor time is at most %.1f times the time in calls\n\n", time.Duration(r.Pause*1e9), burnBar)
		t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, "product\tcall\tone worker\thelpers' cores\tof the time in calls\t\t")
		for _, b := range r.Burns {
			fmt.Fprintf(t, "%s\t%s\t%s\t%.2f\t%.2f\t%s\t\n", shapeName(b.M, b.N, b.K), shortTime(b.Call), shortTime(b.Alone), b.Helpers, b.Ratio, verdict(b.Passed, true))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if len(r.Crowds) > 0 {
		fmt.Fprintf(w, "\ncallers: so many multiply at once; at least %.2f of one worker each, if they are as many as processors\n\n", callersBar)
		t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, "product\tcallers\tGFLOP/s\tone worker each\tratio\t\t")
		for _, c := range r.Crowds {
			fmt.Fprintf(t, "%s\t%d\t%.1f\t%.1f\t%.2f\t%s\t\n", shapeName(c.M, c.N, c.K), c.Callers, c.GFLOPS, c.Alone, c.Ratio, verdict(c.Passed, c.Barred))
		}
		return t.Flush()
	}
	return nil
}

func shapeName(m, n, k int) string {
	if m == n && n == k {
		return fmt.Sprintf("%d³", m)
	}
	return fmt.Sprintf("%dx%dx%d", m, n, k)
}

// shortTime formats seconds.
func shortTime(s float64) string {
	d := time.Duration(s * 1e9)
	switch {
	case d < 100*time.Microsecond:
		return d.Round(10 * time.Nanosecond).String()
	case d < 10*time.Millisecond:
		return d.Round(time.Microsecond).String()
	}
	return d.Round(100 * time.Microsecond).String()
}

func verdict(passed, barred bool) string {
	switch {
	case !barred:
		return ""
	case passed:
		return "ok"
	}
	return "missed"
}
