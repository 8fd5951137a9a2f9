// Hoppergemm is the warp-specialised matrix product of a walk-through of Hopper's TMA and
// tensor cores, and the steps from there to a fast one, a file each. CUDA: hoppergemm.cu.
//
//	walkthrough   64 x 64 tiles, a producer, a consumer, a ring of 5 stages
//	tiles128      128 x 128 tiles, two consumers
//	parity        one arrival for each role, waits by parity
//	persistent    fewer CTAs than tiles
//	cluster       two CTAs share B by multicast
//	tmastore      C leaves through shared memory and a tensor map
//
// All of them have the bits of gemm.Multiply with Hopper's arithmetic, and those of an H100.
//
//	go run ./examples/hoppergemm -size 8192 -step walkthrough
//	go run ./examples/hoppergemm -size 256 -check -seed 7
//	go run ./examples/hoppergemm -size 512 -step parity -trace trace.json
//
// The exit status is 0 if all went well, 1 if not, 2 for bad flags, and 130 after an interrupt.
package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/leafhopper/internal/cli"
	"example.com/leafhopper/sm"
)

//go:embed hoppergemm.txt
var recorded string

const (
	minSize, maxSize = 256, 8192 // multiples of minSize
	laneWidth        = 160       // columns of lanes of text
)

func main() {
	cli.Main(func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		return cli.Status("hoppergemm", run(ctx, args, stdout, stderr), stderr)
	})
}

// options are the flags.
type options struct {
	size, stages int
	step         string
	check        bool
	seed         uint64
	trace, svg   string
}

// parse returns an error of an argument that no run may have.
func parse(args []string, stdout io.Writer) (*options, error) {
	var o options
	var names, rooms []string
	for _, s := range steps {
		names = append(names, s.name)
		rooms = append(rooms, fmt.Sprintf("%d in %s", s.room, s.name))
	}
	f := flag.NewFlagSet("hoppergemm", flag.ContinueOnError)
	f.SetOutput(io.Discard) // main says what is wrong
	f.IntVar(&o.size, "size", 512, "m = n = k, a multiple of 256 from 256 to 8192")
	f.StringVar(&o.step, "step", "all", "the `name` of a step: "+strings.Join(names, ", ")+"; or all")
	f.IntVar(&o.stages, "stages", 5,
		"stages of the ring, QSIZE, from 1 to what a step has room for:\n"+strings.Join(rooms, ", "))
	f.BoolVar(&o.check, "check", false, "run one agent at a time and check what it does")
	f.Uint64Var(&o.seed, "seed", 0, "of the order of agents, with -check")
	f.StringVar(&o.trace, "trace", "",
		"write what agents did when to `file`, for ui.perfetto.dev;\n- is lanes of text, on standard output")
	f.StringVar(&o.svg, "svg", "",
		"draw the walk-through kernel with 1 and with 5 stages to `file`, - is standard output,\nand run nothing else")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		text := new(strings.Builder)
		f.SetOutput(text)
		f.Usage()
		_, failed := io.WriteString(stdout, text.String())
		return nil, cmp.Or(failed, err)
	case err != nil:
		return nil, cli.Usagef("%w (see -h)", err)
	}
	empty := ""
	f.Visit(func(f *flag.Flag) {
		if f.Value.String() == "" {
			empty = f.Name
		}
	})
	switch {
	case empty != "":
		return nil, cli.Usagef("-%s is empty", empty)
	case f.NArg() > 0:
		return nil, cli.Usagef("argument %q, want flags only", f.Arg(0))
	case o.size < minSize || o.size > maxSize || o.size%minSize != 0:
		return nil, cli.Usagef("-size %d, want a multiple of %d from %[2]d to %d", o.size, minSize, maxSize)
	case o.stages < 1:
		return nil, cli.Usagef("-stages %d, want at least 1", o.stages)
	case o.seed != 0 && !o.check:
		return nil, cli.Usagef("-seed %d, but no -check", o.seed)
	case o.step != "all" && !slices.Contains(names, o.step):
		return nil, cli.Usagef("-step %q, want %s, or all", o.step, strings.Join(names, ", "))
	}
	for _, s := range steps {
		if o.takes(&s) && o.stages > s.room {
			return nil, cli.Usagef("-stages %d: %s has room for %d", o.stages, s.name, s.room)
		}
	}
	return &o, nil
}

// takes reports whether a step is to run.
func (o *options) takes(s *step) bool { return o.step == "all" || o.step == s.name }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	switch {
	case o.svg == "-":
		return drawTo(ctx, stdout)
	case o.svg != "":
		return toFile("-svg", o.svg, func(w io.Writer) error { return drawTo(ctx, w) })
	case o.trace != "" && o.trace != "-":
		return toFile("-trace", o.trace, func(w io.Writer) error { return o.multiply(ctx, stdout, stderr, w) })
	}
	return o.multiply(ctx, stdout, stderr, nil)
}

// toFile opens the file of a flag, and then has it written.
func toFile(flag, name string, write func(io.Writer) error) error {
	f, err := cli.OpenFile(name)
	if err != nil {
		return cli.Usagef("%s: %w", flag, err)
	}
	err = write(f)
	if failed := f.Close(); failed != nil {
		return fmt.Errorf("%s: %w", flag, failed)
	}
	return err
}

// multiply runs the steps, and writes a trace to file if that is not nil.
func (o *options) multiply(ctx context.Context, stdout, stderr, file io.Writer) error {
	p, err := newProduct(o.size, o.stages)
	if err != nil {
		return err
	}
	cfg := sm.Config{Check: o.check, Seed: o.seed}
	if o.trace != "" {
		cfg.Trace = new(sm.Trace)
	}
	for _, s := range steps {
		if !o.takes(&s) {
			continue
		}
		var done atomic.Int64
		stop := progress(&s, p.size, &done, 2*time.Second, stderr)
		start := time.Now()
		err := s.launch(ctx, p, cfg, &done)
		took := time.Since(start)
		stop()
		if err == nil {
			err = p.verify(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		sum := p.checksum(s.name)
		_, err = fmt.Fprintf(stdout, "%s  %v, %.3g GFLOP/s%s\n",
			sum, took.Round(time.Millisecond), gflops(p.size, took), versus(sum))
		if err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(stdout, "The bits are those of gemm.Multiply with Hopper's arithmetic."); err != nil {
		return err
	}
	switch {
	case file != nil:
		_, err = cfg.Trace.WriteTo(file)
	case cfg.Trace != nil:
		err = cfg.Trace.WriteLanes(stdout, laneWidth)
	}
	return err
}

func gflops(size int, d time.Duration) float64 {
	n := float64(size)
	return 2 * n * n * n / d.Seconds() / 1e9
}

// versus says how a line compares with what an H100 printed.
func versus(line string) string {
	name, _, _ := strings.Cut(line, " ")
	switch {
	case strings.Contains(recorded, line+"\n"):
		return ", as on an H100"
	case strings.Contains(recorded, name+" "):
		return ", unlike an H100"
	}
	return ""
}

// progress reports again and again how far a step has come, until stop is called.
func progress(s *step, size int, done *atomic.Int64, every time.Duration, w io.Writer) (stop func()) {
	end := make(chan struct{})
	var reporter sync.WaitGroup
	reporter.Go(func() {
		start, tick := time.Now(), time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				n, all, tiles := int(done.Load()), s.grid(size), s.tiles(size)
				speed := gflops(size, time.Since(start)) * float64(n) / float64(all)
				fmt.Fprintf(w, "%s: %d of %d tiles, %.3g GFLOP/s\n", s.name, tiles*n/all, tiles, speed)
			}
		}
	})
	return func() {
		close(end)
		reporter.Wait()
	}
}
