package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bench"
	"example.com/leafhopper/internal/cli"
)

func TestCompareJSON(t *testing.T) {
	stdout := succeed(t, quick("-dtype", "bf16,f32", "-trans", "nt", "-beta", "0.5", "-format", "json")...)
	doc := decode(t, stdout)
	if len(doc.Results) != 4 || len(doc.Peak) == 0 || doc.Machine.Go == "" {
		t.Fatalf("%s", stdout)
	}
	for i, r := range doc.Results {
		if r.M != 64 || r.N != 64 || r.K != 64 || r.DType != []string{"bf16", "f32"}[i/2] || r.Out != "f32" ||
			r.Trans != "NT" || r.Depth != 1+i%2 {
			t.Errorf("result %d: %+v", i, r)
		}
		if !r.Verified || r.MaxError <= 0 || r.MaxError > 1 || r.GFLOPS <= 0 || r.PeakFraction <= 0 || r.Count != 1 {
			t.Errorf("result %d: %+v", i, r)
		}
	}
}

// TestCompareFloat64 wants f64 in every column, factors with all their bits, and results verified beside float32's.
func TestCompareFloat64(t *testing.T) {
	stdout := succeed(t, quick("-dtype", "f32,f64", "-alpha", "0.1", "-beta", "-0.3", "-prepacked",
		"false,true", "-format", "json")...)
	results := decode(t, stdout).Results
	if len(results) != 8 {
		t.Fatalf("%d results, want 8", len(results))
	}
	for i, r := range results {
		elem := []string{"f32", "f64"}[i/4]
		if r.DType != elem || r.Out != elem || r.Alpha != 0.1 || r.Beta != -0.3 || r.Prepacked != (i/2%2 == 1) ||
			!r.Verified || r.MaxError <= 0 || r.MaxError > 1 || r.PeakFraction <= 0 {
			t.Errorf("result %d: %+v", i, r)
		}
		if k, err := asm.Select(asm.F64, ""); err != nil || (r.Kernel == k.Name) != (elem == "f64") {
			t.Errorf("result %d: kernel %s, error %v", i, r.Kernel, err)
		}
	}
	for format, want := range map[string]string{
		"table": "dtype f64, out f64", "csv": ",f64,f64,NN,", "benchfmt": "/dtype=f64/", "svg": "f64 to f64",
	} {
		if stdout := succeed(t, quick("-dtype", "f64", "-format", format)...); !strings.Contains(stdout, want) {
			t.Errorf("%s without %q:\n%s", format, want, stdout)
		}
	}
}

func TestCompareHopper(t *testing.T) {
	stdout := succeed(t, quick("-dtype", "bf16,f32", "-arith", "native,hopper", "-splitk", "1,2",
		"-format", "json")...)
	if n := strings.Count(stdout, `"arith": "hopper"`); n != 8 || strings.Count(stdout, `"arith": "native"`) != 4 ||
		strings.Count(stdout, `"splitk": 2`) != 4 {
		t.Errorf("%d of 12 results are in Hopper's arithmetic, want 8:\n%s", n, stdout)
	}
	for i, r := range decode(t, stdout).Results {
		if r.Arith != []string{"native", "hopper", "hopper"}[i/2%3] || r.SplitK != []int{0, 0, 2}[i/2%3] ||
			!r.Verified ||
			r.GFLOPS <= 0 || r.PeakFraction <= 0 {
			t.Errorf("result %d: %+v", i, r)
		}
		if k, err := asm.SelectArithmetic(asm.BF16, asm.Hopper, ""); err != nil ||
			(r.Arith == "hopper") != (r.Kernel == k.Name) {
			t.Errorf("result %d: kernel %s, error %v", i, r.Kernel, err)
		}
	}
	stdout = succeed(t, quick("-arith", "hopper", "-kernel", "hopper-go")...)
	if !strings.Contains(stdout, "arith hopper") ||
		!strings.Contains(stdout, "measured peak of hopper-go") {
		t.Errorf("%s", stdout)
	}
	if stdout = succeed(t, quick("-workers", "1")...); strings.Contains(stdout, "arith") ||
		strings.Contains(stdout, "splitk") {
		t.Errorf("a word on the arithmetic without being asked:\n%s", stdout)
	}
}

func TestCompareFP8(t *testing.T) {
	stdout := succeed(t, quick("-dtype", "e4m3,e5m2", "-arith", "hopper", "-out", "f32,bf16",
		"-prepacked", "false,true", "-format", "json")...)
	results := decode(t, stdout).Results
	if len(results) != 16 {
		t.Fatalf("%d results, want 16", len(results))
	}
	for i, r := range results {
		if r.DType != []string{"e4m3", "e5m2"}[i/8] || r.Prepacked != (i/2%2 == 1) || r.Arith != "hopper" ||
			!r.Verified || r.MaxError != 0 || r.PeakFraction <= 0 {
			t.Errorf("result %d: %+v", i, r)
		}
	}
}

func TestComparePrepacked(t *testing.T) {
	stdout := succeed(t, quick("-dtype", "bf16,f32", "-arith", "native,hopper", "-prepacked",
		"false,true", "-format", "json")...)
	for i, r := range decode(t, stdout).Results {
		if r.Prepacked != (i/2%2 == 1) || !r.Verified {
			t.Errorf("result %d: %+v", i, r)
		}
	}
	for args, want := range map[string]int{"-prepacked": 2, "-prepacked=true": 2, "--prepacked true -workers 1": 2,
		"-prepacked=false": 0, "-prepacked 0": 0, "-prepacked true,0": 2} {
		stdout := succeed(t, quick(append(strings.Fields(args), "-format", "json")...)...)
		if n := strings.Count(stdout, `"prepacked": true`); n != want {
			t.Errorf("%s: %d prepacked results, want %d", args, n, want)
		}
	}
	if stdout = succeed(t, quick("-prepacked")...); !strings.Contains(stdout, "prepacked true") {
		t.Errorf("no word on the packing:\n%s", stdout)
	}
	if stdout = succeed(t, quick()...); strings.Contains(stdout, "prepacked") {
		t.Errorf("a word on the packing without being asked:\n%s", stdout)
	}
}

func TestCompareCallers(t *testing.T) {
	stdout := succeed(t, quick("-size", "64,200", "-depth", "0", "-callers", "1,3", "-workers", "1,2",
		"-prepacked", "false,true", "-format", "json")...)
	results := decode(t, stdout).Results
	if len(results) != 16 {
		t.Fatalf("%d results, want 16", len(results))
	}
	for i, r := range results {
		base := results[i/8*8+i%2]
		if r.Workers != 1+i/4%2 || r.Callers != []int{0, 3}[i/2%2] || !r.Verified || r.Scaling != r.GFLOPS/base.GFLOPS {
			t.Errorf("result %d: %+v\nwant a scaling over %v GFLOP/s", i, r, base.GFLOPS)
		}
	}
	if n := strings.Count(stdout, `"callers": 3`); n != 8 || strings.Contains(stdout, `"callers": 1`) {
		t.Errorf("%d of 16 results are of 3 callers, want 8:\n%s", n, stdout)
	}
	if stdout = succeed(t, quick("-callers", "2")...); !strings.Contains(stdout, "callers 2") ||
		strings.Contains(stdout, "scaling") {
		t.Errorf("want a word on the callers and none on scaling:\n%s", stdout)
	}
	if stdout = succeed(t, quick("-workers", "1,2")...); strings.Contains(stdout, "callers") ||
		!strings.Contains(stdout, "scaling") {
		t.Errorf("want the scaling and no word on callers:\n%s", stdout)
	}
	if stdout = succeed(t, quick("-workers", "1")...); strings.Contains(stdout, "callers") ||
		strings.Contains(stdout, "scaling") {
		t.Errorf("a word on callers or scaling without being asked:\n%s", stdout)
	}
}

func TestCompareBatch(t *testing.T) {
	args := func(more ...string) []string {
		return append(quick("-depth", "0", "-batch", "1,3"), more...)
	}
	stdout := succeed(t, args("-callers", "2", "-prepacked", "-format", "json")...)
	results := decode(t, stdout).Results
	if len(results) != 2 {
		t.Fatalf("%d results, want 2", len(results))
	}
	for i, r := range results {
		batch := []int{0, 3}[i]
		if r.Batch != batch || len(r.CallsSamples) != batch/3 || (r.VsCalls != nil) != (batch > 0) || !r.Verified ||
			!r.Prepacked || r.Callers != 2 {
			t.Errorf("result %d: %+v", i, r)
		}
	}
	for format, want := range map[string]string{"table": "   vs calls   ", "csv": ",batch,vs_calls,"} {
		stdout := succeed(t, args("-format", format)...)
		if !strings.Contains(stdout, want) {
			t.Errorf("%s: without %q:\n%s", format, want, stdout)
		}
	}
	// Depths of a batch are no product whose workers could be drawn.
	if stdout := succeed(t, quick("-batch", "2")...); !strings.Contains(stdout, ", batch 2") ||
		strings.Contains(stdout, "One product of each") {
		t.Errorf("%s", stdout)
	}
}

func TestCompareFormats(t *testing.T) {
	for format, want := range map[string]string{
		"table":    "producer wait",
		"md":       "| depth |",
		"csv":      "m,n,k,dtype",
		"benchfmt": "BenchmarkMultiply/dtype=bf16/m=64/n=64/k=64/depth=2/workers=1",
		"svg":      "<title>Matrix products: 64×64×64, bf16 to f32, NN, 1 worker",
	} {
		stdout := succeed(t, quick("-format", format, "-workers", "1", "-verify=false", "-cold")...)
		if !strings.Contains(stdout, want) {
			t.Errorf("%s: without %q:\n%s", format, want, stdout)
		}
	}
}

// TestCompareLanes wants a drawing of each depth and a sentence on the ring where only
// depths differ.
func TestCompareLanes(t *testing.T) {
	for args, drawn := range map[string]bool{"": true, "-workers 1,2": false, "-depth 2": false,
		"-format json": false} {
		stdout := succeed(t, append(quick("-size", "300", "-count", "8"), strings.Fields(args)...)...)
		for _, want := range []string{"One product of each depth", "\ndepth 2, worker 0",
			"█ multiply  ▒ copy  · stall\n", "\nWhat the ring hid: "} {
			if strings.Contains(stdout, want) != drawn {
				t.Errorf("%s: %q: want it %v in\n%s", args, want, drawn, stdout)
			}
		}
		if drawn && (!strings.Contains(stdout, "x depth 1 (99.2 % interval ") ||
			!strings.Contains(stdout, "8 rounds")) {
			t.Errorf("%s: no ratio to depth 1 with its interval in\n%s", args, stdout)
		}
	}
}

// TestCompareSamples wants every sample in the formats for machines.
func TestCompareSamples(t *testing.T) {
	stdout := succeed(t, quick("-count", "9", "-format", "json")...)
	doc := decode(t, stdout)
	for i, r := range doc.Results {
		if len(r.Samples) != 9 || (r.VsDepth1 != nil) != (i == 1) {
			t.Errorf("result %d: %+v", i, r)
		}
	}
	if v := doc.Results[1].VsDepth1; v == nil || v.Rounds != 9 || v.Lo > v.Ratio || v.Hi < v.Ratio ||
		v.Confidence < bench.Confidence {
		t.Errorf("%+v", v)
	}
	if len(doc.Peak[0].Samples) != 10 {
		t.Errorf("%+v", doc.Peak)
	}
	stdout = succeed(t, quick("-count", "9", "-format", "csv")...)
	records, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	if err != nil || len(records) != 3 || records[0][len(records[0])-1] != "samples" ||
		len(strings.Fields(records[2][len(records[2])-1])) != 9 {
		t.Errorf("%v in\n%s", err, stdout)
	}
	stdout = succeed(t, quick("-count", "9", "-format", "benchfmt", "-depth", "0,2")...)
	if n := strings.Count(stdout, "\nBenchmarkMultiply/"); n != 18 || strings.Count(stdout, "/depth=auto/") != 9 {
		t.Errorf("%d lines of 18 samples, 9 of them with depth=auto:\n%s", n, stdout)
	}
}

// TestCompareTrace wants both files of -trace, however its name is given.
func TestCompareTrace(t *testing.T) {
	for _, name := range []string{"t", "u.json"} {
		path := filepath.Join(t.TempDir(), name)
		succeed(t, quick("-trace", path)...)
		base := strings.TrimSuffix(path, ".json")
		if data, err := os.ReadFile(base); err != nil || !bytes.HasPrefix(data, []byte("go 1.")) ||
			!bytes.Contains(data, []byte("multiply")) {
			t.Errorf("execution trace: %v, %.20q", err, data)
		}
		data, err := os.ReadFile(base + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			TraceEvents []struct{ Name, Ph string }
		}
		if err := json.Unmarshal(data, &doc); err != nil {
			t.Fatal(err)
		}
		kinds := map[string]int{}
		for _, e := range doc.TraceEvents {
			kinds[e.Ph+" "+e.Name]++
		}
		if kinds["X multiply"] == 0 || kinds["X copy"] == 0 || kinds["M process_name"] != 2 {
			t.Errorf("%v", kinds)
		}
	}
}

// TestCompareInterrupted wants the rounds that are whole.
func TestCompareInterrupted(t *testing.T) {
	for after := time.Second; ; after *= 2 {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(after, cancel)
		var stdout, stderr bytes.Buffer
		code := run(ctx, []string{"-size", "64", "-depth", "1,2", "-count", "1000000", "-min-time", "1ms"}, &stdout,
			&stderr)
		if code != cli.Interrupted || stderr.String() != "gemmbench: interrupted\n" {
			t.Fatalf("exit status %d, stderr %q", code, &stderr)
		}
		if stdout.Len() == 0 && after < time.Minute {
			continue // not one round is whole
		}
		want := regexp.MustCompile(`interrupted: [1-9][0-9]* of 1000000 rounds are whole\n(.*\n)*.* vs depth 1 `)
		if !want.MatchString(stdout.String()) {
			t.Errorf("%s", &stdout)
		}
		return
	}
}

func TestCompareDefaults(t *testing.T) {
	for args, want := range map[string]compareFlags{
		"":                         {count: defaultRounds, minTime: defaultMinTime},
		"-count 3":                 {count: 3, minTime: defaultMinTime},
		"-min-time 1s":             {count: defaultRounds, minTime: time.Second},
		"-k 64":                    {count: bench.DefaultCount, minTime: bench.DefaultMinTime},
		"-size 64 -count 10 -m 20": {count: 10, minTime: bench.DefaultMinTime},
	} {
		fs := flag.NewFlagSet("compare", flag.ContinueOnError)
		f := new(compareFlags)
		f.declareAll(fs)
		if err := fs.Parse(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		if f.setDefaults(fs); f.count != want.count || f.minTime != want.minTime {
			t.Errorf("%q: %d rounds of %v, want %d of %v", args, f.count, f.minTime, want.count, want.minTime)
		}
	}
}

// TestFailedVerification wants the report, one line on stderr, and exit status 1.
func TestFailedVerification(t *testing.T) {
	rep := &bench.Report{Results: []bench.Result{{M: 1, N: 2, K: 3, Checked: true, Failure: "C[0,1] = 4, want 5",
		Samples: []float64{1}}}}
	var stdout, stderr bytes.Buffer
	f := &compareFlags{output: output{format: "table", formats: bench.Formats, command: "compare"}}
	if err := f.output.open(&stdout); err != nil {
		t.Fatal(err)
	}
	if code := status(f.finish(rep), &stderr); code != cli.Failed {
		t.Errorf("exit status %d", code)
	}
	if stderr.String() != "gemmbench: a result failed its verification\n" ||
		!strings.Contains(stdout.String(), "FAILED: 1x2x3") {
		t.Errorf("stderr %q, stdout %q", stderr.String(), stdout.String())
	}
	rep.Results[0].Verified = true
	if code := status(f.finish(rep), &stderr); code != cli.OK {
		t.Errorf("verified: exit status %d", code)
	}
}
