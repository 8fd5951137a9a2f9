package sm_test

import (
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/leafhopper/sm"
)

// TestConfig: what no launch may have is an error, and no fault, before anything runs.
func TestConfig(t *testing.T) {
	for want, cfg := range map[string]sm.Config{
		"grid (-1,0,0)":                          {Grid: sm.Dim3{X: -1}},
		"grid (0,65536,0)":                       {Grid: sm.Dim3{Y: 65536}},
		"block (1025,0,0)":                       {Block: sm.Dim3{X: 1025}},
		"(1,1,65), want 0..1024, 0..1024, 0..64": {Block: sm.Dim3{X: 1, Y: 1, Z: 65}},
		"has 2048 threads, at most 1024":         {Block: sm.Dim3{X: 32, Y: 32, Z: 2}},
		"cluster (9,0,0) has 9 CTAs":             {Grid: sm.Dim3{X: 9}, Cluster: sm.Dim3{X: 9}},
		"does not divide grid (3,1,1)":           {Grid: sm.Dim3{X: 3, Y: 1, Z: 1}, Cluster: sm.Dim3{X: 2}},
		"-1 resident clusters":                   {Resident: -1},
		"cooperative, of 3 clusters, of which Config.Resident has 2 at once": {Cooperative: true, Resident: 2,
			Grid: sm.Dim3{X: 6}, Cluster: sm.Dim3{X: 2}},
		"cooperative, of 661 CTAs of 353 threads, of which 132 SMs take 5 each": {Cooperative: true,
			Grid: sm.Dim3{X: 661}, Block: sm.Dim3{X: 353}},
		"cooperative, of 4225 CTAs of 1 threads, of which 132 SMs take 32 each": {Cooperative: true,
			Grid: sm.Dim3{X: 4225}},
		"schedule Schedule(3)": {Schedule: 3},
	} {
		err := sm.Launch(t.Context(), cfg, func(*sm.Block) { t.Errorf("%s: the kernel runs", want) })
		var f *sm.Fault
		if err == nil || errors.As(err, &f) ||
			!strings.HasPrefix(err.Error(), "sm: launch: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := sm.Launch(t.Context(), sm.Config{}, nil); err == nil {
		t.Error("a nil kernel is accepted")
	}
	if err := launch(t, sm.Config{Grid: sm.Dim3{X: 16}, Cluster: sm.Dim3{X: 16},
		NonPortable: true}, func(*sm.Block) {}); err != nil {
		t.Error(err)
	}
}

// TestGridBarrier: agents that loop until memory changes leave the cores to those who change it.
func TestGridBarrier(t *testing.T) {
	const ctas, threads, rounds = 6, 32, 10
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	var arrived atomic.Int32
	cfg := sm.Config{Grid: sm.Dim3{X: ctas}, Block: sm.Dim3{X: threads}, Resident: ctas}
	soon(t, "a grid barrier that CTAs come to ten times", 10*time.Millisecond, func() {
		arrived.Store(0)
		if err := launch(t, cfg, func(b *sm.Block) {
			b.Threads(func(t *sm.Thread) {
				for i := range int32(rounds) {
					t.SyncThreads()
					if t.Rank() == 0 {
						for arrived.Add(1); arrived.Load() < ctas*(i+1); {
							t.ThreadFence(sm.ScopeDevice)
						}
					}
					t.SyncThreads()
				}
			})
		}); err != nil {
			t.Error(err)
		}
	})
}

// TestGrid: every CTA runs once, in the cluster that CUDA puts it in, and no more at once than are
// resident.
func TestGrid(t *testing.T) {
	t.Parallel()
	cfg := sm.Config{Grid: sm.Dim3{X: 4, Y: 6, Z: 2}, Cluster: sm.Dim3{X: 2, Y: 3}, Block: sm.Dim3{X: 4, Y: 3, Z: 2}}
	for _, resident := range []int{0, 1, 3, 100} {
		for _, m := range modes[:2] {
			var mu sync.Mutex
			seen := map[sm.Dim3]int{}
			threads := map[sm.Dim3]int{}
			var now, most atomic.Int64
			c := in(m, cfg)
			c.Resident = resident
			err := launch(t, c, func(b *sm.Block) {
				most.Store(max(most.Load(), now.Add(1)))
				defer now.Add(-1)
				assert(b.Dim == cfg.Block && b.GridDim == cfg.Grid && b.ClusterSize() == 6, "dimensions of %v", b.Idx)
				assert(b.ClusterRank() == b.Idx.X%2+2*(b.Idx.Y%3), "CTA %v has rank %d", b.Idx, b.ClusterRank())
				peers := sm.Shared[int32](b, 6, 4)
				b.Threads(func(t *sm.Thread) {
					t.ClusterSync()
					if t.Rank() == 0 {
						mu.Lock()
						seen[b.Idx]++
						mu.Unlock()
						for rank := range b.ClusterSize() {
							peers.MapShared(rank).Store(t, b.ClusterRank(),
								int32(100*(b.Idx.X/2)+10*(b.Idx.Y/3)+b.Idx.Z))
						}
					}
					if b.Idx == (sm.Dim3{}) {
						mu.Lock()
						threads[t.Idx()] = t.Rank()
						mu.Unlock()
					}
					t.ClusterSync()
					for rank := range 6 {
						assert(peers.Load(t, rank) == peers.Load(t, 0), "CTA %d is of another cluster", rank)
					}
					t.ClusterSync()
				})
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 48 {
				if idx := (sm.Dim3{X: i % 4, Y: i / 4 % 6, Z: i / 24}); seen[idx] != 1 {
					t.Errorf("CTA %v ran %d times", idx, seen[idx])
				}
			}
			for i := range 24 {
				if idx := (sm.Dim3{X: i % 4, Y: i / 4 % 3, Z: i / 12}); threads[idx] != i {
					t.Errorf("thread %v has rank %d, want %d", idx, threads[idx], i)
				}
			}
			if n := most.Load(); resident > 0 && n > int64(6*resident) {
				t.Errorf("%d CTAs at once, %d clusters of 6 are resident", n, resident)
			}
		}
	}
}

// TestShared: what a CTA shares fits, is aligned, and is poison until it is written.
func TestShared(t *testing.T) {
	type pair struct {
		A float32
		B int16
	}
	for i, m := range modes[1:] {
		cfg := in(m, sm.Config{Grid: sm.Dim3{X: 20}, Cluster: sm.Dim3{X: 1 << i}})
		err := launch(t, cfg, func(b *sm.Block) {
			f := sm.Shared[float32](b, 3, 0)
			d := sm.Shared[float64](b, 3, 1024)
			u := sm.Shared[uint32](b, 3, 16)
			p := sm.Shared[pair](b, 2, 0)
			assert(f.Address()%4 == 0 && d.Address()%1024 == 0 && u.Address()%16 == 0 && p.Size() == 16, "addresses")
			b.Threads(func(t *sm.Thread) {
				x, y, z := f.Elements()[2], d.Elements()[0], u.Elements()[1]
				assert(math.IsNaN(float64(x)) && math.IsNaN(y) && z == 0xEEEEEEEE, "no poison: %v %v %x", x, y, z)
				f.Store(t, 2, 1)
				d.Store(t, 0, 1)
				u.Store(t, 1, 1)
			})
		})
		if err != nil {
			t.Errorf("%s: %v", mode(m), err)
		}
	}
	for want, f := range map[string]func(b *sm.Block){
		"over the 232448 of a CTA": func(b *sm.Block) { b.Barrier(); sm.Shared[byte](b, sm.MaxSharedBytes, 1) },
		"elements of 4 bytes":      func(b *sm.Block) { sm.Shared[int32](b, math.MaxInt32, 1) },
		"[]int holds pointers":     func(b *sm.Block) { sm.Shared[[]int](b, 1, 8) },
		"alignment 24":             func(b *sm.Block) { sm.Shared[byte](b, 1, 24) },
		"after the agents were started": func(b *sm.Block) {
			b.Threads(func(*sm.Thread) {})
			sm.Shared[byte](b, 1, 1)
		},
		"a second time": func(b *sm.Block) {
			b.Threads(func(*sm.Thread) {})
			b.Threads(func(*sm.Thread) {})
		},
		"not made of warpgroups":           func(b *sm.Block) { b.Warpgroups(func(*sm.Warpgroup) {}) },
		"threads 0 to 64 of a block of 64": func(b *sm.Block) { b.Start(sm.Threads(0, 65, func(*sm.Thread) {})) },
		"threads 0 to 15 are not whole":    func(b *sm.Block) { b.Start(sm.Threads(0, 16, func(*sm.Thread) {})) },
		"warp 1 is in two parts": func(b *sm.Block) {
			p := sm.Warps(1, 2, func(*sm.Warp) {})
			b.Start(p, p)
		},
		"zero value": func(b *sm.Block) { b.Start(sm.Part{}) },
		"17 stages":  func(b *sm.Block) { b.Pipeline(17, nil) },
		"64 producers and 0 consumers": func(b *sm.Block) {
			b.Pipeline(2, func(int) sm.Role { return sm.Producer })
		},
		"barrier 16": func(b *sm.Block) {
			b.Start(sm.Warps(0, 1, func(w *sm.Warp) { w.BarSync(16, 32) }))
		},
		"mask 0xfe does not name lane 0": func(b *sm.Block) {
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 32 {
					t.SyncWarp(0xfe)
				}
			})
		},
		"2 masks, want one or none": func(b *sm.Block) {
			b.Threads(func(t *sm.Thread) { t.SyncWarp(1<<t.Lane(), 1) })
		},
		"a multiple of 32": func(b *sm.Block) {
			b.Start(sm.Warps(0, 1, func(w *sm.Warp) { w.BarSync(1, 40) }))
		},
		"for 32 threads, but those": func(b *sm.Block) {
			b.Start(sm.Warps(0, 1, func(w *sm.Warp) { w.BarArrive(1, 64); w.BarSync(1, 32) }))
		},
		"barrier.cluster.wait without": func(b *sm.Block) {
			b.Start(sm.Warps(0, 1, func(w *sm.Warp) { w.ClusterWait() }))
		},
		"without barrier.cluster.wait": func(b *sm.Block) {
			b.Start(sm.Warps(0, 2, func(w *sm.Warp) {
				if w.Rank() == 0 {
					w.ClusterArrive()
					w.ClusterArrive()
				}
			}))
		},
	} {
		for _, m := range modes[:2] {
			fl := fault(t, launch(t, in(m, sm.Config{Block: sm.Dim3{X: 64}}), f))
			contains(t, fl, want, "launch_test.go:")
			if fl.Site == "" || fl.Op == "" || fl.Rule == sm.RulePanic {
				t.Errorf("%s: site %q, operation %q, rule %v", want, fl.Site, fl.Op, fl.Rule)
			}
		}
	}
}
