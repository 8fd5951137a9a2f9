package main

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bench"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/cores"
)

// sliceTime is for how long each of two ways to multiply goes on before the other takes its turn.
const sliceTime = 25 * time.Millisecond

// report measures all parts.
func (n *neighbour) report(ctx context.Context) (*neighbourReport, error) {
	rep := &neighbourReport{
		Machine: bench.ThisMachine(), DType: n.dtype.String(), Workers: n.workers, Pause: n.pause.Seconds(),
		Sleepers: []sleeps{}, Burns: []burn{}, Crowds: []crowd{},
	}
	for _, part := range n.parts {
		if err := n.measure(ctx, rep, part); err != nil {
			return nil, err
		}
	}
	return rep, nil
}

// measure adds a part to rep.
func (n *neighbour) measure(ctx context.Context, rep *neighbourReport, part string) error {
	sizes := n.sizes[part]
	if part == "sleeper" {
		sizes = append([][3]int{{}}, sizes...) // beside nothing
	}
	for _, size := range sizes {
		counts := []int{1}
		if part == "callers" {
			counts = n.crowds
		}
		for _, count := range counts {
			if err := ctx.Err(); err != nil {
				return err
			}
			all, err := n.callers(ctx, size, count)
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

// interruptFlops is the size from which a product is so long that an interrupt does not wait for its end. Others do not
// carry a context, which is not what is measured.
const interruptFlops = 1e10

// newCall returns a caller of products by multiply, which end with ctx if they are long.
func newCall(ctx context.Context, size [3]int, multiply func(...gemm.Option) error) *neighbourCall {
	c := &neighbourCall{size: size, multiply: multiply}
	if c.flops() >= interruptFlops {
		c.multiply = func(opts ...gemm.Option) error {
			return multiply(append(slices.Clip(opts), gemm.WithContext(ctx))...)
		}
	}
	return c
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
func (n *neighbour) callers(ctx context.Context, size [3]int, count int) ([]*neighbourCall, error) {
	all := make([]*neighbourCall, count)
	multiply := n.products(size)
	for i := range all {
		c := newCall(ctx, size, multiply())
		if n.workers > 0 {
			c.opts = []gemm.Option{gemm.WithWorkers(n.workers)}
		}
		for _, opts := range [][]gemm.Option{alone, c.opts} {
			if !c.call(append(slices.Clip(opts), gemm.WithContext(ctx))) {
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
		return productsOf[bf16.BF16, float32](size)
	case asm.F16:
		return productsOf[float16.Float16, float32](size)
	case asm.F64:
		return productsOf[float64, float64](size)
	}
	return productsOf[float32, float32](size)
}

func productsOf[T gemm.Element, O gemm.Output](size [3]int) func() func(...gemm.Option) error {
	a, b := gemm.NewMatrix[T](size[0], size[2]), gemm.NewMatrix[T](size[2], size[1])
	return func() func(...gemm.Option) error {
		c := gemm.NewMatrix[O](size[0], size[1])
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
	s := sleeps{
		M: c.size[0], N: c.size[1], K: c.size[2], Sleeps: len(all),
		GFLOPS: float64(calls) * c.flops() / time.Since(start).Seconds() / 1e9,
	}
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
	start := time.Now()
	for i := 0; ctx.Err() == nil && c.err == nil && (i < 2 || time.Since(start) < n.duration); i++ {
		way, opts := i%2, alone
		if way == 1 {
			opts = c.opts
		}
		time.Sleep(time.Millisecond) // what others have begun, ends
		before := cores.Time()
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
		cpu[way] += cores.Time() - before
	}
	b.Calls = calls[1]
	b.Alone = in[0].Seconds() / float64(max(1, calls[0]))
	b.Call = in[1].Seconds() / float64(max(1, calls[1]))
	if wall[0] > 0 && wall[1] > 0 && in[1] > 0 && cpu[0] > 0 {
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
	for i := 0; i < 2 || i%2 == 1 || time.Since(start) < n.duration; i++ {
		if ctx.Err() != nil {
			return r
		}
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
	r.Alone, r.GFLOPS, r.Ratio = bench.Median(speeds[0]), bench.Median(speeds[1]), bench.Median(ratios)
	r.Barred = len(all) >= m.Workers
	r.Passed = !r.Barred || r.Ratio >= callersBar
	return r
}
