//go:build unix

package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A named pipe, whose reader nothing interrupts, is not read, and stops no other file.
func TestPipe(t *testing.T) {
	dir := place(t, map[string][]byte{
		"tma_tf32.txt": recording(t, "tma_tf32.txt"), "cublas.json": recording(t, "cublas.json"),
	})
	for _, name := range []string{"reduce.txt", "tma.bin.gz", "cublas_rows.bin"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Skip(err)
		}
	}
	type result struct {
		code        int
		out, stderr string
	}
	done := make(chan result, 1)
	go func() {
		var out, errs bytes.Buffer
		code := run(t.Context(), []string{dir}, &out, &errs)
		done <- result{code, out.String(), errs.String()}
	}()
	select {
	case r := <-done:
		if r.code != exitUnreadable || strings.Count(r.stderr, "not a regular file (prw-------)\n") != 3 ||
			strings.Count(r.stderr, "\n") != 3 || strings.Contains(r.stderr, "golden") ||
			!strings.Contains(r.out, "256          0  tma_tf32.txt") {
			t.Errorf("exit %d: %q\n%s", r.code, r.stderr, r.out)
		}
	case <-time.After(10 * time.Second):
		t.Error("still reading after 10 s")
	}
}
