//go:build linux && !race

package tile_test

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"example.com/leafhopper/tile"
)

// vmFlags returns the flags of the mapping that holds address, and whether
// there is one.
func vmFlags(t *testing.T, address uintptr) (flags string, mapped bool) {
	t.Helper()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	inside := false
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var from, to uintptr
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x ", &from, &to); n == 2 {
			inside = from <= address && address < to
			mapped = mapped || inside
		} else if rest, ok := strings.CutPrefix(lines.Text(), "VmFlags:"); ok && inside {
			flags = rest
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return flags, mapped
}

func TestSlotsHugePages(t *testing.T) {
	const huge = 2 << 20
	for _, size := range []int{huge, huge + 1, 5 * huge} {
		s, err := tile.NewSlots(size)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(s.Bytes()); n%huge != 0 || n < size || n >= size+huge {
			t.Errorf("size %d: %d bytes are not whole huge pages", size, n)
		}
		flags, mapped := vmFlags(t, uintptr(unsafe.Pointer(unsafe.SliceData(s.Bytes()))))
		_, err = os.Stat("/sys/kernel/mm/transparent_hugepage")
		switch {
		case !mapped:
			t.Errorf("size %d: not mapped", size)
		case flags == "" || err != nil:
			t.Logf("this kernel does not tell: flags %q, %v", flags, err)
		case !strings.Contains(flags+" ", " hg "):
			t.Errorf("size %d: no advice to use huge pages, flags %s", size, flags)
		}
		s.Free()
	}
}

// TestSlotsCollected forgets slots without freeing them.
func TestSlotsCollected(t *testing.T) {
	s, err := tile.NewSlots(64 << 20)
	if err != nil {
		t.Fatal(err)
	}
	address := uintptr(unsafe.Pointer(unsafe.SliceData(s.Bytes()))) + 32<<20
	if _, mapped := vmFlags(t, address); !mapped {
		t.Fatal("the slots are not mapped")
	}
	runtime.KeepAlive(s)
	s = nil
	for deadline := time.Now().Add(10 * time.Second); ; {
		runtime.GC()
		if _, mapped := vmFlags(t, address); !mapped {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("slots that nobody refers to are still mapped")
		}
		time.Sleep(time.Millisecond)
	}
}

// TestSlotsFreedOnce collects freed slots when others lie in their place.
func TestSlotsFreedOnce(t *testing.T) {
	const size = 8 << 20
	place := func(s *tile.Slots) uintptr {
		return uintptr(unsafe.Pointer(unsafe.SliceData(s.Bytes())))
	}
	for range 10 {
		first, err := tile.NewSlots(size)
		if err != nil {
			t.Fatal(err)
		}
		was := place(first)
		first.Free()
		second, err := tile.NewSlots(size)
		if err != nil {
			t.Fatal(err)
		}
		runtime.KeepAlive(first)
		first = nil
		if place(second) != was {
			second.Free()
			continue
		}
		for range 3 {
			runtime.GC()
			time.Sleep(5 * time.Millisecond)
		}
		if _, mapped := vmFlags(t, was); !mapped {
			t.Fatal("freed slots took others with them when they were collected")
		}
		second.Free()
		return
	}
	t.Skip("the system never used the same place again")
}
