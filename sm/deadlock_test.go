package sm_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/leafhopper/sm"
)

func expect(t *sm.Thread, bar *sm.Barrier) { bar.ExpectTx(t, 16) }

func meet(t *sm.Thread, bar *sm.Barrier) { bar.ArriveAndWait(t) }

// TestDeadlockOfMany: 1,024 threads that wait for something each, and the CTAs of a cluster that
// wait for each other, are known to be stuck at once.
func TestDeadlockOfMany(t *testing.T) {
	for _, c := range []struct {
		name   string
		cfg    sm.Config
		kernel sm.Kernel
		want   []string
	}{
		{"one barrier", sm.Config{Block: sm.Dim3{X: 1024}}, func(b *sm.Block) {
			bar := b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					bar.Init(t, 1025)
				}
				t.SyncThreads()
				bar.ArriveAndWait(t)
			})
		}, []string{
			"all 1024 agents wait", "threads 0-1023 at deadlock_test.go:",
			"wait for bar phase 0: 1 of 1025 arrivals missing (last arrived: thread ",
		}},
		{"a barrier each", sm.Config{Block: sm.Dim3{X: 1024}}, func(b *sm.Block) {
			own := b.Barriers(1024)
			b.Threads(func(t *sm.Thread) {
				own[t.Rank()].Init(t, 2)
				own[t.Rank()].ArriveAndWait(t)
			})
		}, []string{
			"all 1024 agents wait", "thread 1023 at deadlock_test.go:",
			"waits for own[1023] phase 0: 1 of 2 arrivals missing (last arrived: thread 1023 at",
		}},
		{"across a cluster", sm.Config{Grid: sm.Dim3{X: 32}, Cluster: sm.Dim3{X: 8},
			Block: sm.Dim3{X: 64}}, func(b *sm.Block) {
			bar := b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					bar.Init(t, 64)
				}
				t.ClusterSync()
				if t.Rank() == 9 {
					bar.WaitParity(t, 0) // for that of the CTA before, and so on
				}
				bar.MapShared((b.ClusterRank() + 1) % 8).Arrive(t)
				t.ClusterSync()
			})
		}, []string{
			"all 512 agents wait", "CTA (4,0,0) thread 9 ",
			"waits for bar phase 0: 1 of 64 arrivals missing (last arrived: thread ", "of CTA (3,0,0) at",
			"CTA (3,0,0) threads 0-8, 10-63 at", "barrier.cluster phase 1: 8 of 512 threads missing",
		}},
		{"named barriers in another order", sm.Config{Block: sm.Dim3{X: 64}}, func(b *sm.Block) {
			b.Start(sm.Warps(0, 2, func(w *sm.Warp) {
				w.BarSync(1+w.Rank(), 64)
				w.BarSync(2-w.Rank(), 64)
			}))
		}, []string{
			"warp 0 at", "waits for barrier 1: 32 of 64 threads missing (last arrived: warp 0 at", "warp 1 at",
			"waits for barrier 2",
		}},
		{"every other thread", sm.Config{Block: sm.Dim3{X: 64}}, func(b *sm.Block) {
			bars := b.Barriers(2)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() < 2 {
					bars[t.Rank()].Init(t, 33)
				}
				t.SyncThreads()
				bars[t.Rank()/2%2].Arrive(t)
				if t.Rank() > 1 {
					bars[t.Rank()/2%2].WaitParity(t, 0)
				}
			})
		}, []string{
			"62 of 64 agents wait", "\n  threads 4-5, 8-9, 12-13, 16-17, 20-21, ", ", 60-61 at deadlock_test.go:",
			" wait for bars[0] phase 0: 1 of 33 arrivals missing",
			"\n  threads 2-3, 6-7, 10-11, ", ", 62-63 at deadlock_test.go:",
		}},
		{"half a warp", sm.Config{Block: sm.Dim3{X: 64}}, func(b *sm.Block) {
			b.Threads(func(t *sm.Thread) {
				if t.Lane() >= 16 && t.WarpRank() == 1 {
					t.SyncThreads()
				} else if t.Lane() < 20 || t.WarpRank() == 1 {
					t.SyncWarp()
				}
			})
		}, []string{
			"32 of 64 agents wait", "threads 32-47 at", "wait for __syncwarp of warp 1: 16 of 32 threads missing: 48-63",
			"wait for __syncthreads: 48 of 64 threads missing",
		}},
		{"bytes that two lines expect", sm.Config{}, func(b *sm.Block) {
			x, bar := sm.Shared[int32](b, 8, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				bar.Init(t, 2)
				for range 2 {
					bar.ExpectTx(t, 8)
				}
				bar.ArriveTx(t, 1, 32)
				sm.LoadBulk(t, x, ramp(8), bar)
				bar.ArriveAndWait(t)
			})
		}, []string{
			"16 bytes missing (expected 48: 16 at deadlock_test.go:", ", 32 at deadlock_test.go:", ", copies brought 32)",
		}},
		{"bytes that a line expects which is inlined twice", sm.Config{}, func(b *sm.Block) {
			bar := b.Barrier()
			b.Threads(func(t *sm.Thread) {
				bar.Init(t, 2)
				expect(t, bar)
				expect(t, bar)
				bar.ArriveAndWait(t)
			})
		}, []string{"32 bytes missing (expected 32 at deadlock_test.go:"}},
		{"a wait that is inlined twice", sm.Config{Block: sm.Dim3{X: 8}}, func(b *sm.Block) {
			bar := b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					bar.Init(t, 9)
				}
				t.SyncThreads()
				if t.Rank() < 3 {
					meet(t, bar)
				} else {
					meet(t, bar)
				}
			})
		}, []string{"threads 0-7 at deadlock_test.go:"}},
		{"a lane that its mask's others wait for", sm.Config{Block: sm.Dim3{X: 64}}, func(b *sm.Block) {
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 35 {
					t.SyncWarp()
				}
				t.SyncWarp(0xff << (t.Lane() / 8 * 8))
				t.SyncWarp()
			})
		}, []string{
			"32 of 64 agents wait", "threads 32-34, 36-39 at", "__syncwarp of warp 1, mask 0xff: 1 of 8 threads missing: 35",
			"waits for __syncwarp of warp 1: 7 of 32 threads missing: 32-34, 36-39", "threads 40-63  ",
		}},
	} {
		for _, m := range modes[:2] {
			t.Run(c.name+"/"+mode(m), func(t *testing.T) {
				var f *sm.Fault
				find := func() { f = fault(t, launch(t, in(m, c.cfg), c.kernel)) }
				if m.Check {
					find()
				} else {
					soon(t, "a deadlock", 100*time.Millisecond, find)
				}
				if f.Rule != sm.RuleDeadlock {
					t.Fatal(f)
				}
				if c.name == "across a cluster" {
					if f.CTA.X >= 8 { // the same in each cluster; which one is first is chance
						return
					}
				}
				contains(t, f, c.want...)
			})
		}
	}
}

// TestPolls: loops that poll for what cannot come are deadlocks, and those for what can are not.
func TestPolls(t *testing.T) {
	t.Parallel()
	type try struct {
		name string
		f    func(t *sm.Thread, bar *sm.Barrier, token sm.Token) bool
	}
	for _, c := range []try{
		{"TestWait", func(t *sm.Thread, bar *sm.Barrier, token sm.Token) bool { return bar.TestWait(t, token) }},
		{"TryWaitParity", func(t *sm.Thread, bar *sm.Barrier, token sm.Token) bool { return bar.TryWaitParity(t, 0) }},
		{"TryWaitFor", func(t *sm.Thread, bar *sm.Barrier, token sm.Token) bool {
			return bar.TryWaitFor(t, token, 100*time.Microsecond)
		}},
		{"TryWaitParityFor", func(t *sm.Thread, bar *sm.Barrier, token sm.Token) bool {
			return bar.TryWaitParityFor(t, 0, time.Millisecond)
		}},
	} {
		for _, m := range modes[:2] {
			t.Run(c.name+"/"+mode(m), func(t *testing.T) {
				poll := func(pollers int, lacks [2]int, last func(t *sm.Thread)) error {
					missing, load := lacks[0], lacks[1]
					src := ramp(4)
					return launch(t, in(m, sm.Config{Block: sm.Dim3{X: 32}, Name: "poll"}), func(b *sm.Block) {
						buf, bar := sm.Shared[int32](b, 4, 16), b.Barrier()
						b.Threads(func(t *sm.Thread) {
							if t.Rank() == 0 {
								bar.Init(t, 32+missing)
							}
							t.SyncThreads()
							if t.Rank() == 31 {
								last(t)
							}
							var token sm.Token
							if t.Rank() == 31 && load > 0 {
								token = bar.ArriveTx(t, 1, 16*load)
								sm.LoadBulk(t, buf, src, bar)
							} else {
								token = bar.Arrive(t)
							}
							if t.Rank() >= pollers {
								bar.Wait(t, token)
							}
							for !c.f(t, bar, token) {
							}
						})
					})
				}
				nothing := func(*sm.Thread) {}
				long := func(t *sm.Thread) {
					if !m.Check {
						time.Sleep(150 * time.Millisecond) // longer than a poller believes
					}
					for range 2000 {
						t.FenceProxyAsync()
					}
				}
				type kind struct {
					name        string
					pollers     int
					last        func(t *sm.Thread)
					good, stuck [2]int // arrivals missing, loads
				}
				kinds := []kind{
					{"all poll", 32, nothing, [2]int{}, [2]int{1, 0}}, {"one polls", 1, nothing, [2]int{}, [2]int{1, 0}},
					{"the last is late", 31, long, [2]int{}, [2]int{1, 0}}, {"for a copy", 32, nothing, [2]int{0, 1}, [2]int{0, 2}},
				}
				good, stuck := make([]error, len(kinds)), make([]error, len(kinds))
				var wg sync.WaitGroup
				for i, k := range kinds { // most of the time they sleep
					wg.Go(func() {
						good[i], stuck[i] = poll(k.pollers, k.good, k.last), poll(k.pollers, k.stuck, k.last)
					})
				}
				wg.Wait()
				for i, k := range kinds {
					t.Run(k.name, func(t *testing.T) {
						if good[i] != nil {
							t.Error(good[i])
						}
						faultOf(t, stuck[i], sm.RuleDeadlock, "all 32 agents wait", "bar phase 0", "missing")
					})
				}
			})
		}
	}
}

// TestLarge has lenient bounds for what is to take less than 1 s, and 1 ms.
func TestLarge(t *testing.T) {
	run := func(cfg sm.Config, kernel sm.Kernel) func() {
		return func() {
			if err := launch(t, cfg, kernel); err != nil {
				t.Fatal(err)
			}
		}
	}
	soon(t, "an empty grid of 16,384 CTAs", time.Second,
		run(sm.Config{Grid: sm.Dim3{X: 128, Y: 64, Z: 2}}, func(*sm.Block) {}))
	const rounds = 50
	soon(t, "100 SyncThreads of 1,024 threads", 2*rounds*time.Millisecond,
		run(sm.Config{Block: sm.Dim3{X: 32, Y: 4, Z: 8}},
			func(b *sm.Block) {
				slots := sm.Shared[int32](b, 1024, 4)
				b.Threads(func(t *sm.Thread) {
					for i := range int32(rounds) {
						slots.Store(t, t.Rank(), i)
						t.SyncThreads()
						assert(slots.Load(t, (t.Rank()+517)%1024) == i, "round %d", i)
						t.SyncThreads()
					}
				})
			}))
	if err := launch(t, sm.Config{Block: sm.Dim3{X: 1024}, Check: true}, func(b *sm.Block) {
		b.Threads(func(t *sm.Thread) {
			assert(t.SyncThreadsCount(t.Rank()%4 == 0) == 256, "count")
			assert(!t.SyncThreadsAnd(t.Rank() != 1000) && t.SyncThreadsOr(t.Rank() == 1000), "and, or")
		})
	}); err != nil {
		t.Fatal(err)
	}
}

// TestTriesBesideFlag has a loop over try_wait look at a flag, too, that a CTA of another cluster sets.
func TestTriesBesideFlag(t *testing.T) {
	var abort atomic.Bool
	err := launch(t, sm.Config{Grid: sm.Dim3{X: 2}, Resident: 2}, func(b *sm.Block) {
		bar := b.Barrier()
		b.Threads(func(th *sm.Thread) {
			if b.Idx.X == 1 {
				time.Sleep(300 * time.Millisecond) // computes
				abort.Store(true)
				return
			}
			bar.Init(th, 1)
			for i := 0; !abort.Load(); i++ {
				if i > 1000 { // something else, in which the flag is set and the other CTA ends
					time.Sleep(3 * time.Millisecond)
				}
				if bar.TryWaitParity(th, 0) {
					t.Error("nobody has arrived")
				}
			}
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDeadlockLate has the last clusters of a long grid, whose CTAs follow each other closely in the same two, come to
// a deadlock.
func TestDeadlockLate(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	clusters := 50_000
	if testing.Short() {
		clusters = 5000
	}
	cfg := sm.Config{Grid: sm.Dim3{X: 4 * clusters}, Cluster: sm.Dim3{X: 4}, Block: sm.Dim3{X: 32}, Resident: 2}
	faultOf(t, launch(t, cfg, func(b *sm.Block) {
		bar := b.Barrier()
		if b.Idx.X/4 < clusters-2 {
			return
		}
		b.Start(sm.Warps(0, 1, func(w *sm.Warp) {
			bar.Init(w.Thread(0), 1)
			bar.WaitParity(w, 0)
		}))
	}), sm.RuleDeadlock, "all 4 agents wait")
}
