package sm

// TellsGoroutines says whether an operation knows on whose goroutine it is, in free mode.
var TellsGoroutines = frames(new(stack)) != 0
