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
	dtype    asm.Type
	workers  int
	duration time.Duration
	pause    time.Duration
}

var neighbourParts = []string{"sleeper", "burn", "callers"}

func setupNeighbour(fs *flag.FlagSet) func(context.Context, io.Writer, io.Writer) error {
	var out output
	out.declare(fs, "table", "json")
	part := fs.String("part", strings.Join(neighbourParts, ","),
		"`list` of what to measure: "+strings.Join(neighbourParts, ", "))
	size := fs.String("size", "", "`list` of sizes, MxNxK or one number "+
		"(default: 128,512,2048 for sleeper, 32 to 256 for burn, 32 to 512 for callers)")
	dtype := fs.String("dtype", "f32", "`type` of A and B: bf16, f16, f32")
	workers := fs.Int("workers", 0, "workers of a call, `n`; 0 is the default of a call that does not say")
	callers := fs.String("callers", "2,8,64", "`list` of numbers of callers at once")
	duration := fs.Duration("duration", time.Second, "`time` for each row of the table, 50ms to 10m")
	pause := fs.Duration("pause", 150*time.Microsecond, "`time` between calls of burn, 0 to 1s")
	return func(ctx context.Context, stdout, _ io.Writer) error {
		parts, err := parseList(*part, parseWord(neighbourParts...))
		if err != nil {
			return cli.Usagef("neighbour: -part: %w", err)
		}
		sizes := map[string][][3]int{
			"sleeper": squares(128, 512, 2048),
			"burn":    squares(32, 64, 128, 256),
			"callers": squares(32, 64, 128, 256, 512),
		}
		if *size != "" {
			shapes, err := parseList(*size, parseShapes)
			if err != nil {
				return cli.Usagef("neighbour: -size: %w", err)
			}
			for name := range sizes {
				sizes[name] = shapes
			}
		}
		elem, err := parseName([]asm.Type{asm.BF16, asm.F16, asm.F32})(*dtype)
		if err != nil {
			return cli.Usagef("neighbour: -dtype: %w", err)
		}
		crowds, err := parseList(*callers, parseInts(1, bench.MaxCallers))
		if err != nil {
			return cli.Usagef("neighbour: -callers: %w", err)
		}
		switch {
		case *workers < 0 || *workers > gemm.MaxWorkers:
			return cli.Usagef("neighbour: -workers: %d is outside 0..%d", *workers, gemm.MaxWorkers)
		case *duration < 50*time.Millisecond || *duration > 10*time.Minute:
			return cli.Usagef("neighbour: -duration: %v is outside 50ms..10m", *duration)
		case *pause < 0 || *pause > time.Second:
			return cli.Usagef("neighbour: -pause: %v is outside 0s..1s", *pause)
		}
		n := &neighbour{elem[0], *workers, *duration, *pause}
		for _, part := range parts {
			if err := n.validate(part, sizes[part], crowds); err != nil {
				return cli.Usagef("neighbour: %w", err)
			}
		}
		if err := out.open(stdout); err != nil {
			return err
		}
		defer out.discard()
		rep := &neighbourReport{
			Machine: bench.ThisMachine(), DType: n.dtype.String(), Workers: n.workers, Pause: n.pause.Seconds(),
			Sleepers: []sleeps{}, Burns: []burn{}, Crowds: []crowd{},
		}
		for _, part := range parts {
			if err := n.measure(ctx, rep, part, sizes[part], crowds); err != nil {
				return err
			}
		}
		return out.write(func(w io.Writer) error { return rep.write(w, out.format) })
	}
}

// validate reports what makes a part impossible to measure, such as operands that do not fit in memory.
func (n *neighbour) validate(part string, sizes [][3]int, callers []int) error {
	v := bench.Variant{Workload: bench.Workload{In: n.dtype, Out: asm.F32, Alpha: 1}, Workers: n.workers}
	if part == "callers" {
		v.Callers = slices.Max(callers)
	}
	for _, size := range sizes {
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
