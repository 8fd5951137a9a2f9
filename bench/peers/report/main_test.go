package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/leafhopper/internal/cli"
)

// files writes contents by name and returns their paths.
func files(t *testing.T, contents map[string]string) []string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for name, s := range contents {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// oursJSON is a report of gemmbench on 1000³, whose flops are 2e9.
func oursJSON(seconds string) string { return sizedJSON("1000", "1000", "1000", "2", seconds) }

func sizedJSON(m, n, k, workers, seconds string) string {
	return fmt.Sprintf(`{"results": [{"m": %s, "n": %s, "k": %s, "dtype": "f32", "workers": %s, "seconds_median": %s}]}`,
		m, n, k, workers, seconds)
}

func TestTable(t *testing.T) {
	paths := files(t, map[string]string{
		"leafhopper-1-2.json": oursJSON("0.010"),
		"leafhopper-2-2.json": oursJSON("0.008"),
		"leafhopper-3-2.json": oursJSON("0.020"),
		// The best peer by its median is fast, though slow has the best round.
		"fast-1-2.csv": "fast,f32,1000,1000,1000,2,0.016\n",
		"fast-2-2.csv": "fast,f32,1000,1000,1000,2,0.016\n",
		"fast-3-2.csv": "fast,f32,1000,1000,1000,2,0.020\n",
		"slow-1-2.csv": "slow,f32,1000,1000,1000,2,0.002\nslow,bf16,10,20,30,2,0.000001\n",
		"slow-2-2.csv": "slow,f32,1000,1000,1000,2,1\nslow,f64,10,20,30,2,0.000002\n",
		"slow-3-2.csv": "slow,f32,1000,1000,1000,2,1\n",
	})
	var out strings.Builder
	if err := run(paths, &out); err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"dtype", "threads", "MxNxK", "leafhopper", "fast", "slow", "best", "peer", "ratio", "in", "a", "round"},
		{"bf16", "2", "10x20x30", "-", "-", "12", "slow", "-", "-"},
		{"f32", "2", "1000x1000x1000", "200", "125", "2", "fast", "1.60", "1.00..2.00"},
		{"f64", "2", "10x20x30", "-", "-", "6", "slow", "-", "-"},
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), &out)
	}
	for i, line := range lines {
		if got := strings.Join(strings.Fields(line), " "); got != strings.Join(want[i], " ") {
			t.Errorf("line %d is %q, want %q", i, got, want[i])
		}
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct{ name, content, want string }{
		{"x.csv", "", "PROGRAM-ROUND-THREADS"},
		{"x-1-2.csv", "", "there is no result in the files"},
		{"x-1-2.json", "{}", "there is no result in the files"},
		{"x-one-2.csv", "", `round "one"`},
		{"x-1-2.txt", "", "neither .json nor .csv"},
		{"x-1-2.json", "{", "unexpected EOF"},
		{"x-1-2.json", oursJSON("0"), "x-1-2.json: results[0]: seconds_median: 0 is not a time"},
		{"x-1-2.json", sizedJSON("-8", "8", "8", "1", "1"), "x-1-2.json: results[0]: m: -8 is outside 1..1048576"},
		{"x-1-2.json", sizedJSON("8", "0", "8", "1", "1"), "results[0]: n: 0 is outside"},
		{"x-1-2.json", sizedJSON("8", "8", "1048577", "1", "1"), "results[0]: k: 1048577 is outside"},
		{"x-1-2.json", sizedJSON("8", "8", "8", "-1", "1"), "results[0]: workers: -1 is outside"},
		{"x-1-2.csv", "x,f32,1,1,9000000000000000000,1,1\n", `line 1: "9000000000000000000" is not a size of 1..1048576`},
		{"x-1-2.csv", "x,f32,1,1,1,1,1\nx,f32\n", `line 2: want 7 fields, got 2 in "x,f32"`},
		{"x-1-2.csv", "x,f32,1,0,1,1,1\n", `line 1: "0" is not a size`},
		{"x-1-2.csv", "x,f32,1,1,1,1,-1\n", "line 1: -1 is not a time"},
		{"x-1-2.csv", "x,f32,1,1,1,1,nan\n", "line 1: NaN is not a time"},
	} {
		if err := run(files(t, map[string]string{test.name: test.content}), &strings.Builder{}); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %q: error %v, want …%s…", test.name, test.content, err, test.want)
		}
	}
}

func TestUsage(t *testing.T) {
	for args, want := range map[string]struct {
		status        int
		printed, said string
	}{
		"":      {cli.Usage, "", "report: no files: give the JSON and CSV files of a run (report -h)\n"},
		"-x":    {cli.Usage, "", "report: flag provided but not defined: -x (report -h)\n"},
		"-h":    {cli.OK, usage, ""},
		"-help": {cli.OK, usage, ""},

		"no-1-2.csv": {cli.Failed, "", "report: open no-1-2.csv: no such file or directory\n"},
	} {
		var printed, said strings.Builder
		status := cli.Status("report", run(strings.Fields(args), &printed), &said)
		if status != want.status || printed.String() != want.printed || said.String() != want.said {
			t.Errorf("%q: status %d, printed %q, said %q, want %+v", args, status, &printed, &said, want)
		}
	}
}

// TestUnwritten has the usage and a table go where they cannot be written.
func TestUnwritten(t *testing.T) {
	r, w := io.Pipe()
	r.Close()
	for _, args := range [][]string{{"-h"}, files(t, map[string]string{"x-1-2.csv": "x,f32,1,1,1,1,1\n"})} {
		var said strings.Builder
		status := cli.Status("report", run(args, w), &said)
		const want = "report: writing the result: io: read/write on closed pipe\n"
		if status != cli.Usage || said.String() != want {
			t.Errorf("%q: status %d, said %q", args, status, &said)
		}
	}
}
