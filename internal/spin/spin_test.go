package spin

import (
	"math"
	"testing"
	"time"
)

// TestPauseReturns covers the counts around a chunk and the ones that must do
// nothing: a loop that counted a zero or a negative n down would run for
// centuries.
func TestPauseReturns(t *testing.T) {
	for _, n := range []int{math.MinInt, -1, 0, 1, 2, chunk - 1, chunk, chunk + 1, 3*chunk + 7} {
		done := make(chan struct{})
		go func() { Pause(n); close(done) }()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatalf("Pause(%d) did not return", n)
		}
	}
}

// TestPauseGrows catches a Pause that does not loop: a hundred chunks must
// cost clearly more than one pause.
func TestPauseGrows(t *testing.T) {
	best := func(n int) time.Duration {
		d := time.Hour
		for range 5 {
			start := time.Now()
			Pause(n)
			d = min(d, time.Since(start))
		}
		return d
	}
	one, many := best(1), best(100*chunk)
	if many < 10*one || many < 10*time.Microsecond {
		t.Errorf("Pause(1) took %v, Pause(%d) %v", one, 100*chunk, many)
	}
}

func TestPauseAllocates(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { Pause(4) }); n != 0 {
		t.Errorf("Pause allocates %v times", n)
	}
}

func BenchmarkPause(b *testing.B) {
	for b.Loop() {
		Pause(1)
	}
}
