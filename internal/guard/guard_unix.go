//go:build unix

package guard

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Faults says that an access to the pages beside is a fault.
const Faults = true

// PageSize is the bytes of a page.
var PageSize = unix.Getpagesize()

func pages(t testing.TB, n int) (mem []byte, free func()) {
	t.Helper()
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	return mem, func() { unix.Munmap(mem) }
}

func forbid(t testing.TB, page []byte) {
	t.Helper()
	if err := unix.Mprotect(page, unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
}
