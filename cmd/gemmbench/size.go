package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bench"
	"example.com/leafhopper/internal/cli"
	"example.com/leafhopper/internal/cores"
)

const (
	// budget is how long all products of a run with a chosen size may take
	// together; shortest samples, peaks, references and checks come on top.
	budget = 12 * time.Second
	// expected is the fraction of the peak that the choice counts on. Less only
	// makes the run longer.
	expected = 0.8

	// maxSize is large enough for several stages of K and many tiles, and so small that
	// the rounds are short.
	minSize, maxSize = 128, 1024
)

// chooseSize gives all variants the same square size, the largest that keeps
// the samples and a first call of each within the budget and fits in memory, and
// returns a line that says so if it is not the usual one.
func chooseSize(ctx context.Context, r *bench.Runner, variants []bench.Variant) (string, error) {
	type pair struct {
		kernel  *asm.Kernel
		workers int
	}
	peaks := map[pair]float64{}
	calls, seconds := 0, 0.0 // for products of size 1
	for _, v := range variants {
		k, err := asm.SelectArithmetic(v.In, v.Arith, v.Kernel)
		if err != nil {
			return "", err
		}
		p := pair{k, v.Workers}
		if p.workers == 0 {
			p.workers = cores.Count()
		}
		if peaks[p] == 0 {
			if peaks[p], err = bench.Peak(ctx, k, p.workers, 2*bench.DefaultPeakTime); err != nil {
				return "", err
			}
		}
		// More workers than cores do not add up; the measured peak knows.
		n := (r.Count + 1) * max(1, v.Callers)
		products := n * max(1, v.Batch)
		if v.Batch > 1 { // which are computed in as many calls, too
			n, products = n+products, 2*products
		}
		calls += n
		seconds += float64(products) * 2 / (expected * peaks[p])
	}
	size, err := fit(r, variants, roundSize(math.Cbrt(budget.Seconds()/seconds)))
	if err != nil {
		return "", err
	}
	if size == maxSize {
		return "", nil // what everybody measures
	}
	return fmt.Sprintf("size chosen so that %d calls take about %.0f s here (-size sets it)",
		calls, float64(size)*float64(size)*float64(size)*seconds), nil
}

// fit gives all variants that size or, while they do not fit in memory, half of
// it. Whatever else makes them impossible to measure is a fault of the flags.
func fit(r *bench.Runner, variants []bench.Variant, size int) (int, error) {
	for {
		for i := range variants {
			v := &variants[i]
			v.M, v.N, v.K = size, size, size
		}
		err := r.Validate(variants)
		if err == nil {
			return size, nil
		}
		if !errors.Is(err, bench.ErrMemory) || size == minSize {
			return 0, cli.Usagef("compare: size %d, chosen for want of -size: %w", size, err)
		}
		size = roundSize(float64(size) / 2)
	}
}

// roundSize rounds down to a round size.
func roundSize(size float64) int {
	const step = 128
	return min(max(int(size)/step*step, minSize), maxSize)
}
