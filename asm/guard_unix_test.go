//go:build unix

package asm

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A guarded is memory between two pages that fault on any access.
type guarded struct{ mem []byte }

// newGuarded returns room for at least n bytes.
func newGuarded(t testing.TB, n int) guarded {
	page := unix.Getpagesize()
	n = (n + page - 1) / page * page
	all, err := unix.Mmap(-1, 0, n+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(all) })
	for _, edge := range [][]byte{all[:page], all[page+n:]} {
		if err := unix.Mprotect(edge, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return guarded{all[page : page+n]}
}

// fenced is pages that each lie between pages that fault on any access.
type fenced struct {
	mem  []byte // from the first page on
	page int
}

// newFenced returns n pages.
func newFenced(t testing.TB, n int) fenced {
	page := unix.Getpagesize()
	g := newGuarded(t, (2*n-1)*page)
	for i := page; i < len(g.mem); i += 2 * page {
		if err := unix.Mprotect(g.mem[i:][:page], unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return fenced{g.mem, page}
}

// first returns the n bytes after the front guard, last the n bytes before the back guard.
func (g guarded) first(n int) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(g.mem[:n])) }
func (g guarded) last(n int) unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(unsafe.SliceData(g.mem)), len(g.mem[n:]))
}
