package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/leafhopper/internal/cli"
)

// answers returns a command that answers each line with the next of some lines.
func answers(t *testing.T, lines ...string) []string {
	t.Helper()
	file := t.TempDir() + "/answers"
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"sh", "-c", `exec 3<"$0"; while read -r l && read -r a <&3; do echo "$a"; done`, file, "-step"}
}

func TestRun(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	const f32, bf16 = "a,f32,100,100,50,1,", "b,bf16,8,8,8,2,"
	one := answers(t, f32+"0.001", f32+"0.002", f32+"0.004", "a,bf16,8,8,8,2,1e-6", "a,f64,8,8,8,1,2e-6")
	for _, test := range []struct {
		name          string
		first, second []string
		out, stderr   string
	}{
		{"three products", one, answers(t, "b"+f32[1:]+"0.002", "b"+f32[1:]+"0.006", "b"+f32[1:]+"0.004", bf16+"5e-7",
			"b,f64,8,8,8,1,1e-6"),
			"dtype  threads  MxNxK       a      b      ratio  quartiles     pairs\n" +
				"f32    1        100x100x50  0.5    0.25   2.00   1.50 to 2.50  3\n" +
				"bf16   2        8x8x8       1.024  2.048  0.50   0.50 to 0.50  1\n" +
				"f64    1        8x8x8       0.512  1.024  0.50   0.50 to 0.50  1\n", ""},
		{"not measured", answers(t, bf16+"NaN", bf16+"NaN", f32+"1"), answers(t, bf16+"1", bf16+"1", f32+"1"),
			"dtype  threads  MxNxK       a      a      ratio  quartiles     pairs\n" +
				"f32    1        100x100x50  0.001  0.001  1.00   1.00 to 1.00  1\n", ""},
		{"nothing", []string{"true", "-step"}, []string{"true", "-step"}, "", "pairs: no samples: there is no product"},
		{"no product measured", answers(t, bf16+"NaN"), answers(t, bf16+"1"), "", "pairs: no samples: there is no product"},
		{"both fail", []string{"false", "-step"}, []string{"false", "-step"}, "", "false: exit status 1"},
		{"fewer", one, answers(t, f32+"1"), "", "sh ends before the other program"},
		{"another product", one, answers(t, bf16+"1"), "",
			"sh measures f32 1 100x100x50, the other program bf16 2 8x8x8"},
		{"no product", one, answers(t, "a,f32,0,1,1,1,1"), "", `"0" is not a size`},
		{"no time", one, answers(t, f32+"0"), "", "0 is not a time"},
		{"without end", one, answers(t, f32+"inf"), "", "+Inf is not a time"},
		{"no CSV", one, answers(t, "hello"), "", `sh prints "hello"`},
		{"no program", one, []string{"/no/such/program", "-step"}, "", "/no/such/program"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, stderr bytes.Buffer
			args := append(append(append([]string{"-pause", "0"}, test.first...), "--"), test.second...)
			status := run(t.Context(), args, &out, &stderr)
			if got := out.String(); got != test.out {
				t.Errorf("stdout\n%swant\n%s", got, test.out)
			}
			if !strings.Contains(stderr.String(), test.stderr) || (test.stderr == "") != (stderr.Len() == 0) {
				t.Errorf("stderr %q, want …%q…", &stderr, test.stderr)
			}
			if want := min(1, len(test.stderr)); status != want {
				t.Errorf("status %d, want %d", status, want)
			}
		})
	}
}

// TestPin holds two programs, in every pair, to a processor.
func TestPin(t *testing.T) {
	if _, err := exec.LookPath("taskset"); err != nil {
		t.Skip(err)
	}
	const script = `while read -r l; do echo "a,f32,1,1,$(taskset -p -c $$ | sed 's/.*: /1/'),1,1"; done`
	line := []string{"sh", "-c", "n=0; " + strings.Replace(script, "read -r l",
		"[ $n -lt 3 ] && n=$((n+1)) && read -r l", 1), "sh", "-step"}
	var out, stderr bytes.Buffer
	status := run(t.Context(), append(append([]string{"-pause", "0", "-pin", "1"}, append(line, "--")...), line...),
		&out, &stderr)
	// As K both print 1 and the processors that they may use, which is a number if it is one.
	if status != 0 || !strings.Contains(out.String(), "f32    1        1x1x1") {
		t.Errorf("status %d, stdout %q, stderr %q", status, &out, &stderr)
	}
}

func TestAllowed(t *testing.T) {
	for list, want := range map[string][]int{"0": {0}, "0-2": {0, 1, 2}, "8-9,12,15-15": {8, 9, 12, 15}} {
		if got, err := allowed("Cpus_allowed:\tff\nCpus_allowed_list:\t" + list + "\nMems_allowed:\t1\n"); err != nil ||
			!slices.Equal(got, want) {
			t.Errorf("%q: %v, %v, want %v", list, got, err, want)
		}
	}
	for _, status := range []string{"", "Cpus_allowed_list:\tx\n", "Cpus_allowed_list:\t1-\n"} {
		if got, err := allowed(status); err == nil {
			t.Errorf("%q: %v, want an error", status, got)
		}
	}
}

// TestStop interrupts the comparison of programs that never answer.
func TestStop(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	waits := []string{"sh", "-c", "sleep 4; :", "-step"} // by a program of its own, which holds its output
	for _, pause := range []string{"20", "10000"} {
		ctx, cancel := context.WithCancel(t.Context())
		defer time.AfterFunc(50*time.Millisecond, cancel).Stop()
		var out, stderr bytes.Buffer
		began := time.Now()
		status := run(ctx, slices.Concat([]string{"-pause", pause}, waits, []string{"--"}, waits), &out, &stderr)
		if status != cli.Interrupted || out.Len() > 0 {
			t.Errorf("-pause %s: status %d, stdout %q", pause, status, &out)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("-pause %s: took %v", pause, took)
		}
	}
}

func TestUsage(t *testing.T) {
	for args, want := range map[string]string{
		"":                   "two programs are needed",
		"a b":                "two programs are needed",
		"-- b":               "two programs are needed",
		"a --":               "two programs are needed",
		"-pause -1 a":        "-pause: -1 is not in 0..10000",
		"-pin 100000 a -- b": "-pin: 100000 is not in 0..",
		"a -step -- b":       "both programs need -step",
		"a -- b -step":       "both programs need -step",
		"-speed a -- b":      "not defined",
		"-pause x a -- b":    "invalid value",
	} {
		var out, stderr bytes.Buffer
		if status := run(t.Context(), strings.Fields(args), &out, &stderr); status != 2 || out.Len() > 0 {
			t.Errorf("%q: status %d, stdout %q", args, status, &out)
		}
		if got := stderr.String(); !strings.HasPrefix(got, "pairs: ") || !strings.Contains(got, want) ||
			strings.Count(got, "\n") != 1 {
			t.Errorf("%q: stderr %q, want %q in one line", args, got, want)
		}
	}
	var out, stderr bytes.Buffer
	if status := run(t.Context(), []string{"-h"}, &out, &stderr); status != 0 || stderr.Len() > 0 ||
		!strings.HasPrefix(out.String(), usage) {
		t.Errorf("-h: status %d, stdout %q, stderr %q", status, &out, &stderr)
	}
}

type unwritable struct{}

func (unwritable) Write([]byte) (int, error) { return 0, os.ErrClosed }

// TestUnwritable has the status of gemmbench for a table, or help, that cannot be written.
func TestUnwritable(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	one := answers(t, "a,f32,8,8,8,1,1")
	var stderr bytes.Buffer
	status := run(t.Context(), slices.Concat([]string{"-pause", "0"}, one, []string{"--"}, one), unwritable{}, &stderr)
	want := "pairs: writing the result: " + os.ErrClosed.Error() + "\n"
	if status != cli.Usage || stderr.String() != want {
		t.Errorf("status %d, stderr %q, want %q", status, &stderr, want)
	}
	stderr.Reset()
	if status := run(t.Context(), []string{"-h"}, unwritable{}, &stderr); status != cli.Usage || stderr.String() != want {
		t.Errorf("-h: status %d, stderr %q, want %q", status, &stderr, want)
	}
}
