package sm_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/leafhopper/internal/hostile"
	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/sm"
)

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
	settles(t)
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
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := sm.Launch(ctx, sm.Config{}, func(*sm.Block) { t.Error("a kernel ran") }); !errors.Is(err, why) {
		t.Errorf("a launch that begins too late returns %v", err)
	}
}

// TestPanics ends agents in all ways: each is a fault, and the others, which wait for ever, end.
func TestPanics(t *testing.T) {
	settles(t)
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

// TestGoMutex: under Check an agent that waits for a mutex has the turn, and who has the mutex waits for that. All
// end with the context, and the error says who had the turn.
func TestGoMutex(t *testing.T) {
	settles(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	var mu sync.Mutex
	err := sm.Launch(ctx, sm.Config{Grid: sm.Dim3{X: 2}, Block: sm.Dim3{X: 4}, Check: true}, func(b *sm.Block) {
		b.Threads(func(t *sm.Thread) {
			t.ThreadFence(sm.ScopeBlock)
			mu.Lock()
			defer mu.Unlock()
			for range 100 {
				t.ThreadFence(sm.ScopeBlock)
			}
		})
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%v, want the cause", err)
	}
	contains(t, err, "thread ", "has come to no operation since ThreadFence at life_test.go:")
}

// TestOwnGoroutines: what a kernel starts itself may act for its agent, one at a time. Under Check two at once are
// told, and none of them ends the program.
func TestOwnGoroutines(t *testing.T) {
	switch {
	case !sm.TellsGoroutines:
		t.Skip("without assembly goroutines are all alike")
	case race.Enabled:
		t.Skip("the race detector finds it first")
	}
	settles(t)
	for seed := range uint64(200) {
		err := launch(t, sm.Config{Block: sm.Dim3{X: 4}, Check: true, Name: "spawn", Seed: seed}, func(b *sm.Block) {
			x := sm.Shared[int32](b, 64, 16)
			b.Threads(func(t *sm.Thread) {
				var wg sync.WaitGroup
				for i := range 4 {
					wg.Go(func() {
						for j := range 4 {
							x.Store(t, 16*t.Rank()+4*i+j, 1)
						}
					})
				}
				wg.Wait()
				t.SyncThreads()
			})
		})
		if err == nil {
			continue // one came after the other, by chance
		}
		faultOf(t, err, sm.RuleAgent, "spawn", "thread ", "Store: on a second goroutine at once")
	}
}

// TestOwnGoroutineMisuse: what is wrong on a goroutine of the kernel's own is a fault like any other.
func TestOwnGoroutineMisuse(t *testing.T) {
	if !sm.TellsGoroutines {
		t.Skip("without assembly goroutines are all alike")
	}
	settles(t)
	for _, m := range modes {
		err := launch(t, in(m, sm.Config{}), func(b *sm.Block) {
			bar := b.Barrier()
			b.Threads(func(t *sm.Thread) {
				bar.Init(t, 1)
				var wg sync.WaitGroup
				wg.Go(func() { bar.ArriveN(t, 2) })
				wg.Wait()
				t.SyncThreads()
			})
		})
		faultOf(t, err, sm.RuleBarrier, "thread 0", "ArriveN", "arrival underflow")
	}
}

// TestReturnsEarly: a kernel function that does not start its agents itself might not wait for them.
func TestReturnsEarly(t *testing.T) {
	if !sm.TellsGoroutines {
		t.Skip("without assembly nobody knows that a goroutine's panic would end the program")
	}
	settles(t)
	for _, m := range modes {
		for seed := range uint64(8) {
			ended := make(chan bool, 16)
			cfg := in(m, sm.Config{Grid: sm.Dim3{X: 16}, Block: sm.Dim3{X: 4}, Seed: seed})
			err := launch(t, cfg, func(b *sm.Block) {
				started := make(chan bool)
				var once sync.Once
				start := func() { once.Do(func() { close(started) }) }
				go func() {
					defer func() { ended <- true }()
					defer start()
					b.Threads(func(t *sm.Thread) {
						start()
						t.BarSync(1, 32)
					})
				}()
				<-started
			})
			faultOf(t, err, sm.RuleAgent, "Threads: on another goroutine than the kernel function's")
			<-ended
		}
	}
}

// TestReturnsFirst: a kernel function whose agents another CTA's has started does not wait for them.
func TestReturnsFirst(t *testing.T) {
	settles(t)
	block, started := make(chan *sm.Block, 1), make(chan bool)
	cfg := sm.Config{Grid: sm.Dim3{X: 2}, Cluster: sm.Dim3{X: 2}, Block: sm.Dim3{X: 4}}
	err := launch(t, cfg, func(b *sm.Block) {
		if b.ClusterRank() == 0 {
			block <- b
			<-started
			return
		}
		var once sync.Once
		(<-block).Threads(func(t *sm.Thread) {
			for {
				t.ThreadFence(sm.ScopeBlock)
				once.Do(func() { close(started) })
			}
		})
	})
	faultOf(t, err, sm.RuleStart, "CTA (0,0,0), the kernel function: exit: the kernel function has returned, "+
		"and 4 of its agents have not ended")
}

// TestExpectOfAll: to expect bytes with a warpgroup is to expect them 128 times, as its threads all do.
func TestExpectOfAll(t *testing.T) {
	for _, m := range modes {
		err := launch(t, in(m, sm.Config{Block: sm.Dim3{X: 128}}), func(b *sm.Block) {
			x, bar := sm.Shared[int32](b, 4, 16), b.Barrier()
			b.Warpgroups(func(w *sm.Warpgroup) {
				bar.Init(w.Thread(0), 128)
				bar.ExpectTx(w, 1)
				bar.CompleteTx(w, 1)
				sm.LoadBulk(w.Thread(0), x, ramp(4), bar)
				bar.Wait(w, bar.ArriveTx(w, 1, 16))
			})
		})
		contains(t, fault(t, err), "2032 bytes missing (expected 2176: 128 at life_test.go:")
	}
}

// TestLeftBehind: agents that nothing ends do not keep Launch from returning, which says where they are, whatever
// became of the context.
func TestLeftBehind(t *testing.T) {
	if testing.Short() {
		t.Skip("takes five seconds")
	}
	t.Parallel()
	var wg sync.WaitGroup // they do nothing but wait
	defer wg.Wait()
	for want, kind := range map[string]hostile.Kind{
		"canceled":                     {Closes: true, Err: func() error { return context.Canceled }},
		"ended its caller's goroutine": {Closes: true, Err: func() error { runtime.Goexit(); return nil }},
	} {
		for _, m := range modes[:2] {
			wg.Go(func() {
				ctx := kind.New(1)
				free, ended := make(chan bool), make(chan bool, 2)
				err := sm.Launch(ctx, in(m, sm.Config{Block: sm.Dim3{X: 2}}), func(b *sm.Block) {
					b.Threads(func(t *sm.Thread) {
						defer func() { ended <- true }()
						t.SyncThreads()
						ctx.Turn()
						<-free
						t.SyncThreads()
					})
				})
				contains(t, err, want, "are left behind: thread ",
					"has come to no operation since SyncThreads at life_test.go:")
				if strings.Contains(want, "canceled") && !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v does not wrap the cause", mode(m), err)
				}
				close(free)
				<-ended
				<-ended
			})
		}
	}
}
