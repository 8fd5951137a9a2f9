// Beliefs counts how often a real Hopper GPU contradicts what is often said about
// it. Every line takes a rule that somebody believes in, applies it to the
// recordings of an H200 in this module, and counts the records for which the
// rule says something else than the GPU did. The same code applies the rule that
// holds, which no record contradicts.
//
//	recording ──► inputs ──► rule ──► prediction ┐
//	     │                                       ├─► the same?
//	     └───────────────► what the GPU did ─────┘
//
// Each topic has a file of its own: barrier.go, copy.go, arithmetic.go.
//
// Sources: hopper/README.md, which has the rules that hold.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"example.com/leafhopper/internal/cli"
	"example.com/leafhopper/internal/golden"
)

// A count is how many records a rule was applied to, and for how many of them
// it was wrong.
type count struct{ wrong, of int }

func (c *count) add(right bool) {
	c.of++
	if !right {
		c.wrong++
	}
}

func (c count) print(w io.Writer, what, rule string) {
	fmt.Fprintf(w, "%6d of %5d %-9s %s\n", c.wrong, c.of, what, rule)
}

// module returns the root of this module.
func module() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "barrier", "testdata")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("run this inside the module, whose recordings it reads")
		}
	}
}

// recording reads a file of this module.
func recording(name string) ([]byte, error) {
	dir, err := module()
	if err != nil {
		return nil, err
	}
	return golden.Read(filepath.Join(dir, filepath.FromSlash(name)))
}

func main() { cli.Print(run) }

func run(w io.Writer) error {
	if _, err := module(); err != nil {
		return err
	}
	fmt.Fprintf(w, "%6s of %5s %-9s %s\n", "wrong", "all", "records", "if this is the rule")
	for _, topic := range []func(io.Writer) error{barriers, copies, arithmetic} {
		if err := topic(w); err != nil {
			return err
		}
	}
	return nil
}
