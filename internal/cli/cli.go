// Package cli is what the programs of this module have in common: how an interrupt ends them, their exit statuses,
// how they write JSON, and what those have that only print something.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// Exit statuses.
const (
	OK          = 0
	Failed      = 1
	Usage       = 2
	Interrupted = 130 // as shells have it: 128 and SIGINT
)

// Main runs a program and ends the process with the status that run returns. Its context ends with the first interrupt
// or SIGTERM; a second ends the process at once.
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer) int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// A UsageError is a fault in the arguments, or in the place that they, or the shell, give the result.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }
func (e UsageError) Unwrap() error { return e.Err }

// Usagef returns a [UsageError] of [fmt.Errorf]'s.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// Status tells err on stderr, on one line in the name of the program, and returns the exit status for it.
func Status(program string, err error, stderr io.Writer) int {
	var usage UsageError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return OK
	case errors.Is(err, context.Canceled):
		fmt.Fprintf(stderr, "%s: interrupted\n", program)
		return Interrupted
	}
	fmt.Fprintf(stderr, "%s: %s\n", program, strings.ReplaceAll(err.Error(), "\n", "; "))
	if errors.As(err, &usage) {
		return Usage
	}
	return Failed
}

// WriteJSON writes v as JSON, indented, and a newline.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
