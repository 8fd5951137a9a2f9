//go:build !unix

package guard

import "testing"

// Faults says that pages do not fault on this system: the bytes beside are there, to be checked.
const Faults = false

// PageSize is the bytes of a page.
const PageSize = 4 << 10

func pages(_ testing.TB, n int) (mem []byte, free func()) { return make([]byte, n), func() {} }

func forbid(testing.TB, []byte) {}
