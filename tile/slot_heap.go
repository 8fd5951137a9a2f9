//go:build !linux || race

package tile

import "fmt"

// Under the race detector slots lie in the Go heap, the only memory whose
// accesses it checks: a wait that is missing shows as a race if the copier is Go
// code, as all are with the tag purego.

func mapSlots(size int) (mem []byte, err error) {
	defer func() {
		if v := recover(); v != nil { // make's, for a size that no address space has
			err = fmt.Errorf("%v", v)
		}
	}()
	return HeapSlots(size), nil
}

func unmapSlots([]byte) {}
