package tile_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"example.com/leafhopper/tile"
)

func slotAligned(b []byte) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%tile.SlotAlign == 0
}

func TestSlots(t *testing.T) {
	for _, size := range []int{0, 1, 63, 64, 65, 4097, 2<<20 - 1, 2 << 20, 2<<20 + 1, 5 << 20} {
		s, err := tile.NewSlots(size)
		if err != nil {
			t.Fatal(err)
		}
		b := s.Bytes()
		if len(b) < size || !slotAligned(b) {
			t.Errorf("size %d: %d bytes at %p", size, len(b), unsafe.SliceData(b))
		}
		for i := range b {
			if b[i] != 0 {
				t.Fatalf("size %d: fresh byte %d is %d", size, i, b[i])
			}
			b[i] = 1
		}
		s.Free()
		if s.Bytes() != nil {
			t.Errorf("size %d: %d bytes after Free", size, len(s.Bytes()))
		}
		s.Free() // does nothing
	}
	for _, size := range []int{-1, math.MinInt / 2} {
		_, err := tile.NewSlots(size)
		if err == nil || !strings.HasPrefix(err.Error(), "tile: slots of -") {
			t.Errorf("%d bytes: error %v", size, err)
		}
	}
	for _, size := range []int{math.MaxInt, math.MaxInt - 4096} {
		_, err := tile.NewSlots(size)
		if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("tile: slots of %d bytes: ", size)) {
			t.Errorf("%d bytes: error %v", size, err)
		}
	}
}

func TestHeapSlots(t *testing.T) {
	for size := range 300 {
		b := tile.HeapSlots(size)
		if len(b) != size || cap(b) != size || !slotAligned(b) {
			t.Errorf("size %d: %d bytes of %d at %p", size, len(b), cap(b), unsafe.SliceData(b))
		}
	}
	for _, size := range []int{-1, -tile.SlotAlign, math.MinInt} {
		func() {
			want := fmt.Sprintf("tile: HeapSlots: %d bytes, want 0 or more", size)
			defer func() {
				if got := recover(); got != want {
					t.Errorf("size %d: panics with %v, want %q", size, got, want)
				}
			}()
			tile.HeapSlots(size)
		}()
	}
}

func TestSlotPool(t *testing.T) {
	var p tile.SlotPool
	get := func(size int) *tile.Slots {
		t.Helper()
		s, err := p.Get(size)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Bytes()) < size || !slotAligned(s.Bytes()) {
			t.Fatalf("size %d: %d bytes", size, len(s.Bytes()))
		}
		return s
	}
	small, large, middle := get(100), get(10000), get(1000)
	for _, s := range []*tile.Slots{small, large, middle} {
		p.Put(s)
	}
	if s := get(500); s != middle {
		t.Errorf("for 500 bytes the pool gave %d, not the %d that fit best", len(s.Bytes()), len(middle.Bytes()))
	}
	if s := get(100); s != small {
		t.Errorf("for 100 bytes the pool gave %d, not the %d that fit best", len(s.Bytes()), len(small.Bytes()))
	}
	if s := get(10000); s != large {
		t.Errorf("for 10000 bytes the pool gave %d, not the %d that it had", len(s.Bytes()), len(large.Bytes()))
	}
	p.Put(small)
	larger := get(20000)
	if small.Bytes() != nil {
		t.Error("slots that were too small were kept when larger ones were made")
	}
	p.Put(larger)
	p.Put(middle)
	if _, err := p.Get(-1); err == nil {
		t.Error("the pool gave -1 bytes")
	}
	p.Free()
	if larger.Bytes() != nil || middle.Bytes() != nil {
		t.Error("Free left memory in the pool")
	}
	if s := get(1000); s == larger || s == middle {
		t.Error("the pool gave freed memory")
	}
	// Memory for an unusually large ring is not kept.
	huge := get(64<<20 + 1)
	p.Put(huge)
	if huge.Bytes() != nil {
		t.Errorf("the pool keeps %d bytes", len(huge.Bytes()))
	}
	// What is in use is not the pool's to free.
	p.Free()
	if large.Bytes() == nil {
		t.Error("Free took memory that was in use")
	}
	large.Free()
}

// TestSlotPoolConcurrent would see slots that two hold at once.
func TestSlotPoolConcurrent(t *testing.T) {
	var p tile.SlotPool
	var wg sync.WaitGroup
	for id := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(id), 0))
			for range 200 {
				size := 1 + r.IntN(3000)
				s, err := p.Get(size)
				if err != nil {
					t.Error(err)
					return
				}
				b := s.Bytes()[:size]
				for i := range b {
					b[i] = byte(id)
				}
				runtime.Gosched()
				for i := range b {
					if b[i] != byte(id) {
						t.Errorf("worker %d finds byte %d of worker %d", id, i, b[i])
						return
					}
				}
				p.Put(s)
			}
		})
	}
	wg.Wait()
	p.Free()
}

func TestSlotPoolDoesNotAllocate(t *testing.T) {
	var p tile.SlotPool
	n := testing.AllocsPerRun(20, func() {
		s, err := p.Get(5000)
		if err != nil {
			t.Fatal(err)
		}
		p.Put(s)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
	p.Free()
}
