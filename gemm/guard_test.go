package gemm_test

import (
	"testing"
	"unsafe"

	"example.com/leafhopper/internal/guard"
)

// guardPages says that an access outside of what fenced returns is a fault. The race
// detector checks accesses to the Go heap only, so under it operands are plain slices.
const guardPages = guard.Faults && !raceEnabled

// fenced returns n elements between two pages that fault on any access. They
// start right after the first one or, if atEnd, end right before the second. free
// unmaps them.
func fenced[T any](t testing.TB, n int, atEnd bool) (s []T, free func()) {
	t.Helper()
	if !guardPages {
		return make([]T, n), func() {}
	}
	var zero T
	bytes := n * int(unsafe.Sizeof(zero))
	mem, free := guard.Memory(t, bytes)
	if atEnd {
		mem = mem[len(mem)-bytes:]
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem))), n), free
}
