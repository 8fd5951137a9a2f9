package tile

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"
)

// SlotAlign is the alignment of slot memory in bytes: a cache line, and the
// width of a vector load that should not straddle two.
const SlotAlign = 64

// Slots is memory for the stages of a ring: aligned to [SlotAlign], backed by
// huge pages where the system grants them, and outside the garbage collector's
// heap. It is not cleared between uses.
type Slots struct {
	mem   []byte
	clean runtime.Cleanup
}

// Bytes returns the memory. It is good for as long as s is reachable and not
// freed.
func (s *Slots) Bytes() []byte { return s.mem }

// NewSlots returns slot memory of at least size bytes. Free returns it to the
// system; memory that is never freed goes when its Slots is collected.
func NewSlots(size int) (*Slots, error) {
	if size < 0 {
		return nil, fmt.Errorf("tile: slots of %d bytes", size)
	}
	mem, err := mapSlots(size)
	if err != nil {
		return nil, fmt.Errorf("tile: slots of %d bytes: %w", size, err)
	}
	s := &Slots{mem: mem}
	s.clean = runtime.AddCleanup(s, unmapSlots, mem)
	return s, nil
}

// Free returns the memory to the system. Nothing may use it afterwards.
func (s *Slots) Free() {
	if s.mem != nil {
		s.clean.Stop()
		unmapSlots(s.mem)
		s.mem = nil
	}
}

// HeapSlots returns slot memory of exactly size bytes, 0 or more, from the Go
// heap. It panics if size is negative or, as make does, if it is too large for the
// address space.
func HeapSlots(size int) []byte {
	if size < 0 {
		panic(fmt.Sprintf("tile: HeapSlots: %d bytes, want 0 or more", size))
	}
	b := make([]byte, size+SlotAlign)
	off := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (SlotAlign - 1)
	return b[off : off+size : off+size]
}

// SlotPool keeps released slot memory for the next ring. Its zero value is
// empty and ready; it may be used by several goroutines.
type SlotPool struct {
	mu   sync.Mutex
	free []*Slots
}

// Get returns slot memory of at least size bytes.
func (p *SlotPool) Get(size int) (*Slots, error) {
	if size < 0 {
		return NewSlots(size) // which refuses
	}
	p.mu.Lock()
	best := -1
	for i, s := range p.free {
		if len(s.mem) >= size && (best < 0 || len(s.mem) < len(p.free[best].mem)) {
			best = i
		}
	}
	var s *Slots
	if last := len(p.free) - 1; last >= 0 {
		if best < 0 {
			// None is large enough: replace one rather than keep both.
			best = last
		}
		s = p.free[best]
		p.free[best], p.free[last] = p.free[last], nil
		p.free = p.free[:last]
	}
	p.mu.Unlock()
	if s != nil && len(s.mem) >= size {
		return s, nil
	}
	if s != nil {
		s.Free()
	}
	return NewSlots(size)
}

// maxPooled is the size above which memory is not kept: one unusual ring should
// not hold what a program's usual ones never need.
const maxPooled = 64 << 20

// Put hands slot memory back. Nothing may use it any more.
func (p *SlotPool) Put(s *Slots) {
	if len(s.mem) > maxPooled {
		s.Free()
		return
	}
	p.mu.Lock()
	p.free = append(p.free, s)
	p.mu.Unlock()
}

// Free returns all pooled memory to the system.
func (p *SlotPool) Free() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, s := range p.free {
		s.Free()
		p.free[i] = nil
	}
	p.free = p.free[:0]
}
