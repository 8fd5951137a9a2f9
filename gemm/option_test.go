package gemm

import (
	"runtime"
	"testing"
)

// TestProcessorsOnce has GOMAXPROCS change in the middle of a call, as the runtime does by
// itself when the limits of the process change: what the call has laid out for many
// workers would not fit a single one.
func TestProcessorsOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	var s settings
	if n := s.parallelism(); n != 8 {
		t.Fatalf("%d workers, want 8", n)
	}
	runtime.GOMAXPROCS(1)
	if w, p := s.workerCount(), s.parallelism(); w != 8 || p != 8 {
		t.Errorf("the same call has %d workers, %d at once, want 8", w, p)
	}
	if n := (&settings{}).workerCount(); n != 1 {
		t.Errorf("the next call has %d workers, want 1", n)
	}
}
