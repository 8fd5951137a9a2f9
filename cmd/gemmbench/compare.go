package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"example.com/leafhopper/bench"
	"example.com/leafhopper/internal/cli"
)

type compareFlags struct {
	axes
	output
	count             int
	minTime           time.Duration
	verify, cold      bool
	cpuprofile, trace string
}

// Without a size what is compared is one product that all machines can make: many short
// rounds, so that ratios within a round tell depths apart also on a busy machine.
const (
	defaultRounds  = 40
	defaultMinTime = 40 * time.Millisecond
)

func setupCompare(fs *flag.FlagSet) func(context.Context, io.Writer, io.Writer) error {
	f := new(compareFlags)
	f.declareAll(fs)
	return func(ctx context.Context, stdout, stderr io.Writer) error {
		f.setDefaults(fs)
		return f.run(ctx, stdout, stderr)
	}
}

func (f *compareFlags) declareAll(fs *flag.FlagSet) {
	f.axes.declare(fs)
	f.output.declare(fs, bench.Formats...)
	fs.IntVar(&f.count, "count", bench.DefaultCount,
		fmt.Sprintf("rounds, each of one sample of each variant, `n` >= 1; without a size %d by default",
			defaultRounds))
	fs.DurationVar(&f.minTime, "min-time", bench.DefaultMinTime,
		fmt.Sprintf("shortest sample: short products repeat until it is over; without a size %v by default",
			defaultMinTime))
	fs.BoolVar(&f.verify, "verify", true,
		"check every result against a float64 reference, for f64 one of more bits, or its bits with -arith hopper")
	fs.BoolVar(&f.cold, "cold", false,
		"rotate over operands that exceed twice the last-level cache, as through layers, "+
			"and say how fast they are read; for one caller")
	fs.StringVar(&f.cpuprofile, "cpuprofile", "", "write a CPU profile of the run to `file`")
	fs.StringVar(&f.trace, "trace", "",
		"write what each worker did in products of each variant to `file` and file.json: "+
			"regions of an execution trace for go tool trace, and a timeline for ui.perfetto.dev")
}

// setDefaults sets those flags whose default hangs on whether there is a size.
func (f *compareFlags) setDefaults(fs *flag.FlagSet) {
	if f.sized() {
		return
	}
	given := map[string]bool{}
	fs.Visit(func(fl *flag.Flag) { given[fl.Name] = true })
	if !given["count"] {
		f.count = defaultRounds
	}
	if !given["min-time"] {
		f.minTime = defaultMinTime
	}
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
		return cli.Usagef("compare: -count: %d is outside 1..1000000", f.count)
	case f.minTime <= 0 || f.minTime > time.Hour:
		return cli.Usagef("compare: -min-time: %v is outside 1ns..1h", f.minTime)
	}
	if err := f.distinctFiles(); err != nil {
		return err
	}
	meter := newProgress(stderr)
	runner := &bench.Runner{
		Count: f.count, MinTime: f.minTime, SkipVerify: !f.verify, Cold: f.cold, Timelines: f.trace != "",
		Progress: meter.show,
	}
	if err := runner.Validate(variants); err != nil {
		return cli.Usagef("compare: %w", err)
	}
	if err := f.output.open(stdout); err != nil {
		return err
	}
	defer f.output.discard()
	files, err := f.openProfiles()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.close()) }()
	if files.execution != nil {
		runner.ExecutionTrace = files.execution
	}
	runner.Timelines = runner.Timelines || f.format == "table" && onlyDepthsDiffer(variants)

	var note string
	if !f.sized() {
		if note, err = chooseSize(ctx, runner, variants); err != nil {
			return err
		}
	}
	rep, err := runner.Compare(ctx, variants)
	meter.clear()
	if rep == nil {
		return err
	}
	rep.Notes = append(f.notes(variants[0].Workload, note, n-len(variants)), rep.Notes...)
	rep.Width = terminalWidth(stdout)
	if files.timeline != nil && err == nil {
		rep.WriteTimelines(files.timeline) // which remembers its error
	}
	return cmp.Or(err, f.finish(rep))
}

// onlyDepthsDiffer reports whether the variants are several depths of the same product.
func onlyDepthsDiffer(vs []bench.Variant) bool {
	for _, v := range vs {
		if v.Depth = vs[0].Depth; v != vs[0] {
			return false
		}
	}
	return len(vs) > 1 && vs[0].Batch <= 1
}

// distinctFiles reports two results that are to go to one file, or a profile that
// is to go to standard output. Devices take several.
func (f *compareFlags) distinctFiles() error {
	files := []struct{ flag, path string }{
		{"o", f.output.path}, {"cpuprofile", f.cpuprofile}, {"trace", f.executionFile()}, {"trace", f.timelineFile()},
	}
	for i, a := range files {
		if a.path == "-" && a.flag != "o" {
			return cli.Usagef("compare: -%s: - is not a file", a.flag)
		}
		for _, b := range files[:i] {
			if a.path != "" && b.path != "" && sameFile(a.path, b.path) {
				return cli.Usagef("compare: -%s and -%s name the same file, %s", b.flag, a.flag, a.path)
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
		notes = append(notes, "variants that come to the same are measured once (-kernel auto, -workers 0; -splitk "+
			"and -promotion in native arithmetic)")
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
