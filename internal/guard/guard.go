// Package guard has memory that ends where an access is a fault, for tests of code that must not
// read or write beside its operands.
package guard

import "testing"

// Memory returns n bytes or more, whole pages, between two pages that fault on any access if
// [Faults]. free gives them back.
func Memory(t testing.TB, n int) (mem []byte, free func()) {
	t.Helper()
	whole := max(1, (n+PageSize-1)/PageSize) * PageSize
	all, free := pages(t, whole+2*PageSize)
	forbid(t, all[:PageSize])
	forbid(t, all[PageSize+whole:])
	return all[PageSize:][:whole], free
}

// Pages returns n pages, each between two that fault, from the first to the last.
func Pages(t testing.TB, n int) (mem []byte, free func()) {
	t.Helper()
	mem, free = Memory(t, (2*n-1)*PageSize)
	for i := PageSize; i < len(mem); i += 2 * PageSize {
		forbid(t, mem[i:][:PageSize])
	}
	return mem, free
}
