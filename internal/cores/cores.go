// Package cores says how many processors this process may keep busy, and why, and what
// time it has had of them.
//
// GOMAXPROCS is not the answer. Go sets it from the quota of a cgroup, but rounds up and
// never below 2, which suits goroutines that mostly wait: threads that compute all the
// time use the quota up before its period ends, and then all of them stand still, the
// one that the others wait for as well.
package cores

import (
	"fmt"
	"runtime"
	"sync/atomic"
)

// A Limit is what bounds the processors that can be kept busy.
type Limit struct {
	GOMAXPROCS int
	CPUs       int     // that the process may run on, as it was when it started
	Quota      float64 // of the cgroup, in processors; 0 is none
}

// Find reads what bounds this process.
func Find() Limit {
	return Limit{GOMAXPROCS: runtime.GOMAXPROCS(0), CPUs: runtime.NumCPU(), Quota: quota("/")}
}

// Count returns the whole processors, at least 1.
func (l Limit) Count() int {
	n := min(l.GOMAXPROCS, l.CPUs)
	if l.Quota > 0 && l.Quota < float64(n) {
		n = int(l.Quota)
	}
	return max(1, n)
}

// By says which bound decides the count: the first that is the least.
func (l Limit) By() string {
	switch n := l.Count(); {
	case l.CPUs == n:
		return "the processors that the process may run on"
	case l.GOMAXPROCS == n:
		return "GOMAXPROCS"
	default:
		return fmt.Sprintf("the cgroup's CPU quota of %.4g", l.Quota)
	}
}

// found is what was found last: GOMAXPROCS then, and the count.
var found atomic.Uint64

// Count returns how many processors this process may keep busy. It reads the quota once, and
// again when GOMAXPROCS has changed, as Go changes it with the quota.
func Count() int {
	procs := runtime.GOMAXPROCS(0)
	if f := found.Load(); f>>32 == uint64(procs) {
		return int(f & (1<<32 - 1))
	}
	l := Find()
	found.Store(uint64(l.GOMAXPROCS)<<32 | uint64(l.Count()))
	return l.Count()
}
