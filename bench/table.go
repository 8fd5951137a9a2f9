package bench

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"example.com/leafhopper/gemm"
)

// A column of a table, for people: cell formats one result.
type column struct {
	name string
	cell func(*Result) string
}

// axes are the columns that describe a variant. One that is the same in every
// row moves from the table to its head.
var axes = []column{
	{"m x n x k", func(r *Result) string { return fmt.Sprintf("%dx%dx%d", r.M, r.N, r.K) }},
	{"dtype", func(r *Result) string { return r.DType }},
	{"out", func(r *Result) string { return r.Out }},
	{"trans", func(r *Result) string { return r.Trans }},
	{"workers", func(r *Result) string { return strconv.Itoa(r.Workers) }},
	{"callers", func(r *Result) string { return strconv.Itoa(max(1, r.Callers)) }},
	{"batch", func(r *Result) string { return strconv.Itoa(max(1, r.Batch)) }},
	{"kernel", func(r *Result) string { return r.Kernel }},
	{"tile", func(r *Result) string { return cmp.Or(r.Tile, "auto") }},
	{"arith", func(r *Result) string { return cmp.Or(r.Arith, gemm.Native.String()) }},
	{"splitk", func(r *Result) string { return strconv.Itoa(max(1, r.SplitK)) }},
	{"promotion", func(r *Result) string { return strconv.Itoa(r.Promotion) }},
	{"scales", func(r *Result) string { return cmp.Or(r.Scales, NoScales.String()) }},
	{"bias", func(r *Result) string { return strconv.FormatBool(r.Bias) }},
	{"activation", func(r *Result) string { return cmp.Or(r.Activation, gemm.Identity.String()) }},
	{"prepacked", func(r *Result) string { return strconv.FormatBool(r.Prepacked) }},
}

// usual are the cells of the axes that a variant need not be given a place on.
var usual = map[string]string{
	"callers": "1", "batch": "1", "tile": "auto", "arith": gemm.Native.String(), "splitk": "1", "promotion": "0",
	"scales": NoScales.String(), "bias": "false", "activation": gemm.Identity.String(), "prepacked": "false",
}

// asked reports whether the variant of res was given a place on the axis.
func (a column) asked(res *Result) bool {
	cell, ok := usual[a.name]
	return !ok || a.cell(res) != cell
}

// columns returns those axes that vary, and then what was measured.
func (r *Report) columns() []column {
	var cs []column
	for _, a := range axes {
		if r.varies(a) {
			cs = append(cs, a)
		}
	}
	base, plain := byDepth.baselines(r), byPlain.baselines(r)
	vs := func(c comparison, base map[string]*Result, f func(*Versus) string) func(*Result) string {
		return func(r *Result) string { return versusCell(c.versus(base, r), f) }
	}
	ratio := func(v *Versus) string { return fmt.Sprintf("%.3fx", v.Ratio) }
	wait := func(r *Result, of float64) string {
		if r.Batch > 1 {
			return "-"
		}
		return percent(of)
	}
	cs = append(cs,
		column{"depth", depthCell},
		column{"median", func(r *Result) string { return duration(r.SecondsMedian) }},
		column{"spread", func(r *Result) string { return percent(r.Spread()) }},
		column{"GFLOP/s", func(r *Result) string { return significant(r.GFLOPS) }},
		column{"% of peak", func(r *Result) string { return percent(r.PeakFraction) }},
	)
	if len(base) > 0 {
		cs = append(cs, column{"vs depth 1", vs(byDepth, base, ratio)})
		if slices.ContainsFunc(r.Results, func(r Result) bool { return len(r.Samples) >= enoughRounds }) {
			cs = append(cs,
				column{fmt.Sprintf("%.3g %% interval", 100*Confidence), vs(byDepth, base, (*Versus).interval)},
				column{"p", vs(byDepth, base, (*Versus).probability)},
			)
		}
	}
	if len(plain) > 0 {
		cs = append(cs, column{"vs plain", vs(byPlain, plain, ratio)})
	}
	if r.hasBatch() {
		cs = append(cs, column{"vs calls", func(r *Result) string { return versusCell(r.vsCalls(), ratio) }})
	}
	if slices.ContainsFunc(r.Results, func(r Result) bool { return r.ReadGBs > 0 }) {
		cs = append(cs,
			column{"GB/s", func(r *Result) string { return significant(r.GBs) }},
			column{"of reads", func(r *Result) string { return percent(r.GBs / r.ReadGBs) }},
		)
	}
	if r.hasScaling() {
		cs = append(cs, scaling)
	}
	return append(cs,
		column{"producer wait", func(r *Result) string { return wait(r, r.ProducerWait) }},
		column{"consumer wait", func(r *Result) string { return wait(r, r.ConsumerWait) }},
		column{"verified", func(r *Result) string {
			switch {
			case !r.Checked:
				return "-"
			case !r.Verified:
				return "FAILED"
			}
			return "yes"
		}},
	)
}

// versusCell is what f says of v, if there is any.
func versusCell(v *Versus, f func(*Versus) string) string {
	if v == nil {
		return "-"
	}
	return f(v)
}

// hasBatch reports whether a result is of a batch.
func (r *Report) hasBatch() bool {
	return slices.ContainsFunc(r.Results, func(s Result) bool { return s.Batch > 1 })
}

func (r *Report) varies(a column) bool {
	for i := range r.Results {
		if a.cell(&r.Results[i]) != a.cell(&r.Results[0]) {
			return true
		}
	}
	return false
}

// depthName names a depth that was asked for.
func depthName(depth int) string {
	if depth == 0 {
		return "auto"
	}
	return strconv.Itoa(depth)
}

// depthCell is the depth of r as it was asked for and, if that was left to the
// engine, what it chose, which a batch does not tell.
func depthCell(r *Result) string {
	if !r.depthChosen() {
		return depthName(r.Depth)
	}
	return "auto(" + chosenName(r.DepthUsed) + ")"
}

// depthChosen reports whether DepthUsed is what the engine chose.
func (r *Result) depthChosen() bool { return r.Depth == 0 && r.Batch <= 1 }

// chosenName names a depth that the engine chose.
func chosenName(depth int) string {
	if depth == 0 {
		return "no ring"
	}
	return strconv.Itoa(depth)
}

// head returns the lines above the table.
func (r *Report) head() []string {
	m := r.Machine
	lines := []string{fmt.Sprintf("%s, %d threads, %s/%s, %s", m.CPU, m.Threads, m.GOOS, m.GOARCH, m.Go)}
	if len(r.Results) > 0 {
		lines = append(lines, r.describe(&r.Results[0], false))
	}
	lines = append(lines, r.Notes...)
	for _, p := range r.Peak {
		lines = append(lines, "measured peak of "+p.String())
	}
	return lines
}

// describe names the place of res on the axes that vary, or on those that do not.
func (r *Report) describe(res *Result, varying bool) string {
	var parts []string
	for _, a := range axes {
		switch v, asked := a.cell(res), a.asked(res); {
		case r.varies(a) != varying:
		case a.name == "m x n x k":
			parts = append(parts, v)
		case asked || varying:
			parts = append(parts, a.name+" "+v)
		}
	}
	return strings.Join(parts, ", ")
}

// String returns the peak, what it is made of, and what it is the best of, on one line.
func (p PeakResult) String() string {
	s := fmt.Sprintf("%s on %s: %s GFLOP/s", p.Kernel, plural(p.Workers, "worker"), significant(p.GFLOPS))
	if p.GHz > 0 {
		s += fmt.Sprintf(" = %d x %.1f flop/cycle x %.2f GHz",
			int(math.Round(p.GFLOPS/p.GHz/p.FlopPerCycle)), p.FlopPerCycle, p.GHz)
	}
	if len(p.Samples) > 1 {
		s += fmt.Sprintf(" (best of %d, their median %s)", len(p.Samples), significant(p.Median()))
	}
	return s
}

// Median returns the median of the samples.
func (p PeakResult) Median() float64 { return Median(p.Samples) }

// WriteTable writes the report for people: what was measured on what, a table,
// how to read it, what the numbers say and, where depths were traced, a product of each.
func (r *Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	for _, line := range r.head() {
		fmt.Fprintln(&b, line)
	}
	if len(r.Results) > 0 {
		fmt.Fprintln(&b)
		t := tabwriter.NewWriter(&b, 0, 0, 3, ' ', tabwriter.AlignRight)
		cs := r.columns()
		for _, c := range cs {
			fmt.Fprint(t, c.name, "\t")
		}
		for i := range r.Results {
			fmt.Fprintln(t)
			for _, c := range cs {
				fmt.Fprint(t, c.cell(&r.Results[i]), "\t")
			}
		}
		fmt.Fprintln(t)
		t.Flush()
		fmt.Fprintf(&b, "\nspread: (slowest - fastest) / median of %s; waits: share of workers x time\n",
			plural(r.Results[0].Count, "interleaved sample"))
		for _, line := range r.footnotes() {
			fmt.Fprintln(&b, line)
		}
	}
	for _, line := range slices.Concat(r.failureLines(), r.Reading()) {
		fmt.Fprintln(&b, line)
	}
	if lanes := r.drawLanes(); lanes != nil {
		fmt.Fprintln(&b)
		for _, line := range lanes {
			fmt.Fprintln(&b, line)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// footnotes say how to read the columns that not every table has.
func (r *Report) footnotes() []string {
	var lines []string
	if slices.ContainsFunc(r.Results, func(s Result) bool { return s.depthChosen() }) {
		lines = append(lines, "depth auto(n): left to the engine, which took n stages")
	}
	if slices.ContainsFunc(r.Results, func(s Result) bool { return s.Callers > 1 }) {
		lines = append(lines, "callers: goroutines that multiply at once; "+
			"median: of the time that a call takes its caller; GFLOP/s: of all callers")
	}
	if r.hasBatch() {
		lines = append(lines, "batch: products in a call, each with its own A, B and C; median: of the whole call; "+
			"GFLOP/s: of all products", "vs calls: median of the time that as many calls of Multiply take in a row / "+
			"this time in the same round")
	}
	if len(byDepth.baselines(r)) > 0 {
		lines = append(lines, "vs depth 1: median of depth 1's time / this depth's in the same round, "+
			"its interval, and p of a U test that neither is faster")
	}
	if len(byPlain.baselines(r)) > 0 {
		lines = append(lines,
			"vs plain: median of the time without scales, bias and activation / this time in the same round")
	}
	if r.hasScaling() {
		lines = append(lines, "scaling: GFLOP/s / GFLOP/s of the same with 1 worker and 1 caller, "+
			"or with either where only that was measured")
	}
	return lines
}

// WriteMarkdown writes the report as a table in Markdown with its head and
// reading as paragraphs.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	for _, line := range r.head() {
		fmt.Fprintf(&b, "%s  \n", line)
	}
	if len(r.Results) > 0 {
		cs := r.columns()
		b.WriteString("\n|")
		for _, c := range cs {
			fmt.Fprintf(&b, " %s |", c.name)
		}
		b.WriteString("\n|")
		b.WriteString(strings.Repeat("---:|", len(cs)))
		for i := range r.Results {
			b.WriteString("\n|")
			for _, c := range cs {
				fmt.Fprintf(&b, " %s |", c.cell(&r.Results[i]))
			}
		}
		b.WriteString("\n")
	}
	for _, line := range append(r.failureLines(), r.Reading()...) {
		fmt.Fprintf(&b, "\n%s\n", line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) failureLines() []string {
	var lines []string
	for _, f := range r.Failures() {
		kernel := f.Kernel
		for _, a := range axes {
			if _, ok := usual[a.name]; ok && a.asked(&f) {
				kernel += ", " + a.name + " " + a.cell(&f)
			}
		}
		lines = append(lines, fmt.Sprintf("FAILED: %dx%dx%d %s to %s %s, depth %s, %s, kernel %s: %s",
			f.M, f.N, f.K, f.DType, f.Out, f.Trans, depthCell(&f), plural(f.Workers, "worker"), kernel, f.Failure))
	}
	return lines
}

func percent(f float64) string { return fmt.Sprintf("%.1f %%", 100*f) }

// significant formats v with at least four significant digits.
func significant(v float64) string {
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 100:
		return fmt.Sprintf("%.1f", v)
	case v >= 10:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// duration formats seconds with four significant digits.
func duration(seconds float64) string {
	for _, u := range []struct {
		size time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if v := seconds / u.size.Seconds(); v >= 1 {
			return significant(v) + " " + u.name
		}
	}
	return significant(seconds*1e9) + " ns"
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
