package cli

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Print runs a program that takes no arguments and prints what it finds. It ends the process, unless all goes well.
// The writer remembers its first error, so that print need not look at each.
func Print(print func(w io.Writer) error) {
	NoArguments()
	w := &sticky{w: os.Stdout}
	end(cmp.Or(print(w), w.err))
}

// NoArguments ends a process that has arguments: -h is help, and all else wrong. Those of a test are go test's.
func NoArguments() {
	if !flag.Parsed() {
		end(noArguments(os.Args[1:], os.Stdout))
	}
}

func noArguments(args []string, stdout io.Writer) error {
	if len(args) == 0 {
		return nil
	}
	switch args[0] {
	case "-h", "-help", "--help":
		_, err := fmt.Fprintf(stdout, "Usage: %s\n\nIt takes no arguments. Its source says what it does.\n", program())
		return cmp.Or(err, flag.ErrHelp)
	}
	return Usagef("unexpected argument %q: it takes none (see -h)", args[0])
}

func program() string { return filepath.Base(os.Args[0]) }

// end ends the process, unless err is nil. Here an error may have several lines.
func end(err error) {
	switch {
	case err == nil:
		return
	case errors.Is(err, flag.ErrHelp):
		os.Exit(OK)
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", program(), err)
	if _, usage := errors.AsType[UsageError](err); usage {
		os.Exit(Usage)
	}
	os.Exit(Failed)
}

// A sticky writer fails for ever if it fails once.
type sticky struct {
	w   io.Writer
	err error
}

func (s *sticky) Write(b []byte) (n int, err error) {
	if s.err == nil {
		n, s.err = s.w.Write(b)
	}
	return n, s.err
}
