package bench

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	out := *r
	if out.Peak == nil {
		out.Peak = []PeakResult{}
	}
	out.Results = append([]Result{}, r.Results...)
	base, plain := byDepth.baselines(r), byPlain.baselines(r)
	for i := range r.Results {
		res := &r.Results[i]
		to := &out.Results[i]
		to.VsDepth1, to.VsPlain, to.VsCalls = byDepth.versus(base, res), byPlain.versus(plain, res), res.vsCalls()
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// csvHeader names the columns of WriteCSV as the JSON fields are named.
var csvHeader = []string{
	"m", "n", "k", "dtype", "out", "trans", "depth", "workers", "kernel", "tile", "prepacked", "count",
	"seconds_median", "seconds_min", "seconds_max", "gflops", "peak_fraction", "producer_wait", "consumer_wait",
	"allocs_per_op", "verified", "max_error",
}

// csvMore are the columns behind those that not every report has, so that a column
// keeps its place while others are added.
var csvMore = slices.Concat([]column{
	{"depth_used", func(r *Result) string { return strconv.Itoa(r.DepthUsed) }},
}, asides, []column{
	{"min_time", func(r *Result) string { return strconv.FormatFloat(r.MinTime, 'g', -1, 64) }},
	{"checked", func(r *Result) string { return strconv.FormatBool(r.Checked) }},
	{"failure", func(r *Result) string { return r.Failure }},
	{"samples", func(r *Result) string {
		var seconds []string
		for _, s := range r.Samples {
			seconds = append(seconds, strconv.FormatFloat(s, 'g', -1, 64))
		}
		return strings.Join(seconds, " ")
	}},
})

// asides are axes of what a table tells above it, if at all.
var asides = []column{
	{"alpha", func(r *Result) string { return strconv.FormatFloat(r.Alpha, 'g', -1, 64) }},
	{"beta", func(r *Result) string { return strconv.FormatFloat(r.Beta, 'g', -1, 64) }},
	{"seed", func(r *Result) string { return strconv.FormatUint(r.Seed, 10) }},
	{"cold", func(r *Result) string { return strconv.FormatBool(r.Cold) }},
}

// csvAsked are the axes that have a column if a result was asked for more than the default.
var csvAsked = []string{"callers", "batch", "arith", "splitk", "promotion", "scales", "bias", "activation"}

// WriteCSV writes the results, one a line under a line of names. The columns
// callers, batch, arith, splitk, promotion, scales, bias and activation follow the others if a result
// was asked for another value than the default, vs_calls, the ratio, if there are batches, and scaling if
// workers or callers vary; where they are not known they are empty. The columns from
// depth_used to samples come last; samples are the seconds of all rounds, with blanks between.
func (r *Report) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	var extra []column
	for _, a := range axes {
		if slices.Contains(csvAsked, a.name) &&
			slices.ContainsFunc(r.Results, func(s Result) bool { return a.asked(&s) }) {
			extra = append(extra, a)
		}
	}
	num := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	if r.hasBatch() {
		extra = append(extra, column{"vs_calls", func(s *Result) string {
			if v := s.vsCalls(); v != nil {
				return num(v.Ratio)
			}
			return ""
		}})
	}
	if r.hasScaling() {
		extra = append(extra, column{scaling.name, func(s *Result) string {
			if s.Scaling == 0 {
				return ""
			}
			return num(s.Scaling)
		}})
	}
	extra = append(extra, csvMore...)
	header := slices.Clone(csvHeader)
	for _, a := range extra {
		header = append(header, a.name)
	}
	c.Write(header) // errors stay with c until it is flushed
	for _, s := range r.Results {
		line := []string{
			strconv.Itoa(s.M), strconv.Itoa(s.N), strconv.Itoa(s.K), s.DType, s.Out, s.Trans,
			strconv.Itoa(s.Depth), strconv.Itoa(s.Workers), s.Kernel, s.Tile, strconv.FormatBool(s.Prepacked),
			strconv.Itoa(s.Count),
			num(s.SecondsMedian), num(s.SecondsMin), num(s.SecondsMax), num(s.GFLOPS), num(s.PeakFraction),
			num(s.ProducerWait), num(s.ConsumerWait), num(s.AllocsPerOp),
			strconv.FormatBool(s.Verified), num(s.MaxError),
		}
		for _, a := range extra {
			line = append(line, a.cell(&s))
		}
		c.Write(line)
	}
	c.Flush()
	return c.Error()
}

// benchName returns the name under which go test -bench and WriteBenchfmt report
// a product, without "Benchmark".
func benchName(dtype string, m, n, k, depth, workers int) string {
	return fmt.Sprintf("dtype=%s/m=%d/n=%d/k=%d/depth=%s/workers=%d", dtype, m, n, k, depthName(depth), workers)
}

// benchUnits tell benchstat which direction is better.
var benchUnits = []*benchfmt.UnitMetadata{higher("GFLOP/s"), higher("%peak")}

func higher(unit string) *benchfmt.UnitMetadata {
	return &benchfmt.UnitMetadata{
		UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: unit, Key: "better"}, OrigUnit: unit, Value: "higher",
	}
}

// WriteBenchfmt writes every sample as a line of Go's benchmark format, for
// benchstat. Names are those of BenchmarkMultiply; an axis that they lack is a
// configuration line if it is the same everywhere, and part of the name if not.
// What differs from run to run of the same is a comment: benchstat compares only
// what has the same configuration.
func (r *Report) WriteBenchfmt(w io.Writer) error {
	m := r.Machine
	comments := "# " + m.Go
	if m.Commit != "" {
		comments += ", commit " + m.Commit
	}
	comments += "\n"
	for _, p := range r.Peak {
		comments += fmt.Sprintf("# peak of %s, workers %d: %s GFLOP/s\n", p.Kernel, p.Workers, significant(p.GFLOPS))
	}
	if _, err := io.WriteString(w, comments); err != nil {
		return err
	}
	out := benchfmt.NewWriter(w)
	units := benchUnits
	if r.hasBatch() {
		units = append(slices.Clip(units), higher("vs-calls"))
	}
	for _, u := range units {
		if err := out.Write(u); err != nil {
			return err
		}
	}
	config, extra := r.benchConfig()
	for i := range r.Results {
		s := &r.Results[i]
		name := "Multiply/" + benchName(s.DType, s.M, s.N, s.K, s.Depth, s.Workers)
		for _, a := range extra {
			name += "/" + a.name + "=" + a.cell(s)
		}
		if m.GOMAXPROCS > 1 {
			name += fmt.Sprintf("-%d", m.GOMAXPROCS)
		}
		for i := range s.Samples {
			sample := &benchfmt.Result{Config: config, Name: benchfmt.Name(name), Iters: 1, Values: s.benchValues(i)}
			if err := out.Write(sample); err != nil {
				return err
			}
		}
	}
	return nil
}

// benchConfig returns what all results share, and the axes that are to be in their names.
func (r *Report) benchConfig() (config []benchfmt.Config, extra []column) {
	set := func(key, value string) {
		config = append(config, benchfmt.Config{Key: key, Value: []byte(value), File: true})
	}
	m := r.Machine
	set("goos", m.GOOS)
	set("goarch", m.GOARCH)
	set("pkg", "example.com/leafhopper/bench")
	set("cpu", m.CPU)
	for _, a := range slices.Concat(axes, asides) {
		switch a.name {
		case "m x n x k", "dtype", "workers": // which benchName has
			continue
		}
		if r.varies(a) {
			extra = append(extra, a)
		} else if len(r.Results) > 0 && a.asked(&r.Results[0]) {
			set(a.name, a.cell(&r.Results[0]))
		}
	}
	return config, extra
}

// benchValues returns what sample i measured.
func (r *Result) benchValues(i int) []benchfmt.Value {
	seconds := r.Samples[i]
	gflops := r.gflops(seconds)
	peak := 0.0
	if r.GFLOPS > 0 {
		peak = 100 * r.PeakFraction * gflops / r.GFLOPS
	}
	values := []benchfmt.Value{
		{Value: seconds, Unit: "sec/op", OrigValue: rounded(seconds*1e9, 6), OrigUnit: "ns/op"},
		{Value: rounded(gflops, 6), Unit: "GFLOP/s"},
		{Value: rounded(peak, 4), Unit: "%peak"},
		{Value: rounded(r.AllocsPerOp, 4), Unit: "allocs/op"},
	}
	if i < len(r.CallsSamples) {
		values = append(values, benchfmt.Value{Value: rounded(r.CallsSamples[i]/seconds, 6), Unit: "vs-calls"})
	}
	return values
}

// rounded returns v with so many significant digits.
func rounded(v float64, digits int) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64) // what was formatted is a number
	return v
}

// Formats are the names that Write takes.
var Formats = []string{"table", "json", "csv", "md", "benchfmt", "svg"}

// Write writes the report in the format called name, one of Formats.
func (r *Report) Write(w io.Writer, name string) error {
	switch name {
	case "table":
		return r.WriteTable(w)
	case "json":
		return r.WriteJSON(w)
	case "csv":
		return r.WriteCSV(w)
	case "md":
		return r.WriteMarkdown(w)
	case "benchfmt":
		return r.WriteBenchfmt(w)
	case "svg":
		return r.WriteSVG(w)
	}
	return fmt.Errorf("bench: unknown format %q; formats: %s", name, strings.Join(Formats, ", "))
}
