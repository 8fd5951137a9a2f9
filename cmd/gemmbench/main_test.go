package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bench"
	"example.com/leafhopper/internal/cli"
)

// gemmbench runs the command and returns its exit status and output.
func gemmbench(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), args, &out, &err)
	return code, out.String(), err.String()
}

// succeed runs the command, which must do without a word on standard error, and returns its output.
func succeed(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	code, stdout, stderr := gemmbench(t, args...)
	if code != cli.OK || stderr != "" {
		t.Fatalf("%q: exit status %d, stderr %q", args, code, stderr)
	}
	return stdout
}

// quick are arguments that measure as little as possible.
func quick(args ...string) []string {
	return append([]string{"-size", "64", "-count", "1", "-min-time", "1us", "-depth", "1,2"}, args...)
}

func decode(t *testing.T, data string) (rep bench.Report) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&rep); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return rep
}

func TestPeakCommand(t *testing.T) {
	stdout := succeed(t, "peak", "-kernel", "go", "-workers", "1", "-count", "1", "-format", "json")
	doc := decode(t, stdout)
	if len(doc.Peak) != 1 || doc.Peak[0].Kernel != "go" || doc.Peak[0].Workers != 1 || doc.Peak[0].GFLOPS <= 0 ||
		doc.Results == nil {
		t.Errorf("%s", stdout)
	}
	stdout = succeed(t, "peak", "-dtype", "f64", "-workers", "1", "-count", "1", "-format", "json")
	var got, want []string
	for _, p := range decode(t, stdout).Peak {
		got = append(got, p.Kernel)
	}
	for _, k := range asm.Kernels() {
		if k.Sum == asm.F64 && k.Supported() == nil {
			want = append(want, k.Name)
		}
	}
	if !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("-dtype f64: peaks of %v, want %v", got, want)
	}
	for args, want := range map[string][]asm.Type{
		"auto": {asm.BF16}, "auto f64": {asm.F64}, "auto f64,f32": {asm.F32, asm.F64},
	} {
		kernel, dtype, _ := strings.Cut(args, " ")
		ks, err := peakKernels(kernel, dtype)
		if err != nil || len(ks) != len(want) {
			t.Fatalf("%s: %d kernels, want %d; %v", args, len(ks), len(want), err)
		}
		for _, elem := range want {
			if k, err := asm.Select(elem, ""); err != nil || !slices.Contains(ks, k) {
				t.Errorf("%s: no kernel for %v, %v", args, elem, err)
			}
		}
	}
	for kernels, want := range map[string]string{"hopper-go": "hopper-go", "auto,go": "per worker"} {
		stdout := succeed(t, "peak", "-kernel", kernels, "-workers", "1", "-count", "2")
		if !strings.Contains(stdout, want) {
			t.Errorf("-kernel %s: no %q in\n%s", kernels, want, stdout)
		}
	}
}

func TestInfoCommand(t *testing.T) {
	stdout := succeed(t, "info")
	for _, want := range []string{"caches", "by default, for ", asm.KernelEnv} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	m := decode(t, succeed(t, "info", "-format", "json")).Machine
	if m.GOMAXPROCS < 1 || m.Workers < 1 || m.WorkersBy == "" {
		t.Errorf("%+v", m)
	}
	for want, m := range map[string]bench.Machine{
		"4 physical, 8 logical, GOMAXPROCS 8": {Cores: 4, Threads: 8, GOMAXPROCS: 8},
		"2 logical, GOMAXPROCS 2":             {Threads: 2, GOMAXPROCS: 2},
	} {
		if got := coresLine(m); got != want {
			t.Errorf("%q, want %q", got, want)
		}
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
