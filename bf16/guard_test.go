package bf16

import (
	"testing"
	"unsafe"

	"example.com/leafhopper/internal/guard"
)

// fenced returns n elements at the start and n at the end of memory that has an
// inaccessible page on either side.
func fenced[T element](t *testing.T, n int) (first, last []T) {
	var zero T
	size := int(unsafe.Sizeof(zero))
	mem, free := guard.Memory(t, n*size)
	t.Cleanup(free)
	all := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem))), len(mem)/size)
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
