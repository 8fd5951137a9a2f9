//go:build !unix || race

package gemm_test

import "testing"

// guardPages is false: the race detector checks accesses to the Go heap only, so
// under it, and where there are no guard pages, operands are plain slices.
const guardPages = false

func fenced[T any](_ testing.TB, n int, _ bool) (s []T, free func()) {
	return make([]T, n), func() {}
}
