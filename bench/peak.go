package bench

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"example.com/leafhopper/asm"
)

// DefaultPeakTime is how long a measurement of the peak should run: many slots, so
// that all threads run undisturbed in one of them, and short enough to repeat it
// between samples.
const DefaultPeakTime = 25 * time.Millisecond

// Peak runs the register-only loop of k on the given number of locked threads at once
// for about d and returns the flops per second of all together in the best millisecond.
func Peak(ctx context.Context, k *asm.Kernel, workers int, d time.Duration) (float64, error) {
	p, err := measurePeak(ctx, k, workers, d)
	return p.flops, err
}

// measurePeak is Peak, and measures the clock and the processor time beside it.
func measurePeak(ctx context.Context, k *asm.Kernel, workers int, d time.Duration) (probed, error) {
	if err := k.Supported(); err != nil {
		return probed{}, fmt.Errorf("bench: kernel %s: %w", k.Name, err)
	}
	if workers < 1 {
		return probed{}, fmt.Errorf("bench: peak of %s on %d workers: need at least 1", k.Name, workers)
	}
	p := probe(ctx, k.Peak, k.PeakFlops, workers, d)
	return p, ctx.Err()
}

// ReportPeaks measures the peak of every kernel on every number of workers, count times each and interleaved. The
// report has them, in this order, and what they got of the machine. It is an error if a kernel cannot run here, if a
// number of workers is less than 1, or once ctx is done.
func ReportPeaks(ctx context.Context, kernels []*asm.Kernel, workers []int, count int) (*Report, error) {
	var peaks []*peakRun
	for _, k := range kernels {
		for _, n := range workers {
			peaks = append(peaks, &peakRun{kernel: k, workers: n})
		}
	}
	before := readProcessorTime()
	for range count {
		for _, p := range peaks {
			if err := p.measure(ctx); err != nil {
				return nil, err
			}
		}
	}
	rep := &Report{Machine: ThisMachine(), Load: loadOf(peaks, before)}
	for _, p := range peaks {
		rep.Peak = append(rep.Peak, p.result())
	}
	return rep, nil
}

// peakRun collects the peaks of one kernel on a number of workers.
type peakRun struct {
	kernel  *asm.Kernel
	workers int
	samples []float64 // GFLOP/s, of the best probe of each measurement
	probed            // sums and bests of all probes
	more    int       // probes beyond the first of a measurement
}

// moreProbes is how many more of a measurement's probes may follow the first, and allMore
// how many of all measurements of a peak, while no probe's threads have run together.
const moreProbes, allMore = 3, 40

func (p *peakRun) measure(ctx context.Context) error {
	best := probed{}
	for i := 0; ; i++ {
		m, err := measurePeak(ctx, p.kernel, p.workers, DefaultPeakTime)
		if err != nil {
			return err
		}
		p.got, p.wanted, p.others = p.got+m.got, p.wanted+m.wanted, p.others+m.others
		p.together = p.together || m.together
		p.hz = max(p.hz, m.hz)
		if m.flops > best.flops {
			best = m
		}
		if p.together || i == moreProbes || p.more == allMore {
			break
		}
		p.more++
	}
	p.samples = append(p.samples, best.flops/1e9)
	return nil
}

// result takes the best of all probes: what else the machine has to do makes a probe
// slower, and nothing makes it faster.
func (p *peakRun) result() PeakResult {
	res := PeakResult{
		Kernel: p.kernel.Name, Workers: p.workers,
		GHz: p.hz / 1e9, CPUShare: cpuShare(p.lacked()), LowerBound: !p.together, Samples: p.samples,
	}
	if len(res.Samples) > 0 {
		res.GFLOPS = slices.Max(res.Samples)
	}
	if res.GHz > 0 {
		res.FlopPerCycle = res.GFLOPS / res.GHz / float64(atOnce(p.workers))
	}
	return res
}

// lacked returns the processor time that the threads wanted and others had,
// negative if it is unknown, and all that they wanted. Two threads on one core beside an
// idle one, which happens on a machine that has nothing else to do, lack nothing.
func (p *probed) lacked() (lacked, wanted time.Duration) {
	if p.got == 0 {
		return -1, p.wanted
	}
	return max(0, min(p.wanted-p.got, p.others)), p.wanted
}

// atOnce returns how many of so many threads can run at once.
func atOnce(threads int) int { return min(threads, runtime.GOMAXPROCS(0)) }
