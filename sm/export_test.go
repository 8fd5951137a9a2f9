package sm

// TellsGoroutines says whether an operation knows on whose goroutine it is, in free mode.
var TellsGoroutines = frames(new(stack)) != 0

// MostNoted is how many switches are kept.
const MostNoted = mostNoted

// FewEvents sets how many events are numbered anew, and returns how many they were.
func FewEvents(n int) (before int) {
	before, fewEvents = fewEvents, n
	return before
}

// Seen returns for how many waits that have seen a phase end the barrier has room.
func (b *Barrier) Seen() int { return cap(b.m.seen) }
