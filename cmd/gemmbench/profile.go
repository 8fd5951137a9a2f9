package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"strings"

	"example.com/leafhopper/internal/cli"
)

// profiles are the files that -cpuprofile and -trace ask for; nil where they do not.
type profiles struct{ cpu, execution, timeline *profile }

// A profile is a file of a flag.
type profile struct {
	*cli.File
	flag string
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
	ps := new(profiles)
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
		file, err := cli.OpenFile(p.path)
		if err != nil {
			ps.closeFiles() // which nobody has written to
			return nil, cli.Usagef("compare: -%s: %w", p.flag, err)
		}
		*p.to = &profile{file, p.flag}
	}
	if ps.cpu != nil {
		if err := pprof.StartCPUProfile(ps.cpu); err != nil {
			ps.closeFiles()
			return nil, fmt.Errorf("compare: -cpuprofile: %w", err)
		}
	}
	return ps, nil
}

// close ends the CPU profile and closes all files. It returns the first error of the writes to each.
func (ps *profiles) close() error {
	if ps.cpu != nil {
		pprof.StopCPUProfile() // what writes to a file must end before the file is closed
	}
	return ps.closeFiles()
}

func (ps *profiles) closeFiles() error {
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
