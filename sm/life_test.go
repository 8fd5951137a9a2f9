package sm_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"example.com/leafhopper/sm"
)

// settled checks that no goroutine has been left behind: n is how many there were.
func settled(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, there were %d\n%s", runtime.NumGoroutine(), n, buf[:runtime.Stack(buf, true)])
		}
	}
}

// endless is a kernel whose agents wait in many ways and never end. running counts the agents of
// a CTA, whose kernel function is to outlive them.
func endless(began chan<- struct{}, bad *atomic.Int64) sm.Kernel {
	return func(b *sm.Block) {
		slots, bar, never := sm.Shared[int32](b, 64, 16), b.Barrier(), b.Barrier()
		var running atomic.Int64
		defer func() { bad.Add(running.Load()) }()
		b.Threads(func(t *sm.Thread) {
			running.Add(1)
			defer running.Add(-1)
			if t.Rank()%32 == 5 {
				defer time.Sleep(time.Millisecond)
			}
			defer t.SyncThreads() // finds that the launch has stopped
			if t.Rank() == 0 {
				bar.Init(t, 64)
				never.Init(t, 1)
			}
			t.ClusterSync()
			for i := 0; ; i++ {
				slots.Store(t, t.Rank(), int32(i))
				switch token := bar.Arrive(t); t.Rank() % 4 {
				case 0:
					bar.Wait(t, token)
				case 1:
					for !bar.TryWait(t, token) {
					}
				case 2:
					for !bar.TryWaitFor(t, token, time.Microsecond) {
					}
				case 3:
					never.TestWaitParity(t, 0)
					bar.Wait(t, token)
				}
				t.ClusterSync()
				select {
				case began <- struct{}{}:
				default:
				}
			}
		})
	}
}

// TestCancel cancels at random moments: every agent ends, before its kernel function does, and
// Launch returns why.
func TestCancel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	before := runtime.NumGoroutine()
	why := errors.New("why")
	for i := range 24 {
		cfg := in(modes[i%len(modes)], sm.Config{
			Grid: sm.Dim3{X: 4}, Cluster: sm.Dim3{X: 1 << (i % 3)}, Block: sm.Dim3{X: 64}, Seed: uint64(i),
		})
		ctx, cancel := context.WithCancelCause(t.Context())
		began, bad := make(chan struct{}, 1), new(atomic.Int64)
		delay := time.Duration(r.IntN(3000)) * time.Microsecond
		go func() {
			<-began
			time.Sleep(delay)
			cancel(why)
		}()
		if err := sm.Launch(ctx, cfg, endless(began, bad)); !errors.Is(err, why) {
			t.Errorf("%s: %v, want the cause", mode(cfg), err)
		}
		if n := bad.Load(); n != 0 {
			t.Errorf("%s: %d agents were running when their kernel function ended", mode(cfg), n)
		}
	}
	settled(t, before)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := sm.Launch(ctx, sm.Config{}, func(*sm.Block) { t.Error("a kernel ran") }); !errors.Is(err, why) {
		t.Errorf("a launch that begins too late returns %v", err)
	}
}

// TestPanics ends agents in all ways: each is a fault, and the others, which wait for ever, end.
func TestPanics(t *testing.T) {
	before := runtime.NumGoroutine()
	boom := errors.New("boom")
	var array [4]int
	for name, c := range map[string]struct {
		f    func(a *sm.Array[int32])
		want string
	}{
		"panic":             {func(*sm.Array[int32]) { panic(boom) }, "boom"},
		"index":             {func(a *sm.Array[int32]) { array[a.Len()]++ }, "index out of range [4]"},
		"view":              {func(a *sm.Array[int32]) { a.Slice(0, a.Len()+1) }, "slice bounds out of range"},
		"no such rank":      {func(a *sm.Array[int32]) { a.MapShared(1) }, "MapShared(1) in a cluster of 1 CTAs"},
		"nil agent":         {func(*sm.Array[int32]) { (*sm.Warp)(nil).SyncThreads() }, "nil pointer"},
		"panic over panic":  {func(*sm.Array[int32]) { defer func() { panic(boom) }(); panic("first") }, "boom"},
		"nil panic":         {func(*sm.Array[int32]) { panic(nil) }, "nil"},
		"Goexit":            {func(*sm.Array[int32]) { runtime.Goexit() }, "Goexit"},
		"Goexit in defer":   {func(*sm.Array[int32]) { defer runtime.Goexit() }, "Goexit"},
		"Goexit over panic": {func(*sm.Array[int32]) { defer runtime.Goexit(); panic("first") }, "Goexit"},
	} {
		for _, m := range modes[:2] {
			for _, who := range []string{"thread 3", "warpgroup 1", "the kernel function"} {
				err := launch(t, in(m, sm.Config{Block: sm.Dim3{X: 256}}), func(b *sm.Block) {
					a := sm.Shared[int32](b, 4, 4)
					if who == "the kernel function" {
						c.f(a)
					}
					b.Start(
						sm.Threads(0, 32, func(t *sm.Thread) {
							if t.String() == who {
								c.f(a)
							}
							t.BarSync(3, 1024)
						}),
						sm.Warpgroups(1, 2, func(w *sm.Warpgroup) {
							if w.String() == who {
								c.f(a)
							}
							w.BarSync(3, 1024)
						}))
				})
				f := fault(t, err)
				if f.Rule != sm.RulePanic || f.Agent != who {
					t.Errorf("%s of %s, %s: %v of %s", name, who, mode(m), f.Rule, f.Agent)
				}
				contains(t, f, "life_test.go:", c.want)
				if c.want == "boom" && !errors.Is(f, boom) {
					t.Errorf("%s: %v does not wrap the error", name, f)
				}
			}
		}
	}
	settled(t, before)
}

// TestDeferred checks that deferred functions run when another agent ends the launch, and that
// what they panic with does not hide why.
func TestDeferred(t *testing.T) {
	for _, m := range modes[:2] {
		var ran atomic.Int64
		err := launch(t, in(m, sm.Config{Block: sm.Dim3{X: 64}}), func(b *sm.Block) {
			b.Threads(func(t *sm.Thread) {
				defer func() {
					ran.Add(1)
					panic("second")
				}()
				t.SyncThreads()
				assert(t.Rank() != 7, "first")
				t.SyncThreads()
			})
		})
		f := fault(t, err)
		if n := ran.Load(); n != 64 || f.Rule != sm.RulePanic {
			t.Errorf("%s: %d deferred functions ran, of 64: %v", mode(m), n, f)
		}
	}
}

// TestPanicSite checks that a panic is where it is, not where the agent's last operation was.
func TestPanicSite(t *testing.T) {
	for _, m := range modes[:2] {
		var want string
		f := fault(t, launch(t, in(m, sm.Config{}), func(b *sm.Block) {
			a := sm.Shared[int32](b, 4, 4)
			b.Threads(func(t *sm.Thread) {
				t.SyncThreads()
				_, _, line, _ := runtime.Caller(0)
				want = fmt.Sprintf("life_test.go:%d", line+2)
				a.Slice(2, 5)
			})
		}))
		if f.Site != want || len(f.Stack) == 0 {
			t.Errorf("%s: at %s, want %s", mode(m), f.Site, want)
		}
	}
}
