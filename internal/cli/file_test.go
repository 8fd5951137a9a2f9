package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A faulty file fails from its second write on, and when it is closed.
type faulty struct{ writes int }

func (f *faulty) Write(b []byte) (int, error) {
	if f.writes++; f.writes > 1 {
		return 0, fmt.Errorf("write %d", f.writes)
	}
	return len(b), nil
}

func (*faulty) Close() error { return errors.New("close") }

func TestFileError(t *testing.T) {
	for writes, want := range []string{"close", "close", "write 2", "write 2"} {
		p := &File{file: &faulty{}}
		for range writes {
			p.Write([]byte("x"))
		}
		if err := p.Close(); err == nil || err.Error() != want {
			t.Errorf("%d writes: error %v, want %s", writes, err, want)
		}
	}
}

// TestFileCutShort wants a file to go again that was new and cannot be written, and another to stay.
func TestFileCutShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	for _, old := range []bool{false, true} {
		if old {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f, err := OpenFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f.file.Close()
		f.file = &faulty{writes: 1}
		f.Write([]byte("x"))
		if err := f.Close(); err == nil || err.Error() != "write 2" {
			t.Error(err)
		}
		if _, err := os.Stat(path); (err == nil) != old {
			t.Errorf("after a failed write: %v", err)
		}
	}
}

// TestFileLink has the file behind a link go again, and the link stay.
func TestFileLink(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("x", link); err != nil {
		t.Skip(err)
	}
	f, err := OpenFile(link)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "x")); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != "link" {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestFile wants a file to be as it was until the first write.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	if _, err := OpenFile(filepath.Join(path, "y")); err == nil {
		t.Error("no error of a folder that is not there")
	}
	for _, test := range []struct{ write, want string }{{"", ""}, {"longer", "longer"}, {"", "longer"}, {"new", "new"}} {
		f, err := OpenFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if test.write != "" {
			fmt.Fprint(f, test.write)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		data, err := os.ReadFile(path)
		if string(data) != test.want || (err == nil) != (test.want != "") {
			t.Errorf("after %q: %q, %v, want %q", test.write, data, err, test.want)
		}
	}
}
