//go:build !unix

package cores

import "time"

// Time returns the processor time that the process has had, or 0 if that is unknown.
func Time() time.Duration { return 0 }
