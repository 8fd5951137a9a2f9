package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestStatus(t *testing.T) {
	for _, test := range []struct {
		err  error
		want int
		said string
	}{
		{nil, OK, ""},
		{flag.ErrHelp, OK, ""},
		{errors.New("no luck"), Failed, "program: no luck\n"},
		{errors.Join(errors.New("no luck"), Usagef("-size 0")), Usage, "program: no luck; -size 0\n"},
		{Usagef("-size %d", 0), Usage, "program: -size 0\n"},
		{fmt.Errorf("compare: %w", Usagef("-size 0")), Usage, "program: compare: -size 0\n"},
		{fmt.Errorf("compare: %w", context.Canceled), Interrupted, "program: interrupted\n"},
		{UsageError{context.Canceled}, Interrupted, "program: interrupted\n"},
	} {
		var said strings.Builder
		if got := Status("program", test.err, &said); got != test.want || said.String() != test.said {
			t.Errorf("%v: status %d, want %d, and said %q, want %q", test.err, got, test.want, &said, test.said)
		}
	}
}

// TestMain is a program that ends after as many signals as the environment says, or one that prints what that says.
func TestMain(m *testing.M) {
	if text, child := os.LookupEnv("CLI_PRINT"); child {
		Print(func(w io.Writer) error {
			fmt.Fprintln(w, text)
			fmt.Fprintln(w, "and more")
			if text == "" {
				return errors.New("nothing\nto print")
			}
			return nil
		})
		fmt.Fprintln(os.Stderr, "went on")
		return
	}
	signals, child := os.LookupEnv("CLI_SIGNALS")
	if !child {
		os.Exit(m.Run())
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		panic(err)
	}
	Main(func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		fmt.Fprintln(stdout, "started")
		<-ctx.Done()
		for signals == "2" {
			if err := self.Signal(os.Interrupt); err != nil {
				return Failed
			}
			time.Sleep(time.Millisecond)
		}
		return Status("program", ctx.Err(), stderr)
	})
}

func TestSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no process can interrupt another")
	}
	for _, test := range []struct {
		signals string
		first   os.Signal
		status  int // -1: ended by a signal
	}{
		{"1", os.Interrupt, Interrupted},
		{"1", syscall.SIGTERM, Interrupted},
		{"2", os.Interrupt, -1},
	} {
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Env = append(os.Environ(), "CLI_SIGNALS="+test.signals)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 100)); err != nil { // that it has started
			t.Error(err)
		}
		if err := c.Process.Signal(test.first); err != nil {
			t.Error(err)
		}
		err = c.Wait()
		if c.ProcessState.ExitCode() != test.status {
			t.Errorf("%s signals, %v first: %v, want status %d", test.signals, test.first, err, test.status)
		}
	}
}
