package bench

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sampleReport is a report with numbers that are easy to check by eye.
func sampleReport() *Report {
	rep := &Report{
		Machine: Machine{
			CPU: "Example CPU", Cores: 2, Threads: 2, GOMAXPROCS: 2, L1D: 48 << 10, L2: 1 << 20, L3: 32 << 20,
			Memory: 1 << 30,
			OS:     "linux 6.1", GOOS: "linux", GOARCH: "amd64", Go: "go1.26.8", Kernels: []string{"avx2", "go"},
			Module: "example.com/leafhopper", Version: "v1.2.3", Commit: "0123abcd",
		},
		Peak: []PeakResult{{Kernel: "avx2", Workers: 2, Samples: []float64{990, 995, 1000}, GFLOPS: 1000, GHz: 4,
			FlopPerCycle: 125, CPUShare: 1}},
		Notes: []string{"size chosen by hand"},
	}
	for depth, samples := range map[int][]float64{
		1: {0.0025, 0.0026, 0.0025, 0.0024, 0.0025, 0.00251, 0.0026, 0.00252, 0.00241, 0.0025},
		2: {0.0022, 0.0023, 0.0023, 0.0022, 0.0024, 0.00221, 0.00231, 0.0023, 0.0022, 0.00241},
		4: {0.00231, 0.00231, 0.0023, 0.0022, 0.0024, 0.00222, 0.00232, 0.00231, 0.00221, 0.0024},
	} {
		r := Result{
			M: 1000, N: 1000, K: 1000, DType: "bf16", Out: "f32", Trans: "NT", Depth: depth, DepthUsed: depth,
			Workers: 2, Kernel: "avx2",
			Arith: "native", Alpha: 1, Seed: 1, MinTime: 0.1,
			Count: len(samples), SecondsMedian: Median(samples), SecondsMin: slices.Min(samples),
			SecondsMax:   slices.Max(samples),
			ProducerWait: 0.125, ConsumerWait: 0.25 / float64(depth), AllocsPerOp: 0.5,
			Checked: true, Verified: true, MaxError: 0.03125, Samples: samples,
		}
		r.GFLOPS = r.Flops() / r.SecondsMedian / 1e9
		r.PeakFraction = r.GFLOPS / 1000
		rep.Results = append(rep.Results, r)
	}
	slices.SortFunc(rep.Results, func(a, b Result) int { return a.Depth - b.Depth })
	return rep
}

// mixedReport varies what sampleReport keeps the same, and fails.
func mixedReport() *Report {
	rep := sampleReport()
	rep.Notes = nil
	rep.Peak[0].Samples = []float64{800, 810, 1000}
	rep.Load = Load{CPUShare: 0.5, Steal: 0.25}
	rep.Results = rep.Results[:2]
	for _, r := range slices.Clone(rep.Results) {
		r.M, r.DType, r.Tile, r.Workers = 8, "f32", "64x64x64", 1
		r.SecondsMedian, r.SecondsMin, r.SecondsMax = r.SecondsMedian/1e5, r.SecondsMin/1e5, r.SecondsMax/1e5
		rep.Results = append(rep.Results, r)
	}
	rep.Results[1].Verified, rep.Results[1].MaxError, rep.Results[1].Failure = false, finite(nan()),
		"C[1,2] = NaN, want 1"
	rep.Results[3].Checked, rep.Results[3].Verified, rep.Results[3].MaxError = false, false, 0
	return rep
}

// hopperReport is in Hopper's arithmetic, with K split in some products.
func hopperReport() *Report {
	rep := sampleReport()
	rep.Notes, rep.Results, rep.Peak[0].Kernel = nil, rep.Results[:2], "hopper-avx2"
	for i := range rep.Results {
		r := &rep.Results[i]
		r.Arith, r.Kernel, r.MaxError = "hopper", "hopper-avx2", 0
	}
	for _, r := range rep.Results {
		r.SplitK = 4
		rep.Results = append(rep.Results, r)
	}
	rep.Results[3].Verified, rep.Results[3].MaxError, rep.Results[3].Failure = false, finite(math.Inf(1)),
		"C[1,2] = 1 (0x1p+00), want 2 (0x1p+01) exactly"
	return rep
}

// packedReport has products with B packed and without.
func packedReport() *Report {
	rep := sampleReport()
	rep.Notes, rep.Results = nil, rep.Results[:2]
	for _, r := range rep.Results {
		r.Prepacked = true
		rep.Results = append(rep.Results, r)
	}
	rep.Results[3].Verified, rep.Results[3].Failure = false,
		"other bits than with depth 1, workers 2, tile [0 0 0], kernel avx2, prepacked false"
	return rep
}

// autoReport leaves a depth to the engine, which takes one that is there already and
// for another product none.
func autoReport() *Report {
	rep := sampleReport()
	rep.Notes = nil
	rep.Results[2].Depth, rep.Results[2].DepthUsed = 0, 1
	for i := range rep.Results {
		rep.Results[i].Alpha, rep.Results[i].Cold = 0.1, true
	}
	inline := rep.Results[2]
	inline.M, inline.DepthUsed = 8, 0
	rep.Results = append(rep.Results, inline)
	return rep
}

func nan() float64 { var zero float64; return zero / zero }

// TestGolden compares every format with testdata; -update rewrites it.
func TestGolden(t *testing.T) {
	for name, rep := range map[string]*Report{"plain": sampleReport(), "mixed": mixedReport(), "hopper": hopperReport(),
		"packed": packedReport(), "callers": callersReport(), "batch": batchReport(), "auto": autoReport(),
		"empty": {Machine: sampleReport().Machine}} {
		for _, format := range Formats {
			var b bytes.Buffer
			if err := rep.Write(&b, format); err != nil {
				t.Errorf("%s: %v", format, err)
			}
			path := filepath.Join("testdata", name+"."+format)
			if *update {
				if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b.Bytes(), want) {
				t.Errorf("%s:\n%s\nwant:\n%s", path, b.Bytes(), want)
			}
		}
	}
	want := `bench: unknown format "xml"; formats: table, json, csv, md, benchfmt, svg`
	if err := sampleReport().Write(&bytes.Buffer{}, "xml"); err == nil || err.Error() != want {
		t.Errorf("unknown format: error %v, want %s", err, want)
	}
}

// TestJSONFields pins the names that others read.
func TestJSONFields(t *testing.T) {
	var b bytes.Buffer
	if err := sampleReport().WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Machine map[string]any
		Peak    []map[string]any
		Results []map[string]any
		Load    map[string]any
	}
	d := json.NewDecoder(&b)
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		got  map[string]any
		want string
	}{
		{doc.Machine, "cpu cores threads gomaxprocs default_workers default_workers_by l1d_bytes l2_bytes l3_bytes " +
			"memory_bytes os goos goarch go kernels module version commit modified"},
		{doc.Peak[0], "kernel workers gflops ghz flop_per_cycle cpu_share lower_bound samples"},
		{doc.Load, "cpu_share steal"},
		{doc.Results[0], "m n k dtype out trans depth depth_used workers kernel prepacked count seconds_median " +
			"seconds_min seconds_max gflops " +
			"peak_fraction producer_wait consumer_wait allocs_per_op checked verified max_error arith alpha beta " +
			"seed cold min_time samples"},
		{doc.Results[1]["vs_depth1"].(map[string]any), "ratio lo hi confidence p rounds"},
	} {
		got, want := slices.Sorted(maps.Keys(test.got)), strings.Fields(test.want)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("fields %v\nwant %v", got, want)
		}
	}
}

// TestBenchfmtRead has benchstat's reader read every sample.
func TestBenchfmtRead(t *testing.T) {
	var b bytes.Buffer
	want := 0
	for _, rep := range []*Report{mixedReport(), hopperReport(), packedReport(), callersReport(), autoReport(),
		batchReport()} {
		if err := rep.WriteBenchfmt(&b); err != nil {
			t.Fatal(err)
		}
		for _, res := range rep.Results {
			want += len(res.Samples)
		}
	}
	results, better := 0, 0
	for r := benchfmt.NewReader(&b, "memory"); r.Scan(); {
		switch rec := r.Result().(type) {
		case *benchfmt.Result:
			results++
			if rec.Name.String()[:len("Multiply/dtype=")] != "Multiply/dtype=" || rec.GetConfig("goos") != "linux" ||
				rec.GetConfig("seed") != "1" {
				t.Errorf("%s: config %v", rec.Name, rec.Config)
			}
			units := []string{"sec/op", "GFLOP/s", "%peak", "allocs/op"}
			if strings.Contains(rec.Name.String(), "/batch=8") {
				units = append(units, "vs-calls")
			}
			for _, unit := range units {
				if v, ok := rec.Value(unit); !ok || v <= 0 {
					t.Errorf("%s: %v %s", rec.Name, v, unit)
				}
			}
		case *benchfmt.UnitMetadata:
			better++
		default:
			t.Errorf("%T %v", rec, rec)
		}
	}
	if results != want || better != 3 {
		t.Errorf("%d results for %d samples, %d units of 3", results, want, better)
	}
}

// TestBenchfmtComparable checks that another build, whose kernels were measured at another
// speed, has the same configuration: benchstat compares only what has.
func TestBenchfmtComparable(t *testing.T) {
	configuration := func(rep *Report) (lines []string) {
		var b bytes.Buffer
		if err := rep.WriteBenchfmt(&b); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if key, _, ok := strings.Cut(line, ": "); ok && !strings.ContainsAny(key, " \t") {
				lines = append(lines, line)
			}
		}
		return lines
	}
	rep := sampleReport()
	before := configuration(rep)
	rep.Machine.Go, rep.Machine.Commit = "go1.99", "89abcdef"
	for i := range rep.Peak {
		rep.Peak[i].GFLOPS *= 1.01
	}
	if after := configuration(rep); len(before) < 5 || !slices.Equal(before, after) {
		t.Errorf("configuration\n%s\nof another build\n%s", before, after)
	}
}

func TestReading(t *testing.T) {
	change := func(f func(*Report)) *Report {
		rep := sampleReport()
		f(rep)
		return rep
	}
	for _, test := range []struct {
		rep  *Report
		want string
	}{
		{sampleReport(), "Depth 2 was the fastest, at 87.0 % of the peak: 1.096x depth 1 (99.8 % interval 1.037 to " +
			"1.136, p = 0.008, 10 rounds). In these rounds it cannot be told from depth 4. Faster than depth 1 at " +
			"the 1 % level: depths 2, 4."},
		{change(func(r *Report) { r.Results = r.Results[:1] }), ""},
		{change(func(r *Report) { r.Results[1].Checked, r.Results[1].Verified = true, false }),
			"Depth 4 was the fastest, at 86.6 % of the peak: 1.091x depth 1 (99.8 % interval 1.042 to 1.131, p = " +
				"0.008, 10 rounds). Faster than depth 1 at the 1 % level: depth 4."},
		{change(func(r *Report) {
			depths := r.Results
			for w := 3; w < 8; w++ {
				for _, d := range depths {
					d.Workers = w
					r.Results = append(r.Results, d)
				}
			}
			r.Results[0].Samples = slices.Repeat([]float64{0.001}, 10)
		}), "Fastest depth: 1 in 1 case, 2 in 5 cases; the table says by how much."},
		{change(func(r *Report) { r.Results = r.Results[1:] }),
			"Depth 2 was the fastest, at 87.0 % of the peak. No other depth can be told from it in these rounds."},
		{change(func(r *Report) { r.Results[1].Depth, r.Results[1].DepthUsed = 0, 1 }),
			"Depth auto(1) was the fastest, at 87.0 % of the peak: 1.096x depth 1 (99.8 % interval 1.037 to 1.136, " +
				"p = 0.008, 10 rounds). In these rounds it cannot be told from depth 4. Faster than depth 1 at the 1 % " +
				"level: depths auto(1), 4."},
		{change(func(r *Report) { r.Results = append(r.Results[:1], r.Results[0]) }), ""},
		{change(func(r *Report) {
			r.Results[0].Samples, r.Results[0].PeakFraction = slices.Repeat([]float64{0.002}, 10), 1
		}), "Depth 1 was the fastest, at 100.0 % of the peak, and depth 2 next: 0.870x depth 1 (99.8 % interval " +
			"0.830 to 0.909, p = 0.008, 10 rounds). Slower than depth 1 at the 1 % level: depths 2, 4."},
		{change(func(r *Report) {
			for i := range r.Results {
				r.Results[i].Samples = r.Results[i].Samples[:5]
			}
		}), "Depth 2 was the fastest, at 87.0 % of the peak: 1.091x depth 1 (93.8 % interval 1.042 to 1.136, p = " +
			"0.200, 5 rounds). 5 rounds are too few to tell depths apart; from 8 on (-count) there is a 99 % " +
			"interval."},
		{change(func(r *Report) {
			r.Results = r.Results[1:]
			for i := range r.Results {
				r.Results[i].Samples = r.Results[i].Samples[:1]
			}
		}), "Depth 2 was the fastest, at 87.0 % of the peak. 1 round is too few to tell depths apart; from 8 on " +
			"(-count) there is a 99 % interval."},
		{change(func(r *Report) { r.Results = r.Results[:1]; r.Peak[0].LowerBound = true }),
			"The threads that measured the peak of avx2 on 2 workers never had a millisecond together: it is higher."},
		{change(func(r *Report) { r.Results = r.Results[:1]; r.Peak[0].Samples = []float64{800, 810, 1000} }),
			"Half of the measurements of the peak of avx2 on 2 workers reached less than 81.0 % of the best: the " +
				"clock changes."},
		{change(func(r *Report) { r.Results = r.Results[:1]; r.Load = Load{CPUShare: 0.5} }),
			"This process did not get its cores: threads that always had work got 50.0 % of their time on a " +
				"processor (getrusage). Speeds are those of a shared machine."},
		{change(func(r *Report) { r.Results = r.Results[:1]; r.Load = Load{CPUShare: 0.98, Steal: 0.02} }),
			"This process did not get its cores: the host gave 2.0 % of the processors to others (steal in " +
				"/proc/stat). Speeds are those of a shared machine."},
		{change(func(r *Report) { r.Results = r.Results[:1]; r.Results[0].PeakFraction = 1.42 }),
			"No product beats the peak: at 142.0 % of it the peak was measured too low, which is a bug; trust " +
				"GFLOP/s, not fractions."},
		{change(func(r *Report) { r.Results = r.Results[:1]; r.Results[0].PeakFraction = 1.01 }), ""},
	} {
		if got := strings.Join(test.rep.Reading(), "\n"); got != test.want {
			t.Errorf("got  %q\nwant %q", got, test.want)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		s    []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{3, 1}, 2}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 9, 2}, 3}} {
		if got := Median(test.s); got != test.want {
			t.Errorf("Median(%v) = %v, want %v", test.s, got, test.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for seconds, want := range map[float64]string{2: "2.000 s", 0.12345: "123.5 ms", 1.5e-6: "1.500 µs",
		2e-8: "20.00 ns"} {
		if got := duration(seconds); got != want {
			t.Errorf("duration(%v) = %q, want %q", seconds, got, want)
		}
	}
}
