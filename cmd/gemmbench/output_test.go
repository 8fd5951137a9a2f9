package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/leafhopper/internal/cli"
)

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
	if code := run(ctx, quick("-o", link), &out, &errs); code != cli.Interrupted ||
		errs.String() != "gemmbench: interrupted\n" || out.Len() > 0 {
		t.Errorf("interrupted: exit status %d, %q, %q", code, out.String(), errs.String())
	}
	if data, _ := os.ReadFile(path); string(data) != "old" {
		t.Errorf("an interrupted run changed the file to %q", data)
	}
	if code := run(ctx, quick("-trace", path), &out, &errs); code != cli.Interrupted {
		t.Errorf("interrupted: exit status %d", code)
	}
	if data, _ := os.ReadFile(path); string(data) != "old" {
		t.Errorf("an interrupted run changed the trace to %q", data)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("an interrupted run left files behind: %v", entries)
	}
	profile, trace := filepath.Join(dir, "cpu"), filepath.Join(dir, "trace")
	// Of two profiles neither is begun, or left behind empty, if one cannot be written.
	if code, _, _ := gemmbench(t, quick("-cpuprofile", path, "-trace",
		filepath.Join(dir, "none", "x"))...); code != cli.Usage {
		t.Errorf("a trace to a folder that is not there: exit status %d", code)
	}
	if code, _, _ := gemmbench(t, quick("-cpuprofile", profile, "-trace",
		filepath.Join(dir, "none", "x"))...); code != cli.Usage {
		t.Errorf("a trace to a folder that is not there: exit status %d", code)
	}
	if data, _ := os.ReadFile(path); string(data) != "old" {
		t.Errorf("an error changed the file to %q", data)
	}
	if _, err := os.Stat(profile); err == nil {
		t.Error("an error left a profile behind")
	}
	code, stdout, stderr := gemmbench(t, quick("-format", "json", "-o", link, "-cpuprofile", profile, "-trace",
		trace)...)
	if code != cli.OK || stdout != "" || stderr != "" {
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
	for _, p := range []string{profile, trace, trace + ".json"} {
		if info, err := os.Stat(p); err != nil || info.Size() == 0 {
			t.Errorf("%s is empty: %v", p, err)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 5 {
		t.Errorf("files left behind: %v", entries)
	}
	if code, _, stderr := gemmbench(t, "info", "-o", os.DevNull); code != cli.OK {
		t.Errorf("-o %s: exit status %d, %s", os.DevNull, code, stderr)
	}
}

// A full is where nothing more can be written.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestOutputLink names a link to a file that is not there, which renaming would replace.
func TestOutputLink(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("nothing", link); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := gemmbench(t, "info", "-o", link)
	if want := "gemmbench: info: -o: " + link + " is a link to a file that is not there\n"; code != cli.Usage ||
		stdout != "" || stderr != want {
		t.Errorf("exit status %d, %q, %q, want %q", code, stdout, stderr, want)
	}
	if to, err := os.Readlink(link); to != "nothing" {
		t.Errorf("the link is now to %q, %v", to, err)
	}
}

func TestStandardOutput(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"info", "-o", "-"}, &out, &errs); code != cli.OK ||
		!strings.Contains(out.String(), "caches") {
		t.Errorf("-o -: exit status %d, %q, %q", code, &out, &errs)
	}
	for _, command := range []string{"info", "kernels"} {
		errs.Reset()
		if code := run(t.Context(), []string{command}, full{}, &errs); code != cli.Usage ||
			errs.String() != "gemmbench: "+command+": writing the result: no space left\n" {
			t.Errorf("%s: exit status %d, %q", command, code, &errs)
		}
	}
}

// TestHelpUnwritable wants of a help text what is wanted of other results.
func TestHelpUnwritable(t *testing.T) {
	for _, args := range []string{"help", "-h", "help compare", "compare -h", "-size 64 -h", "peak -h", "kernels -help",
		"info --help"} {
		var errs bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), full{}, &errs); code != cli.Usage ||
			errs.String() != "gemmbench: help: writing the result: no space left\n" {
			t.Errorf("%s: exit status %d, %q", args, code, &errs)
		}
	}
}

// TestProfileUnwritable wants a profile that could not be written told like any
// other result, behind the report.
func TestProfileUnwritable(t *testing.T) {
	const device = "/dev/full"
	if _, err := os.Stat(device); err != nil {
		t.Skip(err)
	}
	for args, names := range map[string][]string{
		"-cpuprofile /dev/full":                  {"cpuprofile"},
		"-trace /dev/full":                       {"trace"},
		"-cpuprofile /dev/full -trace /dev/full": {"cpuprofile", "trace"},
	} {
		code, stdout, stderr := gemmbench(t, quick(strings.Fields(args)...)...)
		if code != cli.Usage || !strings.Contains(stdout, "producer wait") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit status %d, stderr %q, stdout:\n%s", args, code, stderr, stdout)
		}
		for _, name := range names {
			if want := "compare: -" + name + ": write " + device +
				": no space left on device"; strings.Count(stderr, want) != 1 {
				t.Errorf("%s: stderr %q, want %q once", args, stderr, want)
			}
		}
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

// TestUnfinished has a write, and the renaming of a file that is whole, fail: the error has the name that was asked
// for, and nothing stays.
func TestUnfinished(t *testing.T) {
	for _, step := range []string{"write", "rename"} {
		path := filepath.Join(t.TempDir(), "x")
		o := output{format: "table", path: path, formats: []string{"table"}, command: "info"}
		if err := o.open(nil); err != nil {
			t.Fatal(err)
		}
		err := o.write(func(w io.Writer) error {
			if step == "write" {
				o.file.Close()
			} else if err := os.MkdirAll(filepath.Join(path, "y"), 0o700); err != nil {
				t.Fatal(err)
			}
			_, err := fmt.Fprint(w, "new")
			return err
		})
		said := fmt.Sprint(err)
		if _, usage := errors.AsType[cli.UsageError](err); !usage ||
			!strings.HasPrefix(said, "info: -o: cannot write "+path+": ") || strings.Contains(said, ".gemmbench-") {
			t.Errorf("%s: %s", step, said)
		}
		o.discard()
		if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 || err != nil {
			t.Errorf("%s left %v, %v", step, left, err)
		}
	}
}
