package sm_test

import (
	"testing"
	"time"

	"example.com/leafhopper/sm"
)

// TestSlowPolls: a loop that sleeps between its tries is a deadlock before it has tried a thousand times.
func TestSlowPolls(t *testing.T) {
	soon(t, "a deadlock of who sleeps", 500*time.Millisecond, func() {
		faultOf(t, launch(t, sm.Config{}, func(b *sm.Block) {
			bar := b.Barrier()
			b.Threads(func(t *sm.Thread) {
				bar.Init(t, 1)
				for !bar.TryWaitParity(t, 0) {
					time.Sleep(10 * time.Millisecond)
				}
			})
		}), sm.RuleDeadlock, "waits for bar phase 0: 1 of 1 arrivals missing")
	})
}

// TestBoundedPolls: to give up is no deadlock, though nothing changes meanwhile. Many tries are if they take long,
// and a machine that is busy may have them do so: then the test tries again.
func TestBoundedPolls(t *testing.T) {
	for _, m := range modes {
		for range 20 {
			err, patient := boundedPolls(t, m)
			if err == nil {
				break
			}
			if patient {
				t.Errorf("%s: %v", mode(m), err)
				break
			}
			t.Logf("%s: the machine is busy: %v", mode(m), err)
		}
	}
}

// boundedPolls launches a kernel whose tries are in vain, and reports whether none has been made after the time for
// which as many may be.
func boundedPolls(t *testing.T, m sm.Config) (err error, patient bool) {
	var began, until time.Time // all tries are in a row
	within := func(d time.Duration) { until = began.Add(d) }
	err = launch(t, in(m, sm.Config{Block: sm.Dim3{X: 32}}), func(b *sm.Block) {
		work, bar := sm.Shared[int32](b, 1, 4), b.Barrier()
		b.Threads(func(t *sm.Thread) {
			if t.Rank() == 0 {
				bar.Init(t, 33)
			}
			t.SyncThreads()
			token := bar.Arrive(t)
			if t.Rank() == 0 {
				began = time.Now()
				within(900 * time.Millisecond)
				for range 900 {
					if bar.TryWait(t, token) {
						panic("a phase is over that lacks an arrival")
					}
				}
				within(500 * time.Millisecond)
				for range 5000 {
					if bar.TestWait(t, token) {
						panic("a phase is over that lacks an arrival")
					}
				}
				within(80 * time.Millisecond)
				for i := range int32(3000) { // work between tries is no waiting
					work.Store(t, 0, i)
					if bar.TryWaitParity(t, 0) {
						panic("a phase is over that lacks an arrival")
					}
				}
				within(500 * time.Millisecond)
				for range 100 {
					if bar.TryWaitFor(t, token, time.Millisecond) {
						panic("a phase is over that lacks an arrival")
					}
				}
				within(time.Hour)
				bar.Arrive(t)
			}
			bar.Wait(t, token)
		})
	})
	return err, m.Check || time.Now().Before(until)
}
