package bench

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"example.com/leafhopper/asm"
)

// DefaultPeakTime is how long a measurement of the peak should run: long enough
// to drown the start of the threads, short enough to repeat it between samples.
const DefaultPeakTime = 25 * time.Millisecond

// Peak runs the register-only loop of k on the given number of locked threads
// at once for about d each and returns the flops per second of all together.
func Peak(ctx context.Context, k *asm.Kernel, workers int, d time.Duration) (float64, error) {
	if err := k.Supported(); err != nil {
		return 0, fmt.Errorf("bench: kernel %s: %w", k.Name, err)
	}
	if workers < 1 {
		return 0, fmt.Errorf("bench: peak of %s on %d workers: need at least 1", k.Name, workers)
	}
	// Calls stay under about 100 µs, because the loop cannot be preempted.
	chunk := 1
	for {
		start := time.Now()
		k.Peak(chunk)
		if time.Since(start) > 40*time.Microsecond || chunk >= 1<<20 {
			break
		}
		chunk *= 2
	}
	var (
		wg     sync.WaitGroup
		ready  atomic.Int32
		chunks atomic.Int64
		spans  = make([][2]time.Time, workers)
	)
	for w := range workers {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			// The wait spins, so that all start on a running core.
			for ready.Add(1); int(ready.Load()) < workers; {
				runtime.Gosched()
			}
			n := int64(0)
			start := time.Now()
			end := start
			for end.Sub(start) < d && ctx.Err() == nil {
				k.Peak(chunk)
				n++
				end = time.Now()
			}
			spans[w] = [2]time.Time{start, end}
			chunks.Add(n)
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	first, last := spans[0][0], spans[0][1]
	for _, s := range spans[1:] {
		if s[0].Before(first) {
			first = s[0]
		}
		if s[1].After(last) {
			last = s[1]
		}
	}
	flops := float64(chunks.Load()) * float64(chunk) * float64(k.PeakFlops)
	return flops / last.Sub(first).Seconds(), nil
}

// Peaks measures the peak of every kernel on every number of workers, count
// times each and interleaved.
func Peaks(ctx context.Context, kernels []*asm.Kernel, workers []int, count int) ([]PeakResult, error) {
	var peaks []*peakRun
	for _, k := range kernels {
		for _, n := range workers {
			peaks = append(peaks, &peakRun{kernel: k, workers: n})
		}
	}
	var results []PeakResult
	for i := range count {
		for _, p := range peaks {
			if err := p.measure(ctx); err != nil {
				return nil, err
			}
			if i == count-1 {
				results = append(results, p.result())
			}
		}
	}
	return results, nil
}

// peakRun collects the peaks of one kernel on a number of workers.
type peakRun struct {
	kernel  *asm.Kernel
	workers int
	samples []float64 // flop/s
}

func (p *peakRun) measure(ctx context.Context) error {
	flops, err := Peak(ctx, p.kernel, p.workers, DefaultPeakTime)
	if err == nil {
		p.samples = append(p.samples, flops)
	}
	return err
}

func (p *peakRun) result() PeakResult {
	res := PeakResult{Kernel: p.kernel.Name, Workers: p.workers}
	for _, s := range p.samples {
		res.Samples = append(res.Samples, s/1e9)
	}
	res.GFLOPS = median(res.Samples)
	return res
}
