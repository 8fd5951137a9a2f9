// Command pairs compares two programs that measure matrix products, sample by
// sample, on a machine whose speed changes from one moment to the next:
//
//	pairs [-pause MS] [-pin N] PROGRAM -step ARGUMENT... -- PROGRAM -step ARGUMENT...
//
// With -step a program waits for a line before each sample. Both measure the
// same products, as many samples of each; in every pair of samples the one or the other
// comes first, at random. The table has the medians of GFLOP/s, and of the
// pairs' ratios, of the first program to the second, the median and the quartiles.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"example.com/leafhopper/bench/peers/measured"
	"example.com/leafhopper/internal/cli"
)

func main() { cli.Main(run) }

const usage = "usage: pairs [-pause MS] [-pin N] PROGRAM -step ARGUMENT... -- PROGRAM -step ARGUMENT..."

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("pairs", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	pause := fs.Int("pause", 20,
		"milliseconds before a sample, for threads of the other program that wait without giving way")
	pin := fs.Int("pin", 0, "hold both programs to so many processors, in every pair others (taskset); 0 for all")
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		text := new(strings.Builder)
		fmt.Fprintln(text, usage)
		fs.SetOutput(text)
		fs.PrintDefaults()
		if _, err := io.WriteString(stdout, text.String()); err != nil {
			return cli.Status("pairs", cli.Usagef("writing the result: %w", err), stderr)
		}
		return cli.OK
	}
	cut := slices.Index(fs.Args(), "--")
	switch {
	case err != nil:
		err = fmt.Errorf("%w (pairs -h)", err)
	case *pause < 0 || *pause > 10000:
		err = fmt.Errorf("-pause: %d is not in 0..10000", *pause)
	case *pin < 0 || *pin > runtime.NumCPU():
		err = fmt.Errorf("-pin: %d is not in 0..%d", *pin, runtime.NumCPU())
	case cut < 1 || cut == fs.NArg()-1:
		err = errors.New("two programs are needed, with -- between them (pairs -h)")
	case !slices.Contains(fs.Args()[:cut], "-step") || !slices.Contains(fs.Args()[cut:], "-step"):
		err = errors.New("both programs need -step, or they do not wait for each other")
	}
	if err != nil {
		return cli.Status("pairs", cli.UsageError{Err: err}, stderr)
	}
	c := comparison{pause: time.Duration(*pause) * time.Millisecond, pin: *pin}
	return cli.Status("pairs", c.run(ctx, fs.Args()[:cut], fs.Args()[cut+1:], stdout), stderr)
}

// A comparison is of two programs.
type comparison struct {
	programs [2]*program
	pause    time.Duration
	pin      int // processors, or 0 for all
}

// run compares two commands and writes the table.
func (c *comparison) run(ctx context.Context, first, second []string, stdout io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.programs = [2]*program{{command: first}, {command: second}}
	for _, p := range c.programs {
		defer p.stop()
	}
	t := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	flush := func() error {
		if err := t.Flush(); err != nil {
			return cli.Usagef("writing the result: %w", err)
		}
		return nil
	}
	var r result
	for {
		pair, err := c.sample(ctx)
		if ctx.Err() != nil {
			err = ctx.Err() // the programs ended for it
		}
		if err != nil && err != io.EOF {
			return errors.Join(err, flush()) // what is complete
		}
		if r.Product != pair[0].Product || err == io.EOF {
			r.write(t)
			r = result{Product: pair[0].Product, header: r.header}
		}
		if err == io.EOF {
			err := errors.Join(flush(), c.programs[0].wait(), c.programs[1].wait())
			if err == nil && !r.header {
				err = errors.New("no samples: there is no product that both programs measure")
			}
			return err
		}
		r.add(pair)
	}
}

// sample takes a sample of each program, or returns io.EOF if they have no other. A program
// starts when its first sample is due, so that it does not disturb the other's.
func (c *comparison) sample(ctx context.Context) (pair [2]measured.Line, err error) {
	processors, err := draw(c.pin)
	if err != nil {
		return pair, err
	}
	var ended []*program
	for _, i := range rand.Perm(2) {
		p := c.programs[i]
		if p.cmd == nil {
			if err := p.start(ctx); err != nil {
				return pair, err
			}
		}
		if processors != "" {
			if err := p.pin(processors); err != nil {
				return pair, err
			}
		}
		select {
		case <-time.After(c.pause):
		case <-ctx.Done():
			return pair, ctx.Err()
		}
		switch pair[i], err = p.sample(); {
		case err == io.EOF:
			ended = append(ended, p)
		case err != nil:
			return pair, err
		}
	}
	switch {
	case len(ended) == 2:
		return pair, io.EOF
	case len(ended) == 1:
		err := fmt.Errorf("%s ends before the other program", ended[0].command[0])
		return pair, errors.Join(err, ended[0].wait())
	case pair[0].Product != pair[1].Product:
		return pair, fmt.Errorf("%s measures %v, the other program %v",
			c.programs[0].command[0], pair[0].Product, pair[1].Product)
	}
	return pair, nil
}

// A result is what was measured of a product.
type result struct {
	measured.Product
	names  [2]string
	rates  [2][]float64 // GFLOP/s
	ratios []float64
	header bool // is written
}

// add adds a pair of samples, unless a program does not measure the product.
func (r *result) add(pair [2]measured.Line) {
	if math.IsNaN(pair[0].Seconds + pair[1].Seconds) {
		return
	}
	for i, s := range pair {
		r.rates[i] = append(r.rates[i], s.Flops()/s.Seconds/1e9)
	}
	r.ratios = append(r.ratios, pair[1].Seconds/pair[0].Seconds)
	r.names = [2]string{pair[0].Lib, pair[1].Lib}
}

// write writes the product's row, if both programs measure it. The table reports errors of w.
func (r *result) write(w io.Writer) {
	if len(r.ratios) == 0 {
		return
	}
	if !r.header {
		fmt.Fprintf(w, "dtype\tthreads\tMxNxK\t%s\t%s\tratio\tquartiles\tpairs\n", r.names[0], r.names[1])
		r.header = true
	}
	for _, s := range [][]float64{r.rates[0], r.rates[1], r.ratios} {
		slices.Sort(s)
	}
	fmt.Fprintf(w, "%s\t%d\t%dx%dx%d\t%.4g\t%.4g\t%.2f\t%.2f to %.2f\t%d\n", r.DType, r.Threads, r.M, r.N, r.K,
		quartile(r.rates[0], 2), quartile(r.rates[1], 2),
		quartile(r.ratios, 2), quartile(r.ratios, 1), quartile(r.ratios, 3), len(r.ratios))
}

// quartile returns quartile q of what is sorted.
func quartile(s []float64, q int) float64 {
	at := float64(len(s)-1) * float64(q) / 4
	i := int(at)
	if i+1 == len(s) {
		return s[i]
	}
	return s[i] + (at-float64(i))*(s[i+1]-s[i])
}
