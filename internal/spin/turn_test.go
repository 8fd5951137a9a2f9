package spin

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// soonest returns the shortest time after which a goroutine that is ready to run does so
// beside one that works, on one P. The scheduler itself takes 10 ms.
func soonest(work func()) time.Duration {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	best := time.Hour
	for range 20 {
		var ran atomic.Bool
		start := time.Now()
		go ran.Store(true)
		for !ran.Load() && time.Since(start) < 5*time.Second {
			work()
		}
		best = min(best, time.Since(start))
	}
	return best
}

func TestTurn(t *testing.T) {
	var turn Turn
	turn.Begin()
	for name, work := range map[string]func(){
		"Look":   turn.Look,
		"Did":    func() { turn.Did(lookFlops / 2) },
		"Glance": func() { Glance(turnTicks / 1000) },
		"turns":  func() { var t Turn; t.Begin(); Pause(8); t.Look() },
	} {
		if d := soonest(work); d > 5*time.Millisecond {
			t.Errorf("%s: another goroutine waits %v at least", name, d)
		}
	}
}

func TestTurnAllocates(t *testing.T) {
	var turn Turn
	if n := testing.AllocsPerRun(100, func() { turn.last = 0; turn.Look() }); n != 0 {
		t.Errorf("Look allocates %v times", n)
	}
}

// TestIdle counts the Ps that have something to run.
func TestIdle(t *testing.T) {
	const procs = 4
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	var stop atomic.Bool
	defer stop.Store(true)
	wait := func(busy, want int) {
		t.Helper()
		deadline := time.Now().Add(10 * time.Second)
		for Idle() != want {
			if time.Now().After(deadline) {
				t.Fatalf("%d of %d busy: %d idle, want %d", busy, procs, Idle(), want)
			}
			Pause(100)
		}
	}
	for busy := 1; busy <= procs; busy++ {
		wait(busy, procs-busy)
		go func() {
			for !stop.Load() {
				Pause(100)
			}
		}()
	}
}

// TestTicks wants a rate of which turns are as long as they are meant to be.
func TestTicks(t *testing.T) {
	start, ticks := time.Now(), Ticks()
	for time.Since(start) < 20*time.Millisecond {
		Pause(100)
	}
	ticks = Ticks() - ticks
	if rate := float64(ticks) / float64(time.Since(start).Nanoseconds()); rate < 1 || rate > 8 {
		t.Errorf("%.3g ticks a nanosecond", rate)
	}
}

func BenchmarkLook(b *testing.B) {
	var t Turn
	for b.Loop() {
		t.Look()
	}
}

func BenchmarkGiveWay(b *testing.B) {
	for b.Loop() {
		giveWay()
	}
}
