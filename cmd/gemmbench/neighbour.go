package main

import (
	"context"
	"flag"
	"io"
	"slices"
	"strings"
	"time"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bench"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/cli"
)

// A neighbour measures what products do to others in the same process.
type neighbour struct {
	parts    []string
	sizes    map[string][][3]int // M, N, K of the products of a part
	crowds   []int               // callers at once
	dtype    asm.Type            // of A and B
	workers  int                 // of a call; 0 is the default
	duration time.Duration       // of a row of the table
	pause    time.Duration       // between calls of burn
}

var (
	neighbourParts = []string{"sleeper", "burn", "callers"}
	neighbourTypes = []asm.Type{asm.BF16, asm.F16, asm.F32, asm.F64}
)

// neighbourFlags are the flags of the command neighbour, as they were given.
type neighbourFlags struct {
	output
	part, size, dtype, callers string
	workers                    int
	duration, pause            time.Duration
}

func setupNeighbour(fs *flag.FlagSet) func(context.Context, io.Writer, io.Writer) error {
	f := new(neighbourFlags)
	f.declareAll(fs)
	return func(ctx context.Context, stdout, _ io.Writer) error {
		n, err := f.neighbour()
		if err != nil {
			return err
		}
		if err := f.output.open(stdout); err != nil {
			return err
		}
		defer f.output.discard()
		rep, err := n.report(ctx)
		if err != nil {
			return err
		}
		return f.output.write(func(w io.Writer) error { return rep.write(w, f.format) })
	}
}

func (f *neighbourFlags) declareAll(fs *flag.FlagSet) {
	f.output.declare(fs, "table", "json")
	fs.StringVar(&f.part, "part", strings.Join(neighbourParts, ","),
		"`list` of what to measure: "+nameList(neighbourParts))
	fs.StringVar(&f.size, "size", "", "`list` of sizes, MxNxK or one number "+
		"(default: 128,512,2048 for sleeper, 32 to 256 for burn, 32 to 512 for callers)")
	fs.StringVar(&f.dtype, "dtype", "f32", "`type` of A and B: "+nameList(neighbourTypes))
	fs.IntVar(&f.workers, "workers", 0, "workers of a call, `n`; 0 is the default of a call that does not say")
	fs.StringVar(&f.callers, "callers", "2,8,64", "`list` of numbers of callers at once")
	fs.DurationVar(&f.duration, "duration", time.Second, "`time` for each row of the table, 50ms to 10m")
	fs.DurationVar(&f.pause, "pause", 150*time.Microsecond, "`time` between calls of burn, 0 to 1s")
}

// neighbour returns what the flags ask for, if it can be measured.
func (f *neighbourFlags) neighbour() (*neighbour, error) {
	n := &neighbour{
		sizes: map[string][][3]int{
			"sleeper": squares(128, 512, 2048),
			"burn":    squares(32, 64, 128, 256),
			"callers": squares(32, 64, 128, 256, 512),
		},
		workers: f.workers, duration: f.duration, pause: f.pause,
	}
	var err error
	if n.parts, err = parseList(f.part, parseName(neighbourParts)); err != nil {
		return nil, cli.Usagef("neighbour: -part: %w", err)
	}
	if f.size != "" {
		shapes, err := parseList(f.size, parseShapes)
		if err != nil {
			return nil, cli.Usagef("neighbour: -size: %w", err)
		}
		for part := range n.sizes {
			n.sizes[part] = shapes
		}
	}
	elem, err := parseName(neighbourTypes)(f.dtype)
	if err != nil {
		return nil, cli.Usagef("neighbour: -dtype: %w", err)
	}
	n.dtype = elem[0]
	if n.crowds, err = parseList(f.callers, parseInts(1, bench.MaxCallers)); err != nil {
		return nil, cli.Usagef("neighbour: -callers: %w", err)
	}
	switch {
	case f.workers < 0 || f.workers > gemm.MaxWorkers:
		return nil, cli.Usagef("neighbour: -workers: %d is outside 0..%d", f.workers, gemm.MaxWorkers)
	case f.duration < 50*time.Millisecond || f.duration > 10*time.Minute:
		return nil, cli.Usagef("neighbour: -duration: %v is outside 50ms..10m", f.duration)
	case f.pause < 0 || f.pause > time.Second:
		return nil, cli.Usagef("neighbour: -pause: %v is outside 0s..1s", f.pause)
	}
	for _, part := range n.parts {
		if err := n.validate(part); err != nil {
			return nil, cli.Usagef("neighbour: %w", err)
		}
	}
	return n, nil
}

// validate reports what makes a part impossible to measure, such as operands that do not fit in memory.
func (n *neighbour) validate(part string) error {
	v := bench.Variant{Workload: bench.Workload{In: n.dtype, Out: bench.SumType(n.dtype), Alpha: 1}, Workers: n.workers}
	if part == "callers" {
		v.Callers = slices.Max(n.crowds)
	}
	for _, size := range n.sizes[part] {
		v.M, v.N, v.K = size[0], size[1], size[2]
		if err := (&bench.Runner{}).Validate([]bench.Variant{v}); err != nil {
			return err
		}
	}
	return nil
}

func squares(sizes ...int) (all [][3]int) {
	for _, n := range sizes {
		all = append(all, [3]int{n, n, n})
	}
	return all
}
