package sm_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/leafhopper/internal/hostile"
	"example.com/leafhopper/sm"
)

// Contexts that break their contract end their own launch, or not, and nothing else.
func TestHostileContext(t *testing.T) {
	for _, k := range hostile.Kinds() {
		for _, check := range []bool{false, true} {
			for _, asked := range []int{0, 1, 3} {
				ctx := k.New(asked)
				timer := time.AfterFunc(time.Millisecond, ctx.Turn)
				got := hostile.Call(func() error {
					return sm.Launch(ctx, sm.Config{Grid: sm.Dim3{X: 20}, Block: sm.Dim3{X: 64},
						Check: check}, func(b *sm.Block) {
						b.Threads(func(t *sm.Thread) { t.SyncThreads() })
					})
				})
				timer.Stop()
				if got.Err == nil && got.Panic == nil && !got.Exit {
					continue // it was over before
				}
				if err := sm.Launch(t.Context(), sm.Config{Check: check}, func(*sm.Block) {}); err != nil {
					t.Fatalf("%s: the launch after it: %v", k.Name, err)
				}
			}
		}
	}
}

// TestDonePanics: a context that has given its channel once, and then panics, ends the launch.
func TestDonePanics(t *testing.T) {
	for _, m := range modes[:2] {
		given := 0
		ctx := hostile.Kind{Err: func() error { return nil }, Done: func() {
			if given++; given > 1 {
				panic(hostile.Panic)
			}
		}}.New(0)
		err := sm.Launch(ctx, in(m, sm.Config{Block: sm.Dim3{X: 2}}), func(b *sm.Block) {
			b.Threads(func(t *sm.Thread) {
				for {
					t.SyncThreads()
				}
			})
		})
		if err == nil || !strings.Contains(err.Error(), "the context panicked: "+hostile.Panic) {
			t.Errorf("%s: %v", mode(m), err)
		}
		var none context.Context
		if err := sm.Launch(none, m, func(*sm.Block) {}); err == nil || err.Error() != "sm: launch: context is nil" {
			t.Errorf("%s: without a context: %v", mode(m), err)
		}
	}
}

// TestLooking: agents that look at shared memory until it changes end with the launch, whatever
// ends that.
func TestLooking(t *testing.T) {
	settles(t)
	for _, m := range modes {
		for name, look := range map[string]func(*sm.Thread, *sm.Array[int32]){
			"Load":  func(t *sm.Thread, a *sm.Array[int32]) { a.Load(t, 0) },
			"Store": func(t *sm.Thread, a *sm.Array[int32]) { a.Store(t, t.Rank(), 1) },
			"Read":  func(t *sm.Thread, a *sm.Array[int32]) { a.Read(t, 0, make([]int32, 4)) },
			"Write": func(t *sm.Thread, a *sm.Array[int32]) { a.Write(t, t.Rank(), []int32{1}) },
		} {
			for _, faulty := range []bool{false, true} {
				ctx, cancel := context.WithCancel(t.Context())
				timer := time.AfterFunc(5*time.Millisecond, cancel)
				err := sm.Launch(ctx, in(m, sm.Config{Block: sm.Dim3{X: 2}}), func(b *sm.Block) {
					a := sm.Shared[int32](b, 4, 4)
					b.Threads(func(t *sm.Thread) {
						if faulty && t.Rank() == 0 {
							panic("no")
						}
						for {
							look(t, a)
						}
					})
				})
				timer.Stop()
				cancel()
				if f := (*sm.Fault)(nil); !errors.Is(err, context.Canceled) && !errors.As(err, &f) {
					t.Errorf("%s, %s: %v", mode(m), name, err)
				}
			}
		}
	}
}

// TestNonsense: what no kernel means is a fault that says so.
func TestNonsense(t *testing.T) {
	for name, c := range map[string]struct {
		f    func(b *sm.Block)
		rule sm.Rule
		want string
	}{
		"no function":    {func(b *sm.Block) { b.Threads(nil) }, sm.RuleStart, "have no function"},
		"a part without": {func(b *sm.Block) { b.Start(sm.Warps(0, 1, nil)) }, sm.RuleStart, "have no function"},
		"a product that overflows": {func(b *sm.Block) {
			b.Start(sm.Warpgroups(0, math.MaxInt/128+2, func(*sm.Warpgroup) {}))
		}, sm.RuleStart, "of a block of 128 threads"},
		"ranks that overflow": {func(b *sm.Block) {
			n := math.MaxInt/64 + 1 // 128 times that is 0
			b.Start(sm.Warpgroups(n, n+1, func(*sm.Warpgroup) {}))
		}, sm.RuleStart, "of a block of 128 threads"},
		"a role": {func(b *sm.Block) {
			b.Pipeline(2, func(rank int) sm.Role { return sm.Role(rank) })
		}, sm.RulePipeline, "thread 3 has the role Role(3)"},
		"arrivals that overflow": {func(b *sm.Block) {
			bar := b.Barrier()
			b.Warpgroups(func(w *sm.Warpgroup) {
				bar.Init(w, 128)
				bar.ArriveN(w, math.MaxInt/64+2) // 128 times that is 128
			})
		}, sm.RuleBarrier, fmt.Sprintf("count %d, want 1..", math.MaxInt/64+2)},
		"arrivals with bytes": {func(b *sm.Block) {
			bar := b.Barrier()
			b.Warpgroups(func(w *sm.Warpgroup) {
				bar.Init(w, 128)
				bar.ArriveTx(w, -1, 16)
			})
		}, sm.RuleBarrier, "count -1, want 1.."},
	} {
		for _, m := range modes[:2] {
			err := launch(t, in(m, sm.Config{Block: sm.Dim3{X: 128}, Name: name}), c.f)
			faultOf(t, err, c.rule, "hostile_test.go:", c.want)
		}
	}
}

// TestOtherCluster: shared memory is that of the cluster, whatever a kernel keeps in variables of its own.
func TestOtherCluster(t *testing.T) {
	for name, use := range map[string]func(t *sm.Thread, a *sm.Array[int32], bar *sm.Barrier){
		"Load":   func(t *sm.Thread, a *sm.Array[int32], _ *sm.Barrier) { a.Load(t, 0) },
		"Write":  func(t *sm.Thread, a *sm.Array[int32], _ *sm.Barrier) { a.Write(t, 0, []int32{1}) },
		"Arrive": func(t *sm.Thread, _ *sm.Array[int32], bar *sm.Barrier) { bar.Arrive(t) },
		"StoreAsync": func(t *sm.Thread, a *sm.Array[int32], bar *sm.Barrier) {
			sm.StoreAsync(t, a, 1, bar)
		},
	} {
		for _, m := range modes[:2] {
			for cluster := 1; cluster <= 2; cluster++ {
				type shared struct {
					a   *sm.Array[int32]
					bar *sm.Barrier
				}
				var of atomic.Pointer[shared] // what the first CTA of the grid has
				cfg := sm.Config{Grid: sm.Dim3{X: 2 * cluster}, Cluster: sm.Dim3{X: cluster}, Resident: 2}
				err := launch(t, in(m, cfg), func(b *sm.Block) {
					a, bar, never := sm.Shared[int32](b, 4, 16), b.Barrier(), b.Barrier()
					b.Threads(func(t *sm.Thread) {
						bar.Init(t, 2)
						never.Init(t, 2)
						switch b.Idx.X {
						case 0:
							of.Store(&shared{a, bar})
							for {
								t.ThreadFence(sm.ScopeDevice)
							}
						case cluster:
							for of.Load() == nil {
								t.ThreadFence(sm.ScopeDevice)
							}
							use(t, of.Load().a, of.Load().bar)
						}
						never.ArriveAndWait(t)
					})
				})
				faultOf(t, err, sm.RuleShared, name, "another cluster", "hostile_test.go:")
			}
		}
	}
}

// TestMostCTAs: the largest grid of a GPU begins where an int counts it, and is refused where none does.
func TestMostCTAs(t *testing.T) {
	err := sm.Launch(t.Context(), sm.Config{Grid: sm.Dim3{X: math.MaxInt32, Y: 65535, Z: 65535}}, func(*sm.Block) {
		panic("begins")
	})
	want := "begins"
	if math.MaxInt == math.MaxInt32 {
		want = "more CTAs than the 2147483647"
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestKept: an agent is of no use when its launch is over, even inside another.
func TestKept(t *testing.T) {
	for _, m := range modes[:2] {
		var kept *sm.Thread
		cfg := in(m, sm.Config{})
		if err := launch(t, cfg, func(b *sm.Block) { b.Threads(func(t *sm.Thread) { kept = t }) }); err != nil {
			t.Fatal(err)
		}
		f := fault(t, launch(t, cfg, func(b *sm.Block) { b.Threads(func(*sm.Thread) { kept.SyncThreads() }) }))
		contains(t, f, "the launch of the agent is over", "hostile_test.go:")
	}
}
