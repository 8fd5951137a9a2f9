package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/leafhopper/internal/cli"
	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/sm"
)

// TestSteps has the bits of gemm.Multiply and of an H100 from every step.
func TestSteps(t *testing.T) {
	for _, size := range []int{256, 512} {
		if size > 256 && (testing.Short() || race.Enabled) {
			t.Skip("256 is enough")
		}
		p, err := newProduct(size, 5)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range steps {
			var done atomic.Int64
			if err := s.launch(t.Context(), p, sm.Config{}, &done); err != nil {
				t.Fatal(err)
			}
			if err := p.verify(t.Context()); err != nil {
				t.Errorf("%s: %v", s.name, err)
			}
			if sum := p.checksum(s.name); !strings.Contains(recorded, sum+"\n") {
				t.Errorf("%s is not what an H100 printed", sum)
			}
			if n := int(done.Load()); n != s.grid(size) {
				t.Errorf("%s: %d CTAs have ended, want %d", s.name, n, s.grid(size))
			}
		}
	}
}

var seeds = flag.Int("seeds", 2, "orders of its agents in which a step is checked, for each schedule of copies")

// TestSchedules runs every step in many orders, with rings that wrap after one, two and
// five stages.
func TestSchedules(t *testing.T) {
	for _, stages := range []int{1, 2, 5} {
		p, err := newProduct(256, stages)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range steps {
			for _, schedule := range []sm.Schedule{sm.Late, sm.Eager, sm.Random} {
				cfg := sm.Config{
					Name: s.name, Schedule: schedule, Seed: uint64(stages),
					Grid: sm.Dim3{X: s.grid(256)}, Block: sm.Dim3{X: s.block}, Cluster: sm.Dim3{X: s.cluster},
					Reset:  func() { clear(p.c) },
					Verify: func() error { return p.verify(t.Context()) },
				}
				if err := sm.Explore(t.Context(), cfg, *seeds, s.kernel(p)); err != nil {
					t.Fatalf("%s, %d stages, %v: %v", s.name, stages, schedule, err)
				}
			}
		}
	}
}

// TestRun runs the program, with a trace that has spans of every step's CTAs.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	file := filepath.Join(t.TempDir(), "trace.json")
	args := []string{"-size", "256", "-step", "parity", "-check", "-seed", "3", "-trace", file}
	if err := run(t.Context(), args, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.HasPrefix(text, "hoppergemm.256.parity bytes=131072 crc32=c7cef5d2 ") ||
		!strings.Contains(text, ", as on an H100\n") || strings.Count(text, "\n") != 2 {
		t.Errorf("printed\n%s", text)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var trace struct{ TraceEvents []any }
	if err := json.Unmarshal(data, &trace); err != nil || len(trace.TraceEvents) < 4*4*2 {
		t.Errorf("%d events, %v", len(trace.TraceEvents), err)
	}
	out.Reset()
	args = []string{"-size", "256", "-step", "walkthrough", "-trace", "-"}
	if err := run(t.Context(), args, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "CTA (15,0,0), warpgroup 1 ") && !strings.Contains(out.String(), "more\n") {
		t.Errorf("no lanes in\n%s", out.String())
	}
}

func TestFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-size 100":    "-size 100, want a multiple of 256 from 256 to 8192",
		"-size 0":      "-size 0, want",
		"-size 8448":   "-size 8448, want",
		"-size x":      `invalid value "x" for flag -size`,
		"-stages 0":    "-stages 0, want at least 1",
		"-stages 7":    "-stages 7: tmastore has room for 6",
		"-stages 8":    "-stages 8: tiles128 has room for 7",
		"-stages 15":   "-stages 15: walkthrough has room for 14",
		"-step faster": `-step "faster", want walkthrough, tiles128, parity, persistent, cluster, tmastore, or all`,
		"-seed 1":      "-seed 1, but no -check",
		"-trace=":      "-trace is empty",
		"-svg=":        "-svg is empty",
		"-step=":       "-step is empty",
		"-seed -1":     `invalid value "-1" for flag -seed`,
		"512":          `argument "512", want flags only`,
		"-size 256 -step parity -trace /no/such/file": "/no/such/file",
		"-svg /no/such/file":                          "/no/such/file",
		"-stages 14 -step parity":                     "-stages 14: parity has room for 7",
	} {
		var said strings.Builder
		err := run(t.Context(), strings.Fields(args), io.Discard, &said)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
		if said.Len() > 0 {
			t.Errorf("%s: main says it, and before it %q", args, said.String())
		}
	}
	if _, err := parse([]string{"-stages", "14", "-step", "walkthrough"}, io.Discard); err != nil {
		t.Error(err)
	}
	var help strings.Builder
	if err := run(t.Context(), []string{"-h"}, &help, io.Discard); !errors.Is(err, flag.ErrHelp) ||
		!strings.Contains(help.String(), "walkthrough, tiles128") ||
		!strings.Contains(help.String(), "14 in walkthrough, 7 in tiles128") {
		t.Errorf("-h: %v, %q", err, help.String())
	}
}

// TestRoom has every step run with as many stages as it has room for, and not with one more.
func TestRoom(t *testing.T) {
	for _, s := range steps {
		for _, stages := range []int{s.room, s.room + 1} {
			p, err := newProduct(256, stages)
			if err != nil {
				t.Fatal(err)
			}
			err = s.launch(t.Context(), p, sm.Config{}, new(atomic.Int64))
			if fits := stages == s.room; fits && err != nil ||
				!fits && (err == nil || !strings.Contains(err.Error(), "shared memory")) {
				t.Errorf("%s, %d stages: %v", s.name, stages, err)
			}
		}
	}
}

func TestStatus(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		ctx  context.Context
		args string
		code int
		said string
	}{
		{t.Context(), "-h", cli.OK, ""},
		{t.Context(), "-stages 8", cli.Usage, "hoppergemm: -stages 8: tiles128 has room for 7\n"},
		{t.Context(), "-frobnicate", cli.Usage, "hoppergemm: flag provided but not defined: -frobnicate (see -h)\n"},
		{t.Context(), "-svg /no/such/file", cli.Usage, "hoppergemm: -svg: open /no/such/file: no such file or directory\n"},
		{ended, "-size 256", cli.Interrupted, "hoppergemm: interrupted\n"},
	} {
		var said strings.Builder
		err := run(test.ctx, strings.Fields(test.args), io.Discard, io.Discard)
		if code := cli.Status("hoppergemm", err, &said); code != test.code || said.String() != test.said {
			t.Errorf("%s: exit %d, want %d: %q", test.args, code, test.code, said.String())
		}
	}
}

// TestFiles wants a file that cannot be written told before anything runs, and one that can left alone until there is
// something to write.
func TestFiles(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	old, none := filepath.Join(dir, "old"), filepath.Join(dir, "none")
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"-trace", "-svg"} {
		for _, file := range []string{old, none, filepath.Join(old, "x")} {
			want := context.Canceled
			if file != old && file != none {
				want = nil
			}
			var out strings.Builder
			err := run(ended, []string{"-size", "256", flag, file}, &out, io.Discard)
			if want != nil && !errors.Is(err, want) || want == nil && !errors.As(err, new(cli.UsageError)) || out.Len() > 0 {
				t.Errorf("%s %s: %v, printed %q", flag, file, err, &out)
			}
		}
		if data, err := os.ReadFile(old); string(data) != "old" {
			t.Errorf("%s: the file was %q, %v, after an interrupt", flag, data, err)
		}
	}
	if left, err := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("files left behind: %v, %v", left, err)
	}
}

// full is a place without room for more than n writes.
type full struct{ n int }

var errFull = errors.New("full")

func (w *full) Write(b []byte) (int, error) {
	if w.n--; w.n < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// TestUnwritten has the result go where it cannot be written.
func TestUnwritten(t *testing.T) {
	for n := range 2 {
		args := []string{"-size", "256", "-step", "parity"}
		if err := run(t.Context(), args, &full{n}, io.Discard); !errors.Is(err, errFull) {
			t.Errorf("after %d lines: %v", n, err)
		}
	}
	var said strings.Builder
	err := run(t.Context(), []string{"-h"}, &full{}, io.Discard)
	if code := cli.Status("hoppergemm", err, &said); code != cli.Failed || said.String() != "hoppergemm: full\n" {
		t.Errorf("-h: exit %d, %q", code, &said)
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		err := run(t.Context(), []string{"-svg", "/dev/full"}, io.Discard, io.Discard)
		if err == nil || !strings.HasPrefix(err.Error(), "-svg: write /dev/full: ") {
			t.Errorf("-svg /dev/full: %v", err)
		}
	}
}

// TestProgress waits for two reports of a step that does not end.
func TestProgress(t *testing.T) {
	r, w := io.Pipe()
	var done atomic.Int64
	done.Store(32)
	stop := progress(&steps[3], 8192, &done, time.Millisecond, w)
	for range 2 {
		var name string
		var n, of int
		var speed float64
		if _, err := fmt.Fscanf(r, "%s %d of %d tiles, %f GFLOP/s\n", &name, &n, &of, &speed); err != nil {
			t.Fatal(err)
		}
		if name != "persistent:" || n != 1024 || of != 4096 || speed <= 0 {
			t.Errorf("%s %d of %d tiles, %v GFLOP/s", name, n, of, speed)
		}
	}
	go io.Copy(io.Discard, r) // what is under way
	stop()
}

// TestPicture reads the picture as XML: as many loads and groups of instructions as the
// kernel has stages, for both depths.
func TestPicture(t *testing.T) {
	file := filepath.Join(t.TempDir(), "picture.svg")
	var printed, nothing bytes.Buffer
	if err := errors.Join(run(t.Context(), []string{"-svg", file}, &nothing, io.Discard),
		run(t.Context(), []string{"-svg", "-"}, &printed, io.Discard)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if nothing.Len() > 0 || !bytes.HasPrefix(printed.Bytes(), data[:bytes.IndexByte(data, '\n')]) {
		t.Errorf("printed %q for a file, and for - %q", &nothing, &printed)
	}
	var picture struct {
		Text []string `xml:"text"`
		Rect []struct {
			Class string  `xml:"class,attr"`
			X     float64 `xml:"x,attr"`
			Width float64 `xml:"width,attr"`
		} `xml:"rect"`
	}
	if err := xml.Unmarshal(data, &picture); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, r := range picture.Rect {
		count[r.Class]++
		if r.X < 0 || r.Width <= 0 || r.X+r.Width > width {
			t.Errorf("%+v is outside", r)
		}
	}
	if count["copy"] != 2*2*12 || count["mma"] != 2*12 || count["epilogue"] != 2 {
		t.Errorf("%v", count)
	}
	for _, stages := range []string{"QSIZE = 1: ", "QSIZE = 5: "} {
		if !strings.Contains(strings.Join(picture.Text, "\n"), stages) {
			t.Errorf("no %q in %q", stages, picture.Text)
		}
	}
}
