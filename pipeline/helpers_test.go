package pipeline

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"example.com/leafhopper/internal/race"
)

// raceEnabled skips the tests that count allocations.
const raceEnabled = race.Enabled

// noLeaks fails the test if goroutines started in it are still there some
// seconds after its end.
func noLeaks(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; {
			if time.Now().After(deadline) {
				t.Errorf("%d goroutines, %d before the test\n%s", runtime.NumGoroutine(), before, stacks())
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// within ends the test if f, which runs in a goroutine, hangs.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	timeout := time.NewTimer(60 * time.Second)
	defer timeout.Stop()
	select {
	case <-done:
	case <-timeout.C:
		t.Fatalf("%s hangs\n%s", what, stacks())
	}
}

func stacks() []byte {
	buf := make([]byte, 1<<18)
	return buf[:runtime.Stack(buf, true)]
}

// random returns a generator whose seed is logged if the test fails.
func random(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// thrown returns what f panicked with, nil if it returned.
func thrown(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}
