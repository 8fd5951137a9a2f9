package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestPrint(t *testing.T) {
	name := filepath.Base(os.Args[0])
	const full = "/dev/full"
	for _, test := range []struct {
		text, args    string
		status        int
		printed, said string
	}{
		{"text", "", OK, "text\nand more\n", "went on\n"},
		{"text", "-h", OK, "Usage: " + name + "\n\nIt takes no arguments. Its source says what it does.\n", ""},
		{"text", "-x", Usage, "", name + ": unexpected argument \"-x\": it takes none (see -h)\n"},
		{"text", "x -h", Usage, "", name + ": unexpected argument \"x\": it takes none (see -h)\n"},
		{"", "", Failed, "\nand more\n", name + ": nothing\nto print\n"},
		{"text", "", Failed, full, name + ": write /dev/stdout: no space left on device\n"},
		{"text", "-h", Failed, full, name + ": write /dev/stdout: no space left on device\n"},
	} {
		var printed, said strings.Builder
		c := exec.CommandContext(t.Context(), os.Args[0], strings.Fields(test.args)...)
		c.Env = append(os.Environ(), "CLI_PRINT="+test.text)
		c.Stdout, c.Stderr = &printed, &said
		if test.printed == full {
			f, err := os.OpenFile(full, os.O_WRONLY, 0)
			if err != nil {
				t.Log(err)
				continue
			}
			defer f.Close()
			c.Stdout, test.printed = f, ""
		}
		c.Run()
		if status := c.ProcessState.ExitCode(); status != test.status || printed.String() != test.printed ||
			said.String() != test.said {
			t.Errorf("%q: status %d, printed %q, said %q, want %+v", test.args, status, &printed, &said, test)
		}
	}
}

// TestSticky wants the first error to stay, whatever the writer says later.
func TestSticky(t *testing.T) {
	f := &faulty{writes: 1}
	w := &sticky{w: f}
	for range 2 {
		if _, err := w.Write([]byte("x")); err == nil || err.Error() != "write 2" {
			t.Error(err)
		}
	}
	if w.err == nil || f.writes != 2 {
		t.Errorf("%v after %d writes", w.err, f.writes)
	}
}
