package asm

import (
	"testing"
	"unsafe"

	"example.com/leafhopper/internal/guard"
)

// A guarded is memory between two pages that fault on any access, where the system has such.
type guarded struct{ mem []byte }

// newGuarded returns room for at least n bytes.
func newGuarded(t testing.TB, n int) guarded {
	mem, free := guard.Memory(t, n)
	t.Cleanup(free)
	return guarded{mem}
}

// place returns n bytes at the end of g, or at its start.
func (g guarded) place(n int, atEnd bool) (unsafe.Pointer, []byte) {
	p := g.first(n)
	if atEnd {
		p = g.last(n)
	}
	return p, unsafe.Slice((*byte)(p), n)
}

// margin is how far around an operand what is written beside it is noticed; see around.
const margin = 1 << 10

// around is place with what lies up to margin bytes beside them.
func (g guarded) around(n int, atEnd bool) (p unsafe.Pointer, mem []byte) {
	p, _ = g.place(n, atEnd)
	_, mem = g.place(min(n+margin, len(g.mem)), atEnd)
	return p, mem
}

// fenced is pages that each lie between pages that fault on any access.
type fenced struct {
	mem  []byte // from the first page on
	page int
}

// newFenced returns n pages.
func newFenced(t testing.TB, n int) fenced {
	mem, free := guard.Pages(t, n)
	t.Cleanup(free)
	return fenced{mem, guard.PageSize}
}

// first returns the n bytes after the front guard, last the n bytes before the back guard.
func (g guarded) first(n int) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(g.mem[:n])) }
func (g guarded) last(n int) unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(unsafe.SliceData(g.mem)), len(g.mem[n:]))
}
