package bench

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the processor time that the calling thread has had, or 0 if that is
// unknown; processTime that of the process.
func threadTime() time.Duration  { return usage(unix.RUSAGE_THREAD) }
func processTime() time.Duration { return usage(unix.RUSAGE_SELF) }

func usage(who int) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(who, &u); err != nil {
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
