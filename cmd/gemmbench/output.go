package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/leafhopper/internal/cli"
)

// An output is where and how a command writes its result: to standard output,
// or to the file of -o, which appears whole or not at all.
type output struct {
	format, path string

	formats []string
	command string
	w       io.Writer
	file    *os.File // that w is, unless that is standard output
	target  string   // what file is renamed to; "" of a device or pipe, which cannot be renamed over
}

func (o *output) declare(fs *flag.FlagSet, formats ...string) {
	o.formats, o.command = formats, fs.Name()
	fs.StringVar(&o.format, "format", "table", "`format` of the result: "+strings.Join(formats, ", "))
	fs.StringVar(&o.path, "o", "", "write the result to `file`, whole or not at all; - is standard output (default)")
}

// open finds out, before anything is measured, whether the result can be
// written.
func (o *output) open(stdout io.Writer) error {
	format := strings.ToLower(o.format)
	if !slices.Contains(o.formats, format) {
		return cli.Usagef("%s: -format: %q is not one of %s", o.command, o.format, strings.Join(o.formats, ", "))
	}
	o.format = format
	if o.w = stdout; o.path == "" || o.path == "-" {
		return nil
	}
	if err := o.openFile(); err != nil {
		o.discard()
		return cli.Usagef("%s: -o: %w", o.command, err)
	}
	return nil
}

func (o *output) openFile() error {
	target, mode := o.path, fs.FileMode(0o666)
	info, err := os.Stat(o.path)
	old := err == nil
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(o.path); err == nil {
			return fmt.Errorf("%s is a link to a file that is not there", o.path)
		}
	case err != nil: // such as of a name that is too long
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a directory", o.path)
	default:
		f, err := os.OpenFile(o.path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			o.w, o.file = f, f
			return nil
		}
		f.Close()
		mode = info.Mode().Perm()
		if target, err = filepath.EvalSymlinks(o.path); err != nil {
			return err
		}
	}
	f, err := createBeside(target, mode)
	if err == nil {
		o.w, o.file, o.target = f, f, target
		if old {
			err = f.Chmod(mode) // past the umask
		}
	}
	return o.cannotWrite(err)
}

// cannotWrite returns err, if there is one, by the name of -o: that in it may be the temporary file's, which nobody
// asked for.
func (o *output) cannotWrite(err error) error {
	if err == nil {
		return nil
	}
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	if linkErr, ok := errors.AsType[*os.LinkError](err); ok {
		err = linkErr.Err
	}
	return fmt.Errorf("cannot write %s: %w", o.path, err)
}

// createBeside makes a new file in the folder of target, of that mode less the
// umask. [os.CreateTemp] makes files that only their owner may read.
func createBeside(target string, mode fs.FileMode) (*os.File, error) {
	name := fmt.Sprintf(".gemmbench-%016x", rand.Uint64()) // that no other file has
	return os.OpenFile(filepath.Join(filepath.Dir(target), name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
}

// write writes the result with f and puts it in its place.
func (o *output) write(f func(io.Writer) error) error {
	err := f(o.w)
	if o.file == nil {
		if err != nil {
			return cli.Usagef("%s: writing the result: %w", o.command, err)
		}
		return nil
	}
	if err == nil {
		err = o.commit()
	}
	if err != nil {
		return cli.Usagef("%s: -o: %w", o.command, o.cannotWrite(err))
	}
	return nil
}

func (o *output) commit() error {
	if err := o.file.Close(); err != nil {
		return err
	}
	if o.target != "" {
		if err := os.Rename(o.file.Name(), o.target); err != nil {
			return err
		}
	}
	o.file = nil
	return nil
}

// discard removes what open created, if write did not come to its end.
func (o *output) discard() {
	if o.file == nil {
		return
	}
	o.file.Close()
	if o.target != "" {
		os.Remove(o.file.Name())
	}
	o.file = nil
}
