package barrier

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// waits is every way to block on phase 0, by token or parity.
var waits = map[string]func(b *Barrier, t Token) bool{
	"Wait":          func(b *Barrier, t Token) bool { b.Wait(t); return true },
	"WaitParity":    func(b *Barrier, t Token) bool { b.WaitParity(0); return true },
	"TryWait":       func(b *Barrier, t Token) bool { return b.TryWait(t, time.Minute) },
	"TryWaitParity": func(b *Barrier, t Token) bool { return b.TryWaitParity(0, time.Minute) },
}

// TestParkedWake parks waiters of every kind and completes the phase each way
// it can complete.
func TestParkedWake(t *testing.T) {
	setSpin(t, 0)
	for how, complete := range map[string]func(b *Barrier){
		"Arrive":     func(b *Barrier) { b.Arrive() },
		"ArriveDrop": func(b *Barrier) { b.ArriveDrop() },
		"CompleteTx": func(b *Barrier) { b.ArriveExpectTx(8); b.CompleteTx(8) },
		"ExpectTx":   func(b *Barrier) { b.CompleteTx(8); b.Arrive(); b.ExpectTx(8) },
	} {
		t.Run(how, func(t *testing.T) {
			const each = 3
			b := mustNew(t, 2)
			tok := b.Arrive()
			var wg sync.WaitGroup
			for name, wait := range waits {
				for range each {
					wg.Go(func() {
						if !wait(b, tok) {
							t.Errorf("%s returned false", name)
						}
					})
				}
			}
			waitParked(t, b, each*len(waits))
			complete(b)
			within(t, "the waiters", wg.Wait)
			if n := b.State().Parked; n != 0 {
				t.Errorf("%d still parked", n)
			}
		})
	}
}

// TestSpinningWake is the same with waiters that have not parked yet, on one
// processor and on all.
func TestSpinningWake(t *testing.T) {
	for _, procs := range []int{1, runtime.NumCPU()} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		countProcs()
		for range 200 {
			b := mustNew(t, 2)
			tok := b.Arrive()
			var wg sync.WaitGroup
			for name, wait := range waits {
				wg.Go(func() {
					if !wait(b, tok) {
						t.Errorf("%s returned false", name)
					}
				})
			}
			runtime.Gosched()
			b.Arrive()
			within(t, "the waiters", wg.Wait)
		}
	}
	countProcs()
}

// TestOvertaken lets the barrier run on while a blocked waiter does not look: its
// phase did complete while it waited, so it must return, whatever the phase
// number and the parity are by then.
func TestOvertaken(t *testing.T) {
	for _, at := range []struct {
		name  string
		spin  time.Duration
		stage int // at which the waiter is held, or -1
	}{
		{"queued", 0, stageQueued},
		{"before the sleep", 0, stageSleeping},
		{"asleep", 0, -1},
		{"spinning", time.Minute, -1},
	} {
		t.Run(at.name, func(t *testing.T) {
			setSpin(t, at.spin)
			for name, wait := range waits {
				for _, phases := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 24, 64, 100 * phaseMod} {
					b := mustNew(t, 2)
					tok := b.Arrive()
					hold := make(chan struct{})
					setHook(t, func(stage int) {
						if stage == at.stage {
							<-hold
						}
					})
					done := make(chan bool)
					go func() { done <- wait(b, tok) }()
					waitParked(t, b, 1)
					b.Arrive()
					for range phases - 1 {
						observing(b)
						b.ArriveN(2)
					}
					close(hold)
					within(t, name, func() {
						if !<-done {
							t.Errorf("%s returned false after %d phases", name, phases)
						}
					})
					if n := b.State().Parked; n != 0 {
						t.Errorf("%s: %d parked after %d phases", name, n, phases)
					}
				}
			}
		})
	}
}

// TestPassedBeforeDeath invalidates the barrier while a waiter whose phase is
// over does not look; once it is off the list, it must return.
func TestPassedBeforeDeath(t *testing.T) {
	setSpin(t, 0)
	for _, at := range []int{stageQueued, stageSleeping} {
		for _, again := range []bool{false, true} {
			for name, wait := range waits {
				b := mustNew(t, 2)
				tok := b.Arrive()
				hold := make(chan struct{})
				setHook(t, func(stage int) {
					if stage == at {
						<-hold
					}
				})
				done := make(chan error)
				go func() {
					m, err := caught(func() { wait(b, tok) })
					if m != nil {
						t.Errorf("%s: %v", name, m)
					}
					done <- err
				}()
				waitParked(t, b, 1)
				b.Arrive()
				b.Invalidate()
				if again {
					if err := b.Init(2); err != nil {
						t.Fatal(err)
					}
				}
				close(hold)
				within(t, name, func() { <-done })
			}
		}
	}
}

// TestSpuriousWake has late completers of earlier phases find a waiter of this
// one; it must stay asleep.
func TestSpuriousWake(t *testing.T) {
	setSpin(t, 0)
	for name, wait := range waits {
		b := mustNew(t, 2)
		tok := b.Arrive()
		done := make(chan bool)
		go func() { done <- wait(b, tok) }()
		for range 10 {
			waitParked(t, b, 1)
			b.wake(0)
			select {
			case <-done:
				t.Fatalf("%s returned before its phase completed", name)
			case <-time.After(time.Millisecond):
			}
		}
		b.Arrive()
		within(t, name, func() { <-done })
	}
}

func TestTimeout(t *testing.T) {
	for _, spin := range []time.Duration{0, spinFor} {
		setSpin(t, spin)
		b := mustNew(t, 2)
		tok := b.Arrive()
		for name, try := range map[string]func(d time.Duration) bool{
			"TryWait":       func(d time.Duration) bool { return b.TryWait(tok, d) },
			"TryWaitParity": func(d time.Duration) bool { return b.TryWaitParity(0, d) },
		} {
			for _, limit := range []time.Duration{-1 << 63, -1, 0, 1, 20 * time.Microsecond, time.Millisecond,
				20 * time.Millisecond} {
				start := time.Now()
				if try(limit) {
					t.Fatalf("%s(%v) passed", name, limit)
				}
				took := time.Since(start)
				if took < limit || took > max(limit, 0)+5*time.Second {
					t.Errorf("%s(%v) took %v", name, limit, took)
				}
			}
		}
		if n := b.State().Parked; n != 0 {
			t.Errorf("%d parked after every wait timed out", n)
		}
	}
}

// TestTimeoutSingle waits on a processor that others keep busy, where the
// time goes by in the yields.
func TestTimeoutSingle(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second of scheduling slices")
	}
	defer countProcs()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	countProcs()
	var stop atomic.Bool
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop.Store(true)
	for range 2 {
		wg.Go(func() {
			for !stop.Load() {
			}
		})
	}
	b := mustNew(t, 2)
	tok := b.Arrive()
	for name, try := range map[string]func() bool{
		"TryWait":       func() bool { return b.TryWait(tok, time.Millisecond) },
		"TryWaitParity": func() bool { return b.TryWaitParity(0, time.Millisecond) },
	} {
		// A few slices are unavoidable, so those are the clock; what else the
		// machine does may spoil some of the attempts.
		var took, half time.Duration
		for range 5 {
			start := time.Now()
			if try() {
				t.Fatalf("%s passed", name)
			}
			took = time.Since(start)
			start = time.Now()
			for range singleYields / 2 {
				runtime.Gosched()
			}
			if half = time.Since(start); took < half {
				break
			}
		}
		t.Logf("%s(1ms) took %v, %d yields %v", name, took, singleYields/2, half)
		if took >= half {
			t.Errorf("%s(1ms) took %v, as long as %d yields (%v)", name, took, singleYields/2, half)
		}
	}
}

// TestTimeoutRace aims timeouts at the moment of the wake-up, where a waiter
// must neither miss its phase nor leave a wake-up behind for the next user of
// its list entry, and counts the goroutines left at the end.
func TestTimeoutRace(t *testing.T) {
	setSpin(t, 0)
	before := runtime.NumGoroutine()
	const workers = 4
	phases := uint32(3000)
	if testing.Short() || raceEnabled {
		phases = 500
	}
	b := mustNew(t, workers)
	var timedOut, passed atomic.Int64
	var wg sync.WaitGroup
	for g := range workers {
		wg.Go(func() {
			for phase := range phases {
				tok := b.Arrive()
				for d := time.Duration(1); !b.TryWait(tok, d*time.Microsecond); d = (d*3 + time.Duration(g)) % 50 {
					timedOut.Add(1)
				}
				passed.Add(1)
				if b.TestWaitParity(phase) != true {
					t.Errorf("phase %d: TryWait passed early", phase)
				}
			}
		})
	}
	within(t, "the workers", wg.Wait)
	if passed.Load() != int64(workers*phases) || timedOut.Load() == 0 {
		t.Errorf("%d waits passed, %d timed out", passed.Load(), timedOut.Load())
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// TestInvalidateWhileWaiting gives up a barrier under parked and spinning
// waiters, once leaving it dead and once starting another life at once.
func TestInvalidateWhileWaiting(t *testing.T) {
	for _, spin := range []time.Duration{0, spinFor} {
		setSpin(t, spin)
		for _, again := range []bool{false, true} {
			for name, wait := range waits {
				b := mustNew(t, 2)
				tok := b.Arrive()
				got := make(chan *Misuse)
				for range 3 {
					go func() {
						m, err := caught(func() { wait(b, tok) })
						if err != nil {
							t.Errorf("%s: %v", name, err)
						}
						got <- m
					}()
				}
				// Spinning waiters park eventually, too.
				waitParked(t, b, 3)
				b.Invalidate()
				if again {
					if err := b.Init(2); err != nil {
						t.Fatal(err)
					}
				}
				within(t, name, func() {
					for range 3 {
						if m := <-got; m != nil {
							wantMisuse(t, m, name, RuleInvalidated, "initialization")
						}
					}
				})
			}
		}
	}
}

// TestInvalidateWhileSpinning does not wait for the waiters to park.
func TestInvalidateWhileSpinning(t *testing.T) {
	setSpin(t, time.Minute)
	b := mustNew(t, 1)
	got := make(chan *Misuse)
	go func() {
		m, _ := caught(func() { b.WaitParity(0) })
		got <- m
	}()
	time.Sleep(2 * time.Millisecond)
	b.Invalidate()
	within(t, "the spinner", func() {
		if m := <-got; m == nil {
			t.Error("no panic")
		} else {
			wantMisuse(t, m, "WaitParity", RuleInvalidated)
		}
	})
}

// TestDropWhileWaiting completes the last phase of all under a parked waiter.
func TestDropWhileWaiting(t *testing.T) {
	setSpin(t, 0)
	b := mustNew(t, 1)
	got := make(chan *Misuse)
	go func() {
		m, _ := caught(func() { b.WaitParity(0) })
		got <- m
	}()
	waitParked(t, b, 1)
	b.ArriveDrop()
	within(t, "the waiter", func() {
		if m := <-got; m == nil {
			t.Error("no panic")
		} else {
			wantMisuse(t, m, "WaitParity", RuleDropped)
		}
	})
}
