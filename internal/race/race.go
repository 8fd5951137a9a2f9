//go:build race

package race

import (
	"runtime"
	"unsafe"
)

// Enabled reports whether the race detector is on.
const Enabled = true

// Hide keeps from the detector what the goroutine synchronizes until Show.
func Hide() { runtime.RaceDisable() }

// Show ends Hide.
func Show() { runtime.RaceEnable() }

// Read and Write tell the detector that the goroutine reads or writes n bytes at p, where assembly does so unseen.
func Read(p unsafe.Pointer, n int)  { runtime.RaceReadRange(p, n) }
func Write(p unsafe.Pointer, n int) { runtime.RaceWriteRange(p, n) }

// Release orders what the goroutine has done before what others do after an Acquire of p.
func Release(p unsafe.Pointer) { runtime.RaceReleaseMerge(p) }

// Acquire orders what others have done before their Release of p before what the goroutine does.
func Acquire(p unsafe.Pointer) { runtime.RaceAcquire(p) }
