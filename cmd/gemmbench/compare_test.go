package main

import (
	"bytes"
	"strings"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bench"
)

func TestCompareJSON(t *testing.T) {
	code, stdout, stderr := gemmbench(t, quick("-dtype", "bf16,f32", "-trans", "nt", "-beta", "0.5", "-format", "json")...)
	if code != exitOK || stderr != "" {
		t.Fatalf("exit status %d, stderr %q", code, stderr)
	}
	doc := decode(t, stdout)
	if len(doc.Results) != 4 || len(doc.Peak) == 0 || doc.Machine.Go == "" {
		t.Fatalf("%s", stdout)
	}
	for i, r := range doc.Results {
		if r.M != 64 || r.N != 64 || r.K != 64 || r.DType != []string{"bf16", "f32"}[i/2] || r.Out != "f32" || r.Trans != "NT" || r.Depth != 1+i%2 {
			t.Errorf("result %d: %+v", i, r)
		}
		if !r.Verified || r.MaxError <= 0 || r.MaxError > 1 || r.GFLOPS <= 0 || r.PeakFraction <= 0 || r.Count != 1 {
			t.Errorf("result %d: %+v", i, r)
		}
	}
}

func TestCompareHopper(t *testing.T) {
	code, stdout, stderr := gemmbench(t, quick("-dtype", "bf16,f32", "-arith", "native,hopper", "-splitk", "1,2", "-format", "json")...)
	if code != exitOK || stderr != "" {
		t.Fatalf("exit status %d, stderr %q", code, stderr)
	}
	if n := strings.Count(stdout, `"arith": "hopper"`); n != 8 || strings.Count(stdout, `"arith": "native"`) != 8 || strings.Count(stdout, `"splitk": 2`) != 8 {
		t.Errorf("%d of 16 results are in Hopper's arithmetic, want 8:\n%s", n, stdout)
	}
	for i, r := range decode(t, stdout).Results {
		if r.Arith != []string{"native", "hopper"}[i/4%2] || r.SplitK != []int{0, 2}[i/2%2] || !r.Verified || r.GFLOPS <= 0 || r.PeakFraction <= 0 {
			t.Errorf("result %d: %+v", i, r)
		}
		if k, err := asm.SelectArithmetic(asm.BF16, asm.Hopper, ""); err != nil || (r.Arith == "hopper") != (r.Kernel == k.Name) {
			t.Errorf("result %d: kernel %s, error %v", i, r.Kernel, err)
		}
	}
	code, stdout, stderr = gemmbench(t, quick("-arith", "hopper", "-kernel", "hopper-go")...)
	if code != exitOK || stderr != "" || !strings.Contains(stdout, "arith hopper") || !strings.Contains(stdout, "measured peak of hopper-go") {
		t.Errorf("exit status %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
	if _, stdout, _ = gemmbench(t, quick("-workers", "1")...); strings.Contains(stdout, "arith") || strings.Contains(stdout, "splitk") {
		t.Errorf("a word on the arithmetic without being asked:\n%s", stdout)
	}
}

func TestCompareFP8(t *testing.T) {
	code, stdout, stderr := gemmbench(t, quick("-dtype", "e4m3,e5m2", "-arith", "hopper", "-out", "f32,bf16", "-prepacked", "false,true", "-format", "json")...)
	if code != exitOK || stderr != "" {
		t.Fatalf("exit status %d, stderr %q", code, stderr)
	}
	results := decode(t, stdout).Results
	if len(results) != 16 {
		t.Fatalf("%d results, want 16", len(results))
	}
	for i, r := range results {
		if r.DType != []string{"e4m3", "e5m2"}[i/8] || r.Prepacked != (i/2%2 == 1) || r.Arith != "hopper" || !r.Verified || r.MaxError != 0 || r.PeakFraction <= 0 {
			t.Errorf("result %d: %+v", i, r)
		}
	}
}

func TestComparePrepacked(t *testing.T) {
	code, stdout, stderr := gemmbench(t, quick("-dtype", "bf16,f32", "-arith", "native,hopper", "-prepacked", "false,true", "-format", "json")...)
	if code != exitOK || stderr != "" {
		t.Fatalf("exit status %d, stderr %q", code, stderr)
	}
	for i, r := range decode(t, stdout).Results {
		if r.Prepacked != (i/2%2 == 1) || !r.Verified {
			t.Errorf("result %d: %+v", i, r)
		}
	}
	for args, want := range map[string]int{"-prepacked": 2, "-prepacked=true": 2, "--prepacked true -workers 1": 2, "-prepacked=false": 0, "-prepacked 0": 0, "-prepacked true,0": 2} {
		_, stdout, stderr := gemmbench(t, quick(append(strings.Fields(args), "-format", "json")...)...)
		if n := strings.Count(stdout, `"prepacked": true`); n != want {
			t.Errorf("%s: %d prepacked results, want %d; stderr %q", args, n, want, stderr)
		}
	}
	if _, stdout, _ = gemmbench(t, quick("-prepacked")...); !strings.Contains(stdout, "prepacked true") {
		t.Errorf("no word on the packing:\n%s", stdout)
	}
	if _, stdout, _ = gemmbench(t, quick()...); strings.Contains(stdout, "prepacked") {
		t.Errorf("a word on the packing without being asked:\n%s", stdout)
	}
}

func TestCompareCallers(t *testing.T) {
	code, stdout, stderr := gemmbench(t, quick("-size", "64,200", "-depth", "0", "-callers", "1,3", "-workers", "1,2", "-prepacked", "false,true", "-format", "json")...)
	if code != exitOK || stderr != "" {
		t.Fatalf("exit status %d, stderr %q", code, stderr)
	}
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
	if _, stdout, _ = gemmbench(t, quick("-callers", "2")...); !strings.Contains(stdout, "callers 2") || strings.Contains(stdout, "scaling") {
		t.Errorf("want a word on the callers and none on scaling:\n%s", stdout)
	}
	if _, stdout, _ = gemmbench(t, quick("-workers", "1,2")...); strings.Contains(stdout, "callers") || !strings.Contains(stdout, "scaling") {
		t.Errorf("want the scaling and no word on callers:\n%s", stdout)
	}
	if _, stdout, _ = gemmbench(t, quick("-workers", "1")...); strings.Contains(stdout, "callers") || strings.Contains(stdout, "scaling") {
		t.Errorf("a word on callers or scaling without being asked:\n%s", stdout)
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
		code, stdout, stderr := gemmbench(t, quick("-format", format, "-workers", "1", "-verify=false", "-cold")...)
		if code != exitOK || stderr != "" || !strings.Contains(stdout, want) {
			t.Errorf("%s: exit status %d, stderr %q, stdout without %q:\n%s", format, code, stderr, want, stdout)
		}
	}
}

// TestFailedVerification wants the report, one line on stderr, and exit status 1.
func TestFailedVerification(t *testing.T) {
	rep := &bench.Report{Results: []bench.Result{{M: 1, N: 2, K: 3, Checked: true, Failure: "C[0,1] = 4, want 5", Samples: []float64{1}}}}
	var stdout, stderr bytes.Buffer
	f := &compareFlags{output: output{format: "table", formats: bench.Formats, command: "compare"}}
	if err := f.output.open(&stdout); err != nil {
		t.Fatal(err)
	}
	if code := status(f.finish(rep), &stderr); code != exitFailed {
		t.Errorf("exit status %d", code)
	}
	if stderr.String() != "gemmbench: a result failed its verification\n" || !strings.Contains(stdout.String(), "FAILED: 1x2x3") {
		t.Errorf("stderr %q, stdout %q", stderr.String(), stdout.String())
	}
	rep.Results[0].Verified = true
	if code := status(f.finish(rep), &stderr); code != exitOK {
		t.Errorf("verified: exit status %d", code)
	}
}
