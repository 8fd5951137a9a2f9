package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// answers returns a command that answers each line with the next of some lines.
func answers(t *testing.T, lines ...string) []string {
	t.Helper()
	file := t.TempDir() + "/answers"
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"sh", "-c", `exec 3<"$0"; while read -r l && read -r a <&3; do echo "$a"; done`, file}
}

func TestRun(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	const f32, bf16 = "a,f32,100,100,50,1,", "b,bf16,8,8,8,2,"
	one := answers(t, f32+"0.001", f32+"0.002", f32+"0.004", "a,bf16,8,8,8,2,1e-6")
	for _, test := range []struct {
		name          string
		first, second []string
		out, stderr   string
	}{
		{"two products", one, answers(t, "b"+f32[1:]+"0.002", "b"+f32[1:]+"0.006", "b"+f32[1:]+"0.004", bf16+"5e-7"),
			"dtype  threads  MxNxK       a      b      ratio  quartiles     pairs\n" +
				"f32    1        100x100x50  0.5    0.25   2.00   1.50 to 2.50  3\n" +
				"bf16   2        8x8x8       1.024  2.048  0.50   0.50 to 0.50  1\n", ""},
		{"not measured", answers(t, bf16+"NaN", bf16+"NaN", f32+"1"), answers(t, bf16+"1", bf16+"1", f32+"1"),
			"dtype  threads  MxNxK       a      a      ratio  quartiles     pairs\n" +
				"f32    1        100x100x50  0.001  0.001  1.00   1.00 to 1.00  1\n", ""},
		{"nothing", []string{"true"}, []string{"true"}, "", ""},
		{"fewer", one, answers(t, f32+"1"), "", "sh ends before the other program"},
		{"another product", one, answers(t, bf16+"1"), "", "sh measures f32 1 100x100x50, the other program bf16 2 8x8x8"},
		{"no product", one, answers(t, "a,f32,0,1,1,1,1"), "", "which is not lib,dtype,m,n,k,threads,seconds"},
		{"no time", one, answers(t, f32+"0"), "", "which is not lib,dtype,m,n,k,threads,seconds"},
		{"no CSV", one, answers(t, "hello"), "", `sh prints "hello"`},
		{"no program", one, []string{"/no/such/program"}, "", "/no/such/program"},
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

// TestStop interrupts the comparison of programs that never answer.
func TestStop(t *testing.T) {
	if _, err := exec.LookPath("sleep"); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var out, stderr bytes.Buffer
	began := time.Now()
	if status := run(ctx, []string{"sleep", "60", "--", "sleep", "60"}, &out, &stderr); status != 1 || out.Len() > 0 {
		t.Errorf("status %d, stdout %q", status, &out)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("took %v", took)
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
		"-speed a -- b":      "not defined",
		"-pause x a -- b":    "invalid value",
	} {
		var out, stderr bytes.Buffer
		if status := run(t.Context(), strings.Fields(args), &out, &stderr); status != 2 || out.Len() > 0 {
			t.Errorf("%q: status %d, stdout %q", args, status, &out)
		}
		if got := stderr.String(); !strings.HasPrefix(got, "pairs: ") || !strings.Contains(got, want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%q: stderr %q, want %q in one line", args, got, want)
		}
	}
	var out, stderr bytes.Buffer
	if status := run(t.Context(), []string{"-h"}, &out, &stderr); status != 0 || stderr.Len() > 0 || !strings.HasPrefix(out.String(), usage) {
		t.Errorf("-h: status %d, stdout %q, stderr %q", status, &out, &stderr)
	}
}
