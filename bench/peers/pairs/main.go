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
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

const usage = "usage: pairs [-pause MS] [-pin N] PROGRAM -step ARGUMENT... -- PROGRAM -step ARGUMENT..."

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("pairs", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	pause := fs.Int("pause", 20, "milliseconds before a sample, for threads of the other program that wait without giving way")
	pin := fs.Int("pin", 0, "hold both programs to so many processors, in every pair others (taskset); 0 for all")
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stdout, usage)
		fs.SetOutput(stdout)
		fs.PrintDefaults()
		return 0
	}
	cut := slices.Index(fs.Args(), "--")
	switch {
	case err != nil:
	case *pause < 0 || *pause > 10000:
		err = fmt.Errorf("-pause: %d is not in 0..10000", *pause)
	case *pin < 0 || *pin > runtime.NumCPU():
		err = fmt.Errorf("-pin: %d is not in 0..%d", *pin, runtime.NumCPU())
	case cut < 1 || cut == fs.NArg()-1:
		err = errors.New("two programs are needed, with -- between them (pairs -h)")
	}
	if err != nil {
		fmt.Fprintf(stderr, "pairs: %v\n", err)
		return 2
	}
	c := comparison{pause: time.Duration(*pause) * time.Millisecond, pin: *pin}
	if err := c.run(ctx, fs.Args()[:cut], fs.Args()[cut+1:], stdout); err != nil {
		fmt.Fprintf(stderr, "pairs: %v\n", err)
		return 1
	}
	return 0
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
	for i, command := range [][]string{first, second} {
		p, err := start(ctx, command)
		if err != nil {
			return err
		}
		defer p.stop(cancel)
		c.programs[i] = p
	}
	t := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	var r result
	for {
		pair, err := c.sample()
		if ctx.Err() != nil {
			err = ctx.Err() // the programs ended for it
		}
		if err != nil && err != io.EOF {
			return errors.Join(err, t.Flush()) // what is complete
		}
		if r.product != pair[0].product || err == io.EOF {
			r.write(t)
			r = result{product: pair[0].product, header: r.header}
		}
		if err == io.EOF {
			return t.Flush()
		}
		r.add(pair)
	}
}

// sample takes a sample of each program, or returns io.EOF if they have no other.
func (c *comparison) sample() (pair [2]sample, err error) {
	if c.pin > 0 {
		list := strings.Trim(fmt.Sprint(rand.Perm(runtime.NumCPU())[:c.pin]), "[]")
		for _, p := range c.programs {
			if err := p.pin(strings.ReplaceAll(list, " ", ",")); err != nil {
				return pair, err
			}
		}
	}
	var ended []string
	for _, i := range rand.Perm(2) {
		time.Sleep(c.pause)
		p := c.programs[i]
		switch pair[i], err = p.sample(); {
		case err == io.EOF:
			ended = append(ended, p.name)
		case err != nil:
			return pair, err
		}
	}
	switch {
	case len(ended) == 2:
		return pair, io.EOF
	case len(ended) == 1:
		return pair, fmt.Errorf("%s ends before the other program", ended[0])
	case pair[0].product != pair[1].product:
		return pair, fmt.Errorf("%s measures %s, the other program %s", c.programs[0].name,
			strings.ReplaceAll(pair[0].product, "\t", " "), strings.ReplaceAll(pair[1].product, "\t", " "))
	}
	return pair, nil
}

// A program is one that runs.
type program struct {
	name  string
	cmd   *exec.Cmd
	lines io.WriteCloser
	out   *bufio.Scanner
}

func start(ctx context.Context, command []string) (*program, error) {
	p := &program{name: command[0], cmd: exec.CommandContext(ctx, command[0], command[1:]...)}
	p.cmd.Stderr = os.Stderr
	p.cmd.WaitDelay = time.Second
	var err error
	if p.lines, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewScanner(out)
	return p, p.cmd.Start()
}

// stop ends the program, which cancel kills if it does not end when its input does.
func (p *program) stop(cancel func()) {
	p.lines.Close()
	late := time.AfterFunc(5*time.Second, cancel)
	defer late.Stop()
	p.cmd.Wait() // its status says no more than what it printed
}

// pin binds all threads of the program to processors, a list with commas.
func (p *program) pin(processors string) error {
	out, err := exec.Command("taskset", "-a", "-p", "-c", processors, strconv.Itoa(p.cmd.Process.Pid)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("-pin: taskset: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// A sample is a line of lib,dtype,m,n,k,threads,seconds.
type sample struct {
	lib, product string
	flops        float64
	seconds      float64 // not a number if the program does not measure the product
}

// sample has the program take a sample, or returns io.EOF if it has no other.
func (p *program) sample() (s sample, err error) {
	if _, err := io.WriteString(p.lines, "\n"); err != nil {
		return s, io.EOF // it has ended
	}
	if !p.out.Scan() {
		if err := p.out.Err(); err != nil {
			return s, fmt.Errorf("%s: %w", p.name, err)
		}
		return s, io.EOF
	}
	f := strings.Split(p.out.Text(), ",")
	bad := fmt.Errorf("%s prints %q, which is not lib,dtype,m,n,k,threads,seconds", p.name, p.out.Text())
	if len(f) != 7 {
		return s, bad
	}
	s.lib, s.flops = f[0], 2
	for _, dim := range f[2:5] {
		n, err := strconv.Atoi(dim)
		if err != nil || n < 1 {
			return s, bad
		}
		s.flops *= float64(n)
	}
	s.product = fmt.Sprintf("%s\t%s\t%sx%sx%s", f[1], f[5], f[2], f[3], f[4])
	if s.seconds, err = strconv.ParseFloat(f[6], 64); err != nil || s.seconds <= 0 {
		return s, bad
	}
	return s, nil
}

// A result is what was measured of a product.
type result struct {
	product string
	names   [2]string
	rates   [2][]float64 // GFLOP/s
	ratios  []float64
	header  bool // is written
}

// add adds a pair of samples, unless a program does not measure the product.
func (r *result) add(pair [2]sample) {
	if math.IsNaN(pair[0].seconds + pair[1].seconds) {
		return
	}
	for i, s := range pair {
		r.rates[i] = append(r.rates[i], s.flops/s.seconds/1e9)
	}
	r.ratios = append(r.ratios, pair[1].seconds/pair[0].seconds)
	r.names = [2]string{pair[0].lib, pair[1].lib}
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
	fmt.Fprintf(w, "%s\t%.4g\t%.4g\t%.2f\t%.2f to %.2f\t%d\n", r.product, quartile(r.rates[0], 2), quartile(r.rates[1], 2),
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
