package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bench"
)

// gemmbench runs the command and returns its exit status and output.
func gemmbench(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), args, &out, &err)
	return code, out.String(), err.String()
}

// quick are arguments that measure as little as possible.
func quick(args ...string) []string {
	return append([]string{"-size", "64", "-count", "1", "-min-time", "1us", "-depth", "1,2"}, args...)
}

type document struct {
	Machine bench.Machine
	Peak    []bench.PeakResult
	Results []bench.Result
}

func decode(t *testing.T, data string) (doc document) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return doc
}

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
	if n := strings.Count(stdout, `"arith": "hopper"`); n != 8 || strings.Contains(stdout, `"arith": "native"`) || strings.Count(stdout, `"splitk": 2`) != 8 {
		t.Errorf("%d of 16 results are in Hopper's arithmetic, want 8:\n%s", n, stdout)
	}
	for i, r := range decode(t, stdout).Results {
		if r.Arith != []string{"", "hopper"}[i/4%2] || r.SplitK != []int{0, 2}[i/2%2] || !r.Verified || r.GFLOPS <= 0 || r.PeakFraction <= 0 {
			t.Errorf("result %d: %+v", i, r)
		}
		if k, err := asm.SelectArithmetic(asm.BF16, asm.Hopper, ""); err != nil || (r.Arith != "") != (r.Kernel == k.Name) {
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

func TestOutputFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.json")
	link := filepath.Join(dir, "link")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("r.json", link); err != nil {
		t.Fatal(err)
	}
	// A run that fails late leaves the old file.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	if code := run(ctx, quick("-o", link), &out, &errs); code != exitInterrupted || errs.String() != "gemmbench: interrupted\n" || out.Len() > 0 {
		t.Errorf("interrupted: exit status %d, %q, %q", code, out.String(), errs.String())
	}
	if data, _ := os.ReadFile(path); string(data) != "old" {
		t.Errorf("an interrupted run changed the file to %q", data)
	}
	profile, trace := filepath.Join(dir, "cpu"), filepath.Join(dir, "trace")
	code, stdout, stderr := gemmbench(t, quick("-format", "json", "-o", link, "-cpuprofile", profile, "-trace", trace)...)
	if code != exitOK || stdout != "" || stderr != "" {
		t.Fatalf("exit status %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	decode(t, string(data))
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode changed: %v, %v", info, err)
	}
	for _, p := range []string{profile, trace} {
		if info, err := os.Stat(p); err != nil || info.Size() == 0 {
			t.Errorf("%s is empty: %v", p, err)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 4 {
		t.Errorf("files left behind: %v", entries)
	}
	if code, _, stderr := gemmbench(t, "info", "-o", os.DevNull); code != exitOK {
		t.Errorf("-o %s: exit status %d, %s", os.DevNull, code, stderr)
	}
}

func TestOutputWriteFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r")
	o := output{format: "table", path: path, formats: []string{"table"}, command: "compare"}
	if err := o.open(nil); err != nil {
		t.Fatal(err)
	}
	disk := errors.New("disk full")
	if err := o.write(func(w io.Writer) error {
		fmt.Fprint(w, "half")
		return disk
	}); !errors.Is(err, disk) {
		t.Errorf("error %v", err)
	}
	o.discard()
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 0 {
		t.Errorf("files left behind: %v", entries)
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

func TestPeakCommand(t *testing.T) {
	code, stdout, stderr := gemmbench(t, "peak", "-kernel", "go", "-workers", "1", "-count", "1", "-format", "json")
	if code != exitOK || stderr != "" {
		t.Fatalf("exit status %d, stderr %q", code, stderr)
	}
	doc := decode(t, stdout)
	if len(doc.Peak) != 1 || doc.Peak[0].Kernel != "go" || doc.Peak[0].Workers != 1 || doc.Peak[0].GFLOPS <= 0 || doc.Results == nil {
		t.Errorf("%s", stdout)
	}
	if _, stdout, _ = gemmbench(t, "peak", "-kernel", "hopper-go", "-workers", "1", "-count", "1"); !strings.Contains(stdout, "hopper-go") {
		t.Errorf("%s", stdout)
	}
	if _, stdout, _ = gemmbench(t, "peak", "-kernel", "auto,go", "-workers", "1", "-count", "2"); !strings.Contains(stdout, "per worker") {
		t.Errorf("%s", stdout)
	}
}

func TestKernelsCommand(t *testing.T) {
	code, stdout, stderr := gemmbench(t, "kernels", "-format", "json")
	if code != exitOK || stderr != "" {
		t.Fatalf("exit status %d, stderr %q", code, stderr)
	}
	var doc struct {
		Machine bench.Machine
		Kernels []kernelInfo
	}
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Kernels) != len(asm.Kernels()) {
		t.Fatalf("%d kernels, want %d", len(doc.Kernels), len(asm.Kernels()))
	}
	chosen := map[string]int{}
	for i, k := range asm.Kernels() {
		info := doc.Kernels[i]
		if info.Name != k.Name || info.Supported != (k.Supported() == nil) || info.Supported == (info.Reason != "") || info.Why["bf16"] != k.Why(asm.BF16) || info.Arith != k.Arithmetic.String() {
			t.Errorf("%+v", info)
		}
		for _, name := range info.Chosen {
			chosen[info.Arith+" "+name]++
		}
	}
	for _, arith := range arithmetics {
		for _, elem := range types {
			want := 1
			if arith == asm.Native && elem.Size() == 1 {
				want = 0
			}
			if n := chosen[arith.String()+" "+elem.String()]; n != want && os.Getenv(asm.KernelEnv) == "" {
				t.Errorf("%v, %v: %d kernels chosen, want %d", arith, elem, n, want)
			}
		}
	}
	code, stdout, stderr = gemmbench(t, "kernels")
	if code != exitOK || stderr != "" {
		t.Fatalf("exit status %d, stderr %q", code, stderr)
	}
	for _, k := range asm.Kernels() {
		if !strings.Contains(stdout, "\n"+k.Name+":\n") {
			t.Errorf("no word on %s in\n%s", k.Name, stdout)
		}
		if accepts := k.Accepts(asm.E4M3); accepts && k.Supported() == nil && !strings.Contains(stdout, "\n  "+k.Why(asm.E4M3)+"\n") {
			t.Errorf("no word on %s and e4m3 in\n%s", k.Name, stdout)
		}
	}
	if strings.Contains(stdout, "native arithmetic multiplies") {
		t.Errorf("a complaint that no kernel can be chosen for:\n%s", stdout)
	}
}

// TestKernelsPinned pins kernels that do not multiply every type: JSON and table
// say why, and no reason twice.
func TestKernelsPinned(t *testing.T) {
	for name, want := range map[string][]string{
		"":       nil,
		"cuda":   {`asm: kernel "cuda" is unknown; choices: `},
		"gobf16": {`asm: kernel "gobf16" does not multiply f16; `, `asm: kernel "gobf16" does not multiply f32; `, `asm: kernel "gobf16" computes in native arithmetic, not hopper; `},
	} {
		if name == "" && os.Getenv(asm.KernelEnv) != "" {
			continue
		}
		list := listKernels(name)
		var doc, table bytes.Buffer
		if err := errors.Join(list.write(&doc, "json"), list.write(&table, "table")); err != nil {
			t.Fatal(err)
		}
		var got kernelList
		if err := json.Unmarshal(doc.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(doc.String(), `"errors"`) != (want != nil) {
			t.Errorf("%q: errors are in %s", name, &doc)
		}
		for _, reason := range want {
			if !slices.ContainsFunc(got.Errors, func(e string) bool { return strings.HasPrefix(e, reason) }) {
				t.Errorf("%q: no error %q in %q", name, reason, got.Errors)
			}
		}
		for _, e := range got.Errors {
			if n := strings.Count(table.String(), "\n"+e+"\n"); n != 1 {
				t.Errorf("%q: %q comes %d times in\n%s", name, e, n, &table)
			}
		}
		for _, k := range got.Kernels {
			if name == "cuda" && len(k.Chosen) > 0 {
				t.Errorf("%q: %s is chosen for %v", name, k.Name, k.Chosen)
			}
		}
	}
}

func TestInfoCommand(t *testing.T) {
	code, stdout, _ := gemmbench(t, "info")
	if code != exitOK || !strings.Contains(stdout, "caches") || !strings.Contains(stdout, asm.KernelEnv) {
		t.Errorf("exit status %d:\n%s", code, stdout)
	}
	code, stdout, _ = gemmbench(t, "info", "-format", "json")
	if doc := decode(t, stdout); code != exitOK || doc.Machine.GOMAXPROCS < 1 {
		t.Errorf("exit status %d:\n%s", code, stdout)
	}
}

func TestProgress(t *testing.T) {
	var b bytes.Buffer
	if p := newProgress(&b); p.w != nil {
		t.Error("a buffer passes for a terminal")
	}
	p := &progress{w: &b, width: func() int { return 30 }}
	p.clear()
	p.show(bench.Progress{Step: 1, Steps: 4, What: "round 1 of 2: much more than fits", Left: 3 * time.Second})
	p.clear()
	p.clear()
	if want := clearLine + " 25 %  round 1 of 2: much mor" + clearLine; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
