package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/pprof"
	"runtime/trace"
	"time"

	"example.com/leafhopper/bench"
)

type compareFlags struct {
	axes
	output
	count             int
	minTime           time.Duration
	verify, cold      bool
	cpuprofile, trace string
}

func setupCompare(fs *flag.FlagSet) func(context.Context, io.Writer, io.Writer) error {
	f := &compareFlags{}
	f.axes.declare(fs)
	f.output.declare(fs, bench.Formats...)
	fs.IntVar(&f.count, "count", bench.DefaultCount, "samples of each variant, `n` >= 1")
	fs.DurationVar(&f.minTime, "min-time", bench.DefaultMinTime, "shortest sample: short products repeat until it is over")
	fs.BoolVar(&f.verify, "verify", true, "check every result against a float64 reference, or its bits with -arith hopper")
	fs.BoolVar(&f.cold, "cold", false, "rotate over operands that exceed twice the last-level cache; for one caller")
	fs.StringVar(&f.cpuprofile, "cpuprofile", "", "write a CPU profile of the run to `file`")
	fs.StringVar(&f.trace, "trace", "", "write an execution trace of the run to `file`")
	return f.run
}

func (f *compareFlags) run(ctx context.Context, stdout, stderr io.Writer) (err error) {
	asked, err := f.variants()
	if err != nil {
		return err
	}
	n := len(asked)
	variants := distinct(asked)
	switch {
	case f.count < 1 || f.count > 1e6:
		return usagef("compare: -count: %d is outside 1..1000000", f.count)
	case f.minTime <= 0 || f.minTime > time.Hour:
		return usagef("compare: -min-time: %v is outside 1ns..1h", f.minTime)
	}
	if err := f.distinctFiles(); err != nil {
		return err
	}
	meter := newProgress(stderr)
	runner := &bench.Runner{Count: f.count, MinTime: f.minTime, SkipVerify: !f.verify, Cold: f.cold, Progress: meter.show}
	if err := runner.Validate(variants); err != nil {
		return usageError{fmt.Errorf("compare: %w", err)}
	}
	if err := f.output.open(stdout); err != nil {
		return err
	}
	defer f.output.discard()
	stop, err := f.profile()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()

	var note string
	if !f.sized() {
		if note, err = chooseSize(ctx, runner, variants); err != nil {
			return err
		}
	}
	rep, err := runner.Compare(ctx, variants)
	meter.clear()
	if err != nil {
		return err
	}
	rep.Notes = f.notes(variants[0].Workload, note, n-len(variants))
	return f.finish(rep)
}

// distinctFiles reports two results that are to go to one file, or a profile that
// is to go to standard output. Devices take several.
func (f *compareFlags) distinctFiles() error {
	files := []struct{ flag, path string }{{"o", f.output.path}, {"cpuprofile", f.cpuprofile}, {"trace", f.trace}}
	for i, a := range files {
		if a.path == "-" && a.flag != "o" {
			return usagef("compare: -%s: - is not a file", a.flag)
		}
		for _, b := range files[:i] {
			if a.path != "" && b.path != "" && sameFile(a.path, b.path) {
				return usagef("compare: -%s and -%s name the same file, %s", b.flag, a.flag, a.path)
			}
		}
	}
	return nil
}

// sameFile reports whether what is written to a and b goes to one regular file, which
// need not exist.
func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(x, y) && x.Mode().IsRegular()
	}
	a, errA = filepath.Abs(a)
	b, errB = filepath.Abs(b)
	return errA == nil && errB == nil && a == b
}

// finish writes the report and says whether all that was checked is right.
func (f *compareFlags) finish(rep *bench.Report) error {
	if err := f.output.write(func(w io.Writer) error { return rep.Write(w, f.format) }); err != nil {
		return err
	}
	if len(rep.Failures()) > 0 {
		return errVerification
	}
	return nil
}

// notes returns what a reader of the table must know besides the axes: alpha and beta
// of all variants are those of w, and twice is the number of variants that were asked
// for in two ways.
func (f *compareFlags) notes(w bench.Workload, size string, twice int) []string {
	var notes []string
	if twice > 0 {
		notes = append(notes, "what -kernel auto or -workers 0 stands for is in the list as well, and measured once")
	}
	if size != "" {
		notes = append(notes, size)
	}
	if w.Alpha != 1 || w.Beta != 0 {
		notes = append(notes, fmt.Sprintf("alpha %v, beta %v", w.Alpha, w.Beta))
	}
	if f.cold {
		notes = append(notes, "cold: every call finds its operands outside the caches")
	}
	return notes
}

// A profile is what -cpuprofile or -trace asks for.
type profile struct {
	flag, path string
	start      func(io.Writer) error
	stop       func()
	file       *os.File
	created    bool
}

// open opens the file, whose contents stay until begin empties it.
func (p *profile) open() (err error) {
	_, err = os.Stat(p.path)
	p.created = errors.Is(err, fs.ErrNotExist)
	p.file, err = os.OpenFile(p.path, os.O_WRONLY|os.O_CREATE, 0o666)
	return err
}

// discard closes the file, and removes it if it was not there.
func (p *profile) discard() {
	p.file.Close()
	if p.created {
		os.Remove(p.path)
	}
}

// begin empties the file, unless it is a device, and starts what writes to it.
func (p *profile) begin() (w *profileWriter, err error) {
	if info, err := p.file.Stat(); err != nil {
		return nil, err
	} else if info.Mode().IsRegular() {
		if err := p.file.Truncate(0); err != nil {
			return nil, err
		}
	}
	w = &profileWriter{w: p.file}
	return w, p.start(w)
}

// profile starts what -cpuprofile and -trace ask for, if all of it can be written, and returns what ends it.
func (f *compareFlags) profile() (stop func() error, err error) {
	var profiles []*profile
	for _, p := range []*profile{
		{flag: "cpuprofile", path: f.cpuprofile, start: pprof.StartCPUProfile, stop: pprof.StopCPUProfile},
		{flag: "trace", path: f.trace, start: trace.Start, stop: trace.Stop},
	} {
		if p.path == "" {
			continue
		}
		if err := p.open(); err != nil {
			for _, other := range profiles {
				other.discard()
			}
			return nil, usagef("compare: -%s: %w", p.flag, err)
		}
		profiles = append(profiles, p)
	}
	var stops []func() error
	stop = func() error {
		var errs []error
		for _, s := range stops {
			errs = append(errs, s())
		}
		return errors.Join(errs...)
	}
	for i, p := range profiles {
		w, err := p.begin()
		if err != nil {
			for _, other := range profiles[i:] {
				other.discard()
			}
			return nil, errors.Join(fmt.Errorf("compare: -%s: %w", p.flag, err), stop())
		}
		stops = append(stops, func() error {
			p.stop() // what writes to the file must end before the file is closed
			if err := w.Close(); err != nil {
				return usagef("compare: -%s: %w", p.flag, err)
			}
			return nil
		})
	}
	return stop, nil
}

// A profileWriter remembers the first error of its writes: packages pprof and trace
// drop them.
type profileWriter struct {
	w   io.WriteCloser
	err error
}

func (p *profileWriter) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	if p.err == nil {
		p.err = err
	}
	return n, err
}

// Close closes what is below and returns the first error of all writes and of that.
func (p *profileWriter) Close() error {
	err := p.w.Close()
	if p.err != nil {
		return p.err
	}
	return err
}
