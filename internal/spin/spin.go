// Package spin is for goroutines that keep a processor busy: the hint for busy waiting,
// a clock that takes nanoseconds to read, and when to give way to others ([Turn]).
//
// A loop that polls a word another core is about to write should execute
// [Pause] between two loads: it leaves the pipeline to a sibling hyperthread,
// saves power, and avoids the memory-order machine clear that a core pays
// when a tight loop of speculative loads sees the line change.
package spin

// chunk bounds one assembly call, which the scheduler cannot preempt: a
// PAUSE takes 10 to 140 cycles depending on the processor, so a chunk ends
// within about 40 µs.
const chunk = 1000

// Pause executes n PAUSE instructions, about 20 to 45 ns each on current
// x86-64 processors; elsewhere it spends about 1 ns on each. It does nothing
// when n < 1. It never yields the processor to another goroutine.
func Pause(n int) {
	for n > chunk {
		procyield(chunk)
		n -= chunk
	}
	if n > 0 {
		procyield(n)
	}
}
