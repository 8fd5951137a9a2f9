//go:build unix

package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOutputMode wants the mode that os.Create gives a new file, and that a file
// which is replaced had.
func TestOutputMode(t *testing.T) {
	for _, umask := range []int{0, 0o022, 0o027, 0o077} {
		for _, old := range []fs.FileMode{0, 0o600, 0o644, 0o666, 0o755} {
			path := filepath.Join(t.TempDir(), "r")
			want := 0o666 &^ fs.FileMode(umask)
			if old != 0 {
				want = old
				place(t, path, old)
			}
			if got := modeOf(t, path, umask); got != want {
				t.Errorf("umask %03o, old mode %03o: new mode %03o, want %03o", umask, old, got, want)
			}
			if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
				t.Errorf("files %v, %v; want one", left, err)
			}
		}
	}
}

// place makes a file of a mode.
func place(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte("old"), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// modeOf returns the mode of path after an output to it under umask.
func modeOf(t *testing.T, path string, umask int) fs.FileMode {
	t.Helper()
	defer syscall.Umask(syscall.Umask(umask))
	o := output{format: "table", path: path, formats: []string{"table"}, command: "info"}
	if err := o.open(nil); err != nil {
		t.Fatal(err)
	}
	defer o.discard()
	if err := o.write(func(w io.Writer) error { _, err := fmt.Fprint(w, "new"); return err }); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "new" {
		t.Errorf("%s holds %q, %v", path, data, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}
