//go:build !amd64 || purego

package spin

import "time"

// procyield burns n calls of an empty function; n must be positive.
func procyield(n int) {
	for range n {
		relax()
	}
}

//go:noinline
func relax() {}

var epoch = time.Now()

// Ticks returns the time in halves of a nanosecond, about as fast as a time-stamp
// counter counts.
func Ticks() uint64 { return uint64(time.Since(epoch)) * 2 }
