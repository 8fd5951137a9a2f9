//go:build !unix

package asm

import (
	"testing"
	"unsafe"
)

// A guarded is plain memory: there are no guard pages on this system, but the bytes around a region are still checked.
type guarded struct{ mem []byte }

func newGuarded(t testing.TB, n int) guarded { return guarded{make([]byte, n+4096)} }

// fenced is pages a page apart.
type fenced struct {
	mem  []byte
	page int
}

func newFenced(t testing.TB, n int) fenced {
	const page = 4096
	return fenced{newGuarded(t, (2*n-1)*page).mem, page}
}

func (g guarded) first(n int) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(g.mem[:n])) }
func (g guarded) last(n int) unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(unsafe.SliceData(g.mem)), len(g.mem[n:]))
}
