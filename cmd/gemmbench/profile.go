package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/pprof"
	"strings"

	"example.com/leafhopper/internal/cli"
)

// profiles are the files that -cpuprofile and -trace ask for; nil where they do not.
type profiles struct {
	cpu, execution, timeline *profile
	stop                     func() // what writes to cpu
}

// executionFile and timelineFile are the two files of -trace FILE. FILE may end in .json, as
// the timeline does; a device gets the execution trace alone.
func (f *compareFlags) executionFile() string { return strings.TrimSuffix(f.trace, timelineExt) }

func (f *compareFlags) timelineFile() string {
	if f.trace == "" {
		return ""
	}
	if info, err := os.Stat(f.executionFile()); err == nil && !info.Mode().IsRegular() {
		return ""
	}
	return f.executionFile() + timelineExt
}

const timelineExt = ".json"

// openProfiles opens all files, and starts the CPU profile if all can be opened.
func (f *compareFlags) openProfiles() (*profiles, error) {
	ps := &profiles{stop: func() {}}
	var opened []*profile
	for _, p := range []struct {
		to         **profile
		flag, path string
	}{
		{&ps.cpu, "cpuprofile", f.cpuprofile},
		{&ps.execution, "trace", f.executionFile()},
		{&ps.timeline, "trace", f.timelineFile()},
	} {
		if p.path == "" {
			continue
		}
		file, err := openProfile(p.flag, p.path)
		if err != nil {
			discard(opened)
			return nil, cli.Usagef("compare: -%s: %w", p.flag, err)
		}
		*p.to = file
		opened = append(opened, file)
	}
	if ps.cpu != nil {
		if err := pprof.StartCPUProfile(ps.cpu); err != nil {
			discard(opened)
			return nil, fmt.Errorf("compare: -cpuprofile: %w", err)
		}
		ps.stop = pprof.StopCPUProfile
	}
	return ps, nil
}

// close ends the CPU profile and closes all files. It returns the first error of the writes to each.
func (ps *profiles) close() error {
	ps.stop() // what writes to a file must end before the file is closed
	var errs []error
	for _, p := range []*profile{ps.cpu, ps.execution, ps.timeline} {
		if p == nil {
			continue
		}
		if err := p.Close(); err != nil {
			errs = append(errs, cli.Usagef("compare: -%s: %w", p.flag, err))
		}
	}
	return errors.Join(errs...)
}

// A profile is a file of a flag. It remembers the first error of its writes: packages pprof
// and trace drop them. What was in it stays until the first, and without one the file does not.
type profile struct {
	flag    string
	file    io.WriteCloser
	created bool // the file was not there
	written bool
	err     error
}

// openProfile opens the file.
func openProfile(flag, path string) (*profile, error) {
	_, err := os.Stat(path)
	p := &profile{flag: flag, created: errors.Is(err, fs.ErrNotExist)}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666)
	p.file = file
	return p, err
}

// empty empties the file, unless it is a device.
func (p *profile) empty() error {
	file, ok := p.file.(*os.File)
	if !ok {
		return nil
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return err
	}
	return file.Truncate(0)
}

// discard closes the files, which nobody has written to.
func discard(ps []*profile) {
	for _, p := range ps {
		p.Close()
	}
}

func (p *profile) Write(b []byte) (n int, err error) {
	if !p.written {
		p.written, err = true, p.empty()
	}
	if err == nil {
		n, err = p.file.Write(b)
	}
	if p.err == nil {
		p.err = err
	}
	return n, err
}

// Close closes the file and returns the first error of all writes and of that. It removes
// one that is new and empty.
func (p *profile) Close() error {
	err := p.file.Close()
	if file, ok := p.file.(*os.File); ok && p.created && !p.written {
		os.Remove(file.Name())
	}
	if p.err != nil {
		return p.err
	}
	return err
}
