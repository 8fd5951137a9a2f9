package course

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/leafhopper/internal/cli"
	"example.com/leafhopper/sm"
)

// TestLineAgainstLine checks that the code in tables of CUDA and Go is that of the files
// beside them.
func TestLineAgainstLine(t *testing.T) {
	pages, err := filepath.Glob("../../*/README.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, page := range pages {
		dir := filepath.Dir(page)
		columns := [2]string{source(t, dir, "*.cu"), source(t, dir, "*.go")}
		inTable := false
		for line := range strings.Lines(text(t, page)) {
			if !strings.HasPrefix(line, "|") {
				inTable = false
				continue
			}
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
			if len(cells) == 2 && strings.TrimSpace(cells[0]) == "CUDA" && strings.TrimSpace(cells[1]) == "Go" {
				inTable = true
				continue
			}
			if !inTable || len(cells) != 2 {
				continue
			}
			rows++
			for i, cell := range cells {
				for _, code := range span.FindAllStringSubmatch(cell, -1) {
					if !strings.Contains(columns[i], squeeze(code[1])) {
						t.Errorf("%s: %s is not in the source", page, code[1])
					}
				}
			}
		}
	}
	if rows == 0 {
		t.Error("no README has a table of CUDA and Go")
	}
}

var span = regexp.MustCompile("`([^`]+)`")

// source returns the files of a folder that match a pattern.
func source(t *testing.T, dir, pattern string) string {
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		all.WriteString(text(t, f))
	}
	return squeeze(all.String())
}

func text(t *testing.T, file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// squeeze makes one space of all white space.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// TestBreakThem makes the changes that the course proposes, and compares what the programs
// say then.
func TestBreakThem(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program for every row")
	}
	_, table, _ := strings.Cut(text(t, "../../README.md"), "\n## Break them\n")
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 3 || !span.MatchString(line) {
			continue
		}
		rows++
		name := strings.TrimSpace(cells[0])
		change, want := span.FindAllStringSubmatch(cells[1], -1), span.FindAllStringSubmatch(cells[2], -1)
		t.Run(name, func(t *testing.T) {
			replacement := ""
			if len(change) > 1 {
				replacement = change[1][1]
			}
			got := runChanged(t, name, change[0][1], replacement)
			for _, w := range want {
				if !strings.Contains(got, w[1]) {
					t.Errorf("%q is not in\n%s", w[1], got)
				}
			}
		})
	}
	if rows == 0 {
		t.Error("no changes are proposed")
	}
}

// runChanged returns what an example prints with its last old replaced.
func runChanged(t *testing.T, name, old, replacement string) string {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "examples", name, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	changed, overlay := filepath.Join(t.TempDir(), "changed.go"), filepath.Join(t.TempDir(), "overlay.json")
	for _, file := range files {
		source := text(t, file)
		i := strings.LastIndex(source, old)
		if i < 0 || strings.HasSuffix(file, "_test.go") {
			continue
		}
		replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
		if err != nil {
			t.Fatal(err)
		}
		for name, data := range map[string]string{
			changed: source[:i] + replacement + source[i+len(old):],
			overlay: string(replace),
		} {
			if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		run := exec.CommandContext(t.Context(), "go", "run", "-overlay", overlay, "./examples/"+name)
		run.Dir = root
		out, err := run.CombinedOutput()
		if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
			t.Fatal(err)
		}
		return string(out)
	}
	t.Fatalf("%q is in no file of %s", old, name)
	return ""
}

// TestEdges gives every example arguments that it does not take, and a place that it cannot write to.
func TestEdges(t *testing.T) {
	if testing.Short() {
		t.Skip("builds all examples")
	}
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", dir, "./examples/...")
	build.Dir = "../../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	programs, err := os.ReadDir(dir)
	if err != nil || len(programs) < 2 {
		t.Fatalf("%d programs, %v", len(programs), err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Log("no disk here is full:", err)
	}
	defer full.Close()
	for _, p := range programs {
		for args, want := range map[string]int{"-h": cli.OK, "-x": cli.Usage, "stray": cli.Usage, "": cli.Failed} {
			var out, said strings.Builder
			c := exec.CommandContext(t.Context(), filepath.Join(dir, p.Name()), strings.Fields(args)...)
			c.Stdout, c.Stderr = &out, &said
			if want == cli.Failed {
				if full == nil {
					continue
				}
				c.Stdout = full
			}
			c.Run()
			if got := c.ProcessState.ExitCode(); got != want || (out.Len() > 0) != (want == cli.OK) ||
				(said.Len() > 0) != (want != cli.OK) || !strings.Contains(said.String(), args) && want != cli.OK {
				t.Errorf("%s %s: status %d, want %d; printed %q, said %q", p.Name(), args, got, want, &out, &said)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	good := []Output{{"a.x", []int32{1, 2, 3}}}
	recorded := "# a comment\n" + good[0].String() + "\n"
	for name, c := range map[string]struct {
		got  []Output
		want string
	}{
		"element":  {[]Output{{"a.x", []int32{1, 5, 3}}}, "a.x[1] = 5, want 2"},
		"length":   {[]Output{{"a.x", []int32{1, 2}}}, "a.x has 2 elements, want 3"},
		"type":     {[]Output{{"a.x", []uint32{1, 2, 3}}}, "output a.x of []uint32"},
		"number":   {nil, "0 outputs, want 1"},
		"the same": {good, ""},
	} {
		err := same(c.got, good)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err := asRecorded(c.got, recorded); (err == nil) != (c.want == "" || name == "type") {
			t.Errorf("%s against the record: %v", name, err)
		}
	}
}

// TestNoSeeds wants an example that is checked in no order to fail.
func TestNoSeeds(t *testing.T) {
	defer func(n int) { *seeds = n }(*seeds)
	*seeds = 0
	run := func(func(sm.Config, sm.Kernel) error) ([]Output, error) { return nil, nil }
	if err := Check(t.Context(), run, "", nil); err == nil || err.Error() != "-seeds 0, want at least 1" {
		t.Error(err)
	}
}
