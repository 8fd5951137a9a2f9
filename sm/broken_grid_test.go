package sm_test

import (
	"testing"

	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/sm"
)

// gridTwins is what goes wrong about grid.sync.
func gridTwins() []twin {
	together := func(name string, ctas, threads int) sm.Config {
		return sm.Config{Name: name, Grid: sm.Dim3{X: ctas}, Block: sm.Dim3{X: threads}, Cooperative: true}
	}
	clusters := together("clusters", 4, 2)
	clusters.Cluster = sm.Dim3{X: 2}
	return []twin{{
		name: "grid.sync of a launch that is not cooperative", cfg: sm.Config{Grid: sm.Dim3{X: 2}},
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				b.Threads(func(t *sm.Thread) {
					if broken {
						t.GridSync()
					}
				})
			}
		},
		rule: sm.RuleSync,
		want: []string{"thread 0 at", "GridSync: the launch is not cooperative (cudaLaunchCooperativeKernel)"},
	}, {
		name: "a thread that ends before grid.sync", cfg: together("early", 8, 9),
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				b.Threads(func(t *sm.Thread) {
					t.GridSync()
					if broken && b.Idx.X >= 2 && t.Rank() == b.Idx.X {
						return
					}
					t.GridSync()
				})
			}
		},
		rule: sm.RuleDeadlock,
		want: []string{
			"early, CTA (0,0,0): 66 of 72 agents wait, the others have ended\n",
			"CTA (0,0,0) threads 0-8 and those of 1 CTAs more at ", "CTA (2,0,0) threads 0-1, 3-8 ", "CTA (7,0,0) threads",
			"wait for grid.sync phase 1: 6 of 72 threads missing: 1 of CTA (2,0,0), 1 of CTA (3,0,0), 1 of CTA (4,0,0), ",
			"1 of CTA (5,0,0), 2 CTAs more\n",
		},
	}, {
		name: "a CTA that exits before grid.sync", cfg: clusters,
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				if broken && b.Idx.X == 3 {
					return // its agents never start
				}
				b.Threads(func(t *sm.Thread) {
					if !broken || b.Idx.X != 2 {
						t.GridSync()
					}
				})
			}
		},
		rule: sm.RuleDeadlock,
		want: []string{
			"clusters, CTA (0,0,0): 4 of 6 agents wait, the others have ended", "threads 0-1 and those of 1 CTAs more at ",
			"grid.sync phase 0: 3 of 7 threads missing: 2 of CTA (2,0,0), which has exited, 1 of CTA (3,0,0), which has exited",
		},
	}, {
		name: "half waits for grid.sync, half for its cluster", cfg: clusters,
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				b.Threads(func(t *sm.Thread) {
					if broken && t.Rank() == 1 && b.Idx.X >= 2 {
						t.ClusterSync()
					}
					t.GridSync()
					t.ClusterSync()
				})
			}
		},
		rule: sm.RuleDeadlock,
		want: []string{
			"clusters, CTA (0,0,0): all 8 agents wait", "CTA (2,0,0) thread 0 and those of 1 CTAs more at",
			"waits for grid.sync phase 0: 2 of 8 threads missing: 1 of CTA (2,0,0), 1 of CTA (3,0,0)",
			"CTA (3,0,0) thread 1", "waits for barrier.cluster phase 0: 2 of 4 threads missing",
		},
	}, {
		name: "a barrier that a cluster does not complete, while the others wait for it", cfg: clusters,
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				bar := b.Barrier()
				b.Threads(func(t *sm.Thread) {
					if t.Rank() == 0 {
						bar.Init(t, 2)
					}
					t.SyncThreads()
					if !broken || b.Idx.X != 1 || t.Rank() > 0 {
						bar.ArriveAndWait(t)
					}
					t.GridSync()
				})
			}
		},
		rule: sm.RuleDeadlock,
		want: []string{"all 8 agents wait", "CTA (1,0,0) thread 1", "waits for bar phase 0: 1 of 2 arrivals missing",
			"grid.sync phase 0: 1 of 8 threads missing: 1 of CTA (1,0,0)"},
	}}
}

// TestGridSyncEarly: CTAs that wait before the last has begun are no deadlock.
func TestGridSyncEarly(t *testing.T) {
	for range 60 {
		if err := launch(t, sm.Config{Grid: sm.Dim3{X: 264}, Cooperative: true}, func(b *sm.Block) {
			b.Threads(func(t *sm.Thread) { t.GridSync() })
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSpinBesideGridSync: an agent that looks again and again for what nobody changes is not one that may come to
// grid.sync, nor is a try of an mbarrier.
func TestSpinBesideGridSync(t *testing.T) {
	t.Parallel()
	for _, m := range modes[:2] {
		cfg := in(m, sm.Config{Grid: sm.Dim3{X: 3}, Cooperative: true})
		faultOf(t, launch(t, cfg, func(b *sm.Block) {
			x, bar := sm.Shared[int32](b, 1, 4), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				bar.Init(t, 1)
				sm.AtomicStore(t, x, 0)
				switch b.Idx.X {
				case 1:
					for sm.AtomicLoad(t, x) == 0 {
						t.ThreadFence(sm.ScopeBlock)
					}
				case 2:
					for !bar.TryWaitParity(t, 0) {
						t.ThreadFence(sm.ScopeBlock)
					}
				}
				t.GridSync()
			})
		}), sm.RuleDeadlock, "all 3 agents wait", "element 0 of x to change from 0", "waits for bar phase 0")
	}
}

// TestCooperativeTooLarge: what the CTAs share is more than all SMs have.
func TestCooperativeTooLarge(t *testing.T) {
	for n, want := range map[int]string{
		113 << 10: "",
		113<<10 + 1: "115713 bytes of a cooperative launch of 133 CTAs, 2 on one of 132 SMs at least, where each has " +
			"at most 115712 (cudaErrorCooperativeLaunchTooLarge)",
	} {
		err := launch(t, sm.Config{Grid: sm.Dim3{X: 133}, Cooperative: true}, func(b *sm.Block) {
			sm.Shared[int8](b, n, 1)
			b.Threads(func(t *sm.Thread) { t.GridSync() })
		})
		if want != "" {
			faultOf(t, err, sm.RuleShared, want)
		} else if err != nil {
			t.Error(err)
		}
	}
}

// TestGridSyncScales: a grid of all SMs is one, and no slower than what its agents cost.
func TestGridSyncScales(t *testing.T) {
	if testing.Short() && race.Enabled {
		t.Skip("slow")
	}
	cfg := sm.Config{Grid: sm.Dim3{X: 132, Y: 2}, Block: sm.Dim3{X: 128}, Cooperative: true}
	sums, rounds := make([]int, 264), 4
	if err := launch(t, cfg, func(b *sm.Block) {
		at := b.Idx.X + 132*b.Idx.Y
		b.Warpgroups(func(w *sm.Warpgroup) {
			for i := range rounds {
				sums[at] += i
				w.GridSync()
				assert(sums[(at+1)%264] == sums[at], "round %d", i)
				w.GridSync()
			}
		})
	}); err != nil {
		t.Error(err)
	}
}
