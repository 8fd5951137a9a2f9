//go:build unix && !race

package gemm_test

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// guardPages says that an access outside of what fenced returns is a fault.
const guardPages = true

// fenced returns n elements between two pages that fault on any access. They
// start right after the first one or, if atEnd, end right before the second. free
// unmaps them.
func fenced[T any](t testing.TB, n int, atEnd bool) (s []T, free func()) {
	t.Helper()
	var zero T
	page := unix.Getpagesize()
	bytes := n * int(unsafe.Sizeof(zero))
	body := max(1, (bytes+page-1)/page) * page
	all, err := unix.Mmap(-1, 0, body+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	for _, fence := range [][]byte{all[:page], all[page+body:]} {
		if err := unix.Mprotect(fence, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	at := page
	if atEnd {
		at += body - bytes
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&all[at])), n), func() { unix.Munmap(all) }
}
