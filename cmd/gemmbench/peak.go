package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bench"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/cli"
	"example.com/leafhopper/internal/cores"
)

func setupPeak(fs *flag.FlagSet) func(context.Context, io.Writer, io.Writer) error {
	var out output
	out.declare(fs, "table", "json")
	kernel := fs.String("kernel", "", "`list` of kernels; auto is the best of each -dtype (default: all that run here)")
	dtype := fs.String("dtype", "", "`list` of "+nameList(types)+
		": kernels that multiply one of these (default: all kernels, and auto for bf16)")
	workers := fs.String("workers", "1,0", "`list` of worker counts; 0 is as many as a product takes of itself")
	count := fs.Int("count", bench.DefaultCount, "measurements of each, `n` >= 1; the best is printed")
	return func(ctx context.Context, stdout, _ io.Writer) error {
		kernels, err := peakKernels(*kernel, *dtype)
		if err != nil {
			return err
		}
		counts, err := parseList(*workers, parseInts(0, gemm.MaxWorkers))
		if err != nil {
			return cli.Usagef("peak: -workers: %w", err)
		}
		for i, n := range counts {
			if n == 0 {
				counts[i] = cores.Count()
			}
		}
		slices.Sort(counts)
		counts = slices.Compact(counts)
		if *count < 1 || *count > 10000 {
			return cli.Usagef("peak: -count: %d is outside 1..10000", *count)
		}
		if err := out.open(stdout); err != nil {
			return err
		}
		defer out.discard()
		rep, err := bench.ReportPeaks(ctx, kernels, counts, *count)
		if err != nil {
			return err
		}
		return out.write(func(w io.Writer) error {
			if out.format == "json" {
				return rep.WriteJSON(w)
			}
			return writePeaks(w, rep)
		})
	}
}

// peakKernels returns the kernels of the list, or all that run here, for a list of types.
func peakKernels(list, dtypes string) ([]*asm.Kernel, error) {
	var names []string
	some, autos := types, []asm.Type{asm.BF16}
	var err error
	if list != "" {
		if names, err = parseList(list, parseKernel); err != nil {
			return nil, cli.Usagef("peak: -kernel: %w", err)
		}
	}
	if dtypes != "" {
		if some, err = parseList(dtypes, parseName(types)); err != nil {
			return nil, cli.Usagef("peak: -dtype: %w", err)
		}
		autos = some
	}
	var ks []*asm.Kernel
	for _, k := range asm.Kernels() {
		switch named, fits := slices.Contains(names, k.Name), slices.ContainsFunc(some, k.Accepts); {
		case named && k.Supported() != nil:
			return nil, cli.Usagef("peak: -kernel: %s cannot run: %w", k.Name, k.Supported())
		case named && !fits:
			return nil, cli.Usagef("peak: -kernel: %s does not multiply %s", k.Name, nameList(some))
		case named, list == "" && fits && k.Supported() == nil:
			ks = append(ks, k)
		}
	}
	for _, t := range autos {
		if !slices.Contains(names, "") { // auto
			break
		}
		k, err := asm.Select(t, "")
		if err != nil {
			return nil, cli.Usagef("peak: -kernel: %w", err)
		}
		if !slices.Contains(ks, k) {
			ks = append(ks, k)
		}
	}
	return ks, nil
}

func writePeaks(w io.Writer, rep *bench.Report) error {
	m := rep.Machine
	fmt.Fprintf(w, "%s, %d threads, %s/%s, %s\n\n", m.CPU, m.Threads, m.GOOS, m.GOARCH, m.Go)
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "kernel\tworkers\tGFLOP/s\tmedian\tper worker\tflop/cycle\tGHz\t")
	for _, p := range rep.Peak {
		fmt.Fprintf(t, "%s\t%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.2f\t\n", p.Kernel, strconv.Itoa(p.Workers),
			p.GFLOPS, p.Median(), p.GFLOPS/float64(p.Workers), p.FlopPerCycle, p.GHz)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nGFLOP/s: in the best millisecond of all measurements; flop/cycle: of a worker")
	if load := rep.Load.String(); load != "" {
		fmt.Fprintln(w, load)
	}
	return nil
}
