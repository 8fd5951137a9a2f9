//go:build unix

package cores

import (
	"time"

	"golang.org/x/sys/unix"
)

// Time returns the processor time that the process has had, or 0 if that is unknown.
func Time() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
