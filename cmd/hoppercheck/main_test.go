package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/leafhopper/internal/cli"
	"example.com/leafhopper/internal/golden"
)

// check runs the command and returns its exit status and what it printed.
func check(t testing.TB, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

// row is one element of the output, of which these are all the fields.
type row struct {
	File      string `json:"file"`
	Records   int    `json:"records"`
	Different int    `json:"different"`
	First     string `json:"first"`

	LeftOut int            `json:"left_out"`
	Split   []splitProduct `json:"split"`
}

func rows(t testing.TB, stdout string) []row {
	t.Helper()
	var fields []map[string]any
	if err := json.Unmarshal([]byte(stdout), &fields); err != nil || fields == nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	for _, f := range fields {
		want := []string{"different", "file", "records"}
		if f["different"] != 0.0 {
			want = []string{"different", "file", "first", "records"}
		}
		delete(f, "left_out") // which may be
		delete(f, "split")
		if !slices.Equal(slices.Sorted(maps.Keys(f)), want) {
			t.Fatalf("fields %v, want %v", f, want)
		}
	}
	var all []row
	if err := json.Unmarshal([]byte(stdout), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// Every recording in this module is replayed, and the emulator agrees.
func TestModule(t *testing.T) {
	most := "3e8"
	if testing.Short() {
		most = "2e7" // plain Go takes long
	}
	code, stdout, stderr := check(t, "-format", "json", "-max-flops", most)
	want := map[string]int{
		"mbarrier.txt.gz": 414, "tensormap.txt.gz": 9000, "tma.bin.gz": 1500, "tma_tf32.bin.gz": 262,
		"tma_illegal.txt.gz": 37, "tma_tf32.txt.gz": 256,
		"tensormap_im2col.txt.gz": 3000, "tma_im2col.bin.gz": 1000, "tma_im2col_edge.bin.gz": 48,
		"tma_prefetch.bin.gz": 18, "tma_wide.bin.gz": 24,
		"tensormap_replace.bin.gz": 600, "tensormap_replace_edge.bin.gz": 57,
		"reduce.txt.gz": 79, "warp.txt.gz": 240, "atomic.txt.gz": 840, "cluster.jsonl.gz": 1000,
		"banks.txt.gz": 1030, "banks_ncu.txt.gz": 448,
		"mma.txt.gz": 272, "mma_b1.txt.gz": 252, "mma_sp.txt.gz": 180,
		"cublas_few.json": 120, "cublas_fp8_tf32.json": 172, "cublas_epilogue.json": 120,
		"wgmma_bf16.bin.gz": 128, "wgmma_f16.bin.gz": 128, "wgmma_tf32.bin.gz": 48, "wgmma_f16acc.bin.gz": 64,
		"wgmma_e4m3.bin.gz": 48, "wgmma_e5m2.bin.gz": 48, "wgmma_e4m3xe5m2.bin.gz": 48, "wgmma_e4m3_f16.bin.gz": 24,
		"wgmma_e5m2_f16.bin.gz": 24,
		"wgmma_s8.bin.gz":       16, "wgmma_u8.bin.gz": 16, "wgmma_s8u8.bin.gz": 16, "wgmma_s8sat.bin.gz": 16,
		"wgmma_b1.bin.gz": 6, "wgmma_scale.bin.gz": 72,
		"wgmma_desc.bin.gz": 150, "wgmma_sp.bin.gz": 88, "wgmma_sp_desc.bin.gz": 57,
		"cublas.json": 22,
	}
	got := map[string]int{}
	for _, r := range rows(t, stdout) {
		got[r.File] = r.Records
		if strings.HasPrefix(r.File, "cublas") && testing.Short() {
			if got[r.File] = want[r.File]; r.Records+r.LeftOut < want[r.File] || r.Records == 0 {
				t.Errorf("%+v", r)
			}
		} else if r.File == "cublas_fp8_tf32.json" {
			if r.LeftOut != 43 || len(r.Split) != 6 || r.Split[5].Product != "tf32*tf32 128x256x2048 NT f32" ||
				r.Split[5].Parts != 16 {
				t.Errorf("%d products left out, split: %+v", r.LeftOut, r.Split)
			}
		} else if r.File == "cublas_few.json" {
			if r.LeftOut != 0 || len(r.Split) != 70 {
				t.Errorf("%d products left out, %d split", r.LeftOut, len(r.Split))
			}
		} else if r.File == "cublas_epilogue.json" {
			if r.LeftOut != 40 || r.Split != nil {
				t.Errorf("%+v", r)
			}
		} else if r.File == "cublas.json" {
			if r.LeftOut != 28 || !slices.ContainsFunc(r.Split, func(s splitProduct) bool {
				return s.Product == "bf16 64x64x8192 NN" && s.Parts == 6
			}) {
				t.Errorf("%d products left out, split: %+v", r.LeftOut, r.Split)
			}
		} else if r.LeftOut != 0 || r.Split != nil {
			t.Errorf("%+v", r)
		}
		if r.Different != 0 {
			t.Errorf("%s: %d of %d records differ", r.File, r.Different, r.Records)
		}
	}
	if code != cli.OK || !maps.Equal(got, want) {
		t.Errorf("exit %d, records %v, want %v\n%s", code, got, want, stderr)
	}
	if stderr != "" {
		t.Errorf("stderr %q", stderr)
	}
}

// What agrees with K split and what is left out is a line below the table; -v names
// the former.
func TestNotes(t *testing.T) {
	args := []string{"-run", "cublas.json", "-max-flops", "3e8"}
	code, stdout, stderr := check(t, args...)
	want := "  in all\n\ncublas.json: 4 products agree with K split (-v names them); " +
		"28 of more than 3e+08 operations left out (-max-flops)\n"
	if code != cli.OK || stderr != "" || !strings.HasSuffix(stdout, want) {
		t.Errorf("exit %d, %q:\n%s\nwant %s", code, stderr, stdout, want)
	}
	code, stdout, stderr = check(t, append(args, "-v")...)
	if want := "\n\ncublas.json: 4 products agree with K split; 28 of"; code != cli.OK ||
		!strings.Contains(stdout, want) || strings.Count(stderr, " agrees with K split in ") != 4 ||
		!strings.Contains(stderr, "cublas.json: bf16 64x64x8192 NN agrees with K split in 6\n") {
		t.Errorf("-v: exit %d, %q:\n%s", code, stderr, stdout)
	}
	for want, r := range map[string]result{
		"": {},
		"1 product agrees with K split (-v names them)":               {splits: make([]splitProduct, 1)},
		"3 products of more than 10 operations left out (-max-flops)": {leftOut: 3},
	} {
		if got := r.note(&config{maxFlops: 10}); got != want {
			t.Errorf("note %q, want %q", got, want)
		}
	}
}

func TestTable(t *testing.T) {
	code, stdout, stderr := check(t, "-run", "^(mbarrier|tma_tf32)", "-v")
	if code != cli.OK || !strings.Contains(stdout, "      414          0  mbarrier.txt.gz\n") ||
		!strings.Contains(stdout, "      932          0  in all\n") {
		t.Errorf("exit %d:\n%s", code, stdout)
	}
	if !strings.Contains(stderr, "scripts on an mbarrier") {
		t.Errorf("-v does not name the files:\n%s", stderr)
	}
}

// recording returns a file of this module, decompressed.
func recording(t testing.TB, name string) []byte {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range testdata {
		for _, suffix := range []string{"", ".gz"} {
			path := filepath.Join(root, filepath.FromSlash(dir), name+suffix)
			if _, err := os.Stat(path); err == nil {
				data, err := golden.Read(path)
				if err != nil {
					t.Fatal(err)
				}
				return data
			}
		}
	}
	t.Fatalf("no recording %s", name)
	return nil
}

// place writes files into a new folder.
func place(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// replaceIn replaces the first old text.
func replaceIn(old, new string) func(t *testing.T, data []byte) {
	return func(t *testing.T, data []byte) {
		at := bytes.Index(data, []byte(old))
		if at < 0 || len(old) != len(new) {
			t.Fatalf("%q is not in the file, or not as long as %q", old, new)
		}
		copy(data[at:], new)
	}
}

// flipAt flips the lowest bit of the byte at that distance from the end.
func flipAt(fromEnd int) func(t *testing.T, data []byte) {
	return func(t *testing.T, data []byte) { data[len(data)-fromEnd] ^= 1 }
}

// hugeLoad is a recorded load whose tensor is said to be of 2^40 bytes.
func hugeLoad(t *testing.T) []byte {
	data := bytes.Clone(recording(t, "tma.bin"))
	if golden.KindLoad != binary.LittleEndian.Uint32(data) || binary.LittleEndian.Uint32(data[12:]) != 2 {
		t.Fatal("the first copy is not a load of rank 2")
	}
	binary.LittleEndian.PutUint64(data[160+8:], 1<<32)
	return data
}

func TestArguments(t *testing.T) {
	empty := t.TempDir()
	for _, args := range [][]string{
		{"-format", "xml"}, {"-max-flops", "NaN"}, {"-max-flops", "-1"}, {"-max-flops", "x"}, {"-run", "("},
		{"-unknown"},
		{filepath.Join(empty, "none")}, {empty}, {"-run", "nothing"},
	} {
		code, stdout, stderr := check(t, args...)
		if code != exitUnreadable || stdout != "" || strings.Count(stderr, "\n") != 1 ||
			!strings.HasPrefix(stderr, "hoppercheck: ") {
			t.Errorf("%q: exit %d, want %d and one line: %q %q", args, code, exitUnreadable, stderr, stdout)
		}
	}
	if _, _, stderr := check(t, "-run", "zzz"); !strings.HasPrefix(stderr,
		"hoppercheck: no recording matches -run zzz in ") {
		t.Errorf("-run zzz: %q", stderr)
	}
	for _, arg := range []string{"-h", "--help", "help"} {
		code, stdout, stderr := check(t, arg)
		if code != cli.OK || stderr != "" || !strings.Contains(stdout, "-max-flops") ||
			!strings.Contains(stdout, "130 after an interrupt") {
			t.Errorf("%s: exit %d, %q, %q", arg, code, stdout, stderr)
		}
	}
}

// Other files are named and skipped; a single file may be given.
func TestSkipped(t *testing.T) {
	dir := place(t, map[string][]byte{"machine.txt": []byte("device\n"), "tma_tf32.txt": recording(t, "tma_tf32.txt"),
		"cublas_rows.bin": nil})
	code, stdout, stderr := check(t, dir)
	if code != cli.OK || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "machine.txt: skipped") ||
		!strings.Contains(stdout, "256") {
		t.Errorf("exit %d: %q\n%s", code, stderr, stdout)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"machine.txt"}, "machine.txt: not the name of a recording"},
		{[]string{"cublas_rows.bin"}, "cublas_rows.bin: replayed with cublas.json, not alone"},
		{[]string{"machine.txt", "cublas_rows.bin"}, "cublas_rows.bin: nothing to replay"},
	} {
		for i, name := range test.args {
			test.args[i] = filepath.Join(dir, name)
		}
		code, stdout, stderr := check(t, test.args...)
		lines := 1
		if len(test.args) == 2 {
			lines = 3 // of which two say why each is skipped
		}
		if code != exitUnreadable || stdout != "" || strings.Count(stderr, "\n") != lines ||
			!strings.HasSuffix(stderr, test.want+"\n") || strings.Contains(stderr, " in ") {
			t.Errorf("%q: exit %d, want %d and %q: %q %q", test.args, code, exitUnreadable, test.want, stderr, stdout)
		}
	}
	words, rows := filepath.Join(dir, "tma_tf32.txt"), filepath.Join(dir, "cublas_rows.bin")
	if code, _, stderr := check(t, words); code != cli.OK || stderr != "" {
		t.Errorf("a file: exit %d: %q", code, stderr)
	}
	const lost = "cublas_rows.bin: skipped: replayed with cublas.json, not alone\n"
	if code, _, stderr := check(t, words, rows); code != cli.OK || stderr != "hoppercheck: "+filepath.Join(dir, lost) {
		t.Errorf("rows without their products: exit %d: %q", code, stderr)
	}
}

// Files of first rows that are named are skipped in silence where the products are replayed, however they are named.
func TestCompanions(t *testing.T) {
	dir := place(t, map[string][]byte{
		"cublas.json": recording(t, "cublas.json"), "cublas_rows.bin": recording(t, "cublas_rows.bin"),
	})
	t.Chdir(dir)
	for _, args := range [][]string{
		{dir}, {"."}, {"cublas.json", "cublas_rows.bin"}, {"cublas_rows.bin", "./cublas.json"}, {dir, "cublas_rows.bin"},
		{filepath.Join(dir, "cublas_rows.bin"), "cublas.json"},
	} {
		if code, _, stderr := check(t, append(args, "-max-flops", "1e6")...); code != cli.OK || stderr != "" {
			t.Errorf("%q: exit %d: %q", args, code, stderr)
		}
	}
}

// A folder without recordings is one line, for which -v names what is in it.
func TestNoRecordings(t *testing.T) {
	dir := place(t, map[string][]byte{"a.go": nil, "b.go": nil, "c.md": nil})
	other := place(t, map[string][]byte{"cublas_rows.bin": nil})
	good := place(t, map[string][]byte{"tma_tf32.txt": recording(t, "tma_tf32.txt")})
	const where = " (they lie in */testdata; without DIR all are taken)\n"
	for _, test := range []struct {
		args  []string
		code  int
		lines int
		want  string // the last
	}{
		{[]string{dir}, exitUnreadable, 1, dir + ": no recordings in it" + where},
		{[]string{dir, "-run", "a"}, exitUnreadable, 1, dir + ": no recordings in it" + where},
		{[]string{dir, "-v"}, exitUnreadable, 4, dir + ": no recordings in it" + where},
		{[]string{dir, other}, exitUnreadable, 1, dir + ", " + other + ": no recordings in them" + where},
		{[]string{dir, good}, cli.OK, 1, dir + ": no recordings in it\n"},
		{[]string{good, "-run", "none"}, exitUnreadable, 1, "no recording matches -run none in " + good + "\n"},
	} {
		code, _, stderr := check(t, test.args...)
		if code != test.code || strings.Count(stderr, "\n") != test.lines ||
			!strings.HasSuffix(stderr, "hoppercheck: "+test.want) {
			t.Errorf("%q: exit %d, want %d and %d lines: %q", test.args, code, test.code, test.lines, stderr)
		}
	}
}

// Products over the bound do not count as records; where there is nothing else, nothing has agreed.
func TestLeftOut(t *testing.T) {
	code, stdout, stderr := check(t, "-run", "cublas.json", "-max-flops", "0", "-format", "json")
	all := rows(t, stdout)
	if code != exitUnreadable || len(all) != 1 || !reflect.DeepEqual(all[0], row{File: "cublas.json", LeftOut: 50}) ||
		stderr != "hoppercheck: nothing compared: 50 products of more than 0 operations left out (-max-flops)\n" {
		t.Errorf("exit %d, %+v: %q", code, all, stderr)
	}
	code, _, stderr = check(t, "-run", "cublas.json|tf32.txt", "-max-flops", "0")
	if code != cli.OK || stderr != "" {
		t.Errorf("beside other records: exit %d: %q", code, stderr)
	}
}

// A full is where nothing more can be written.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestUnwritable(t *testing.T) {
	var errs bytes.Buffer
	if code := run(t.Context(), []string{"-run", "tf32.txt"}, full{}, &errs); code != exitUnreadable ||
		errs.String() != "hoppercheck: writing the result: no space left\n" {
		t.Errorf("exit %d: %q", code, &errs)
	}
	for _, arg := range []string{"-h", "--help", "help"} {
		errs.Reset()
		if code := run(t.Context(), []string{arg}, full{}, &errs); code != exitUnreadable ||
			errs.String() != "hoppercheck: writing the help: no space left\n" {
			t.Errorf("%s: exit %d: %q", arg, code, &errs)
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	if code := run(ctx, nil, &out, &errs); code != cli.Interrupted || out.Len() != 0 {
		t.Errorf("exit %d, want %d: %s", code, cli.Interrupted, &errs)
	}
}

// A panic of the emulator is a difference, not the end.
func TestGuard(t *testing.T) {
	text, err := guard(new(int), func(*int) (string, error) { panic("broken") })
	if err != nil || text != "the emulator panics: broken" {
		t.Errorf("guard = %q, %v", text, err)
	}
}

// FuzzReplay replays files of every kind but whole products, for whose formats golden has tests of its own: nothing in
// them may stop the command.
func FuzzReplay(f *testing.F) {
	whole := func(k kind) bool { return strings.HasPrefix(k.what, "whole products") }
	for at, k := range kinds {
		if whole(k) {
			continue
		}
		name := strings.NewReplacer(`\`, "", "^(?:", "", ")$", "", ".*", "s8").Replace(k.name.String())
		data := recording(f, name)
		f.Add(at, data[:min(len(data), 4<<10)])
	}
	f.Fuzz(func(t *testing.T, at int, data []byte) {
		if at < 0 || at >= len(kinds) || whole(kinds[at]) {
			return
		}
		kinds[at].replay(t.Context(), &config{}, &file{path: "x", kind: &kinds[at]}, data)
	})
}
