//go:build amd64 && !purego

package spin

// procyield executes PAUSE n times; n must be positive.
//
//go:noescape
func procyield(n int)

// Ticks returns the time-stamp counter, which counts at a constant rate of 1.8 to 5 a
// nanosecond and takes a few nanoseconds to read.
func Ticks() uint64
