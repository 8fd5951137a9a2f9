//go:build unix

package bf16

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fenced returns n elements at the start and n at the end of a page of memory
// that has an inaccessible page on either side.
func fenced[T element](t *testing.T, n int) (first, last []T) {
	page := unix.Getpagesize()
	m, err := unix.Mmap(-1, 0, 3*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(m) })
	for _, fence := range [][]byte{m[:page], m[2*page:]} {
		if err := unix.Mprotect(fence, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	var zero T
	all := unsafe.Slice((*T)(unsafe.Pointer(&m[page])), page/int(unsafe.Sizeof(zero)))
	return all[:n:n], all[len(all)-n:]
}

// TestGuard converts between slices that end where a page does, or start there.
// A load or store outside them is a fault that ends the test.
func TestGuard(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		testGuard(t, encoding)
		testGuard(t, decoding)
		testGuard(t, encodingFloat16)
		testGuard(t, decodingFloat16)
	})
}

func testGuard[D, S element](t *testing.T, c conversion[D, S]) {
	t.Run(c.name, func(t *testing.T) {
		const longest = 200
		dstFirst, dstLast := fenced[D](t, longest)
		srcFirst, srcLast := fenced[S](t, longest)
		copy(srcFirst, sample[S](longest))
		copy(srcLast, sample[S](longest))
		want := make([]D, longest)
		for n := range longest + 1 {
			first, last := srcFirst[:n], srcLast[longest-n:]
			for _, src := range [][]S{first, last} {
				c.generic(want[:n], src)
				for _, dst := range [][]D{dstFirst[:n], dstLast[longest-n:]} {
					clear(dst)
					c.run(dst, src)
					same(t, dst, want[:n], src)
				}
			}
		}
	})
}
