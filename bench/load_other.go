//go:build !linux

package bench

import "time"

// There is no portable way to the time of a thread.
func threadTime() time.Duration { return 0 }

func readProcessorTime() processorTime { return processorTime{} }
