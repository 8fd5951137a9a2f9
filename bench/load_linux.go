package bench

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the processor time that the calling thread has had, or 0 if that is unknown.
func threadTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func readProcessorTime() processorTime {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return processorTime{}
	}
	return parseProcessorTime(string(stat))
}
