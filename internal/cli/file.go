package cli

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// A File is one that a flag names, and that is opened before there is anything to write to it: a name that cannot be
// written is told then. What was in it stays until the first write. A new file goes again without one, or if one fails.
// It remembers the first error of its writes, as packages such as pprof drop them.
type File struct {
	file    io.WriteCloser
	created string // its name, behind links, if it was not there
	written bool
	err     error
}

// OpenFile opens the file at path, and makes it if it is not there.
func OpenFile(path string) (*File, error) {
	_, missing := os.Stat(path)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	f := &File{file: file}
	if errors.Is(missing, fs.ErrNotExist) {
		if f.created, err = filepath.EvalSymlinks(path); err != nil {
			file.Close()
			return nil, err
		}
	}
	return f, nil
}

// empty empties the file, unless it is a device.
func (f *File) empty() error {
	file, ok := f.file.(*os.File)
	if !ok {
		return nil
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return err
	}
	return file.Truncate(0)
}

func (f *File) Write(b []byte) (n int, err error) {
	if !f.written {
		f.written, err = true, f.empty()
	}
	if err == nil {
		n, err = f.file.Write(b)
	}
	if f.err == nil {
		f.err = err
	}
	return n, err
}

// Close closes the file and returns the first error of all writes and of that. It removes
// one that is new and empty or not whole.
func (f *File) Close() error {
	f.err = cmp.Or(f.err, f.file.Close())
	if f.created != "" && (!f.written || f.err != nil) {
		os.Remove(f.created)
	}
	return f.err
}
