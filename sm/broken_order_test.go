package sm_test

import (
	"sync/atomic"
	"testing"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// orderTwins access shared memory that the program orders too little. What comes out right by chance is found as well.
func orderTwins() []twin {
	named := func(name string, threads int) sm.Config {
		return sm.Config{Name: name, Block: sm.Dim3{X: threads}}
	}
	return []twin{{
		name: "two threads, no barrier", cfg: named("neighbours", 2), order: true,
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				x := sm.Shared[int32](b, 2, 16)
				b.Threads(func(t *sm.Thread) {
					x.Store(t, t.Rank(), 1)
					t.SyncThreads()
					x.Store(t, t.Rank(), 1)
					if !broken {
						t.SyncThreads()
					}
					x.Load(t, 1-t.Rank())
				})
			}
		},
		rule: sm.RuleRace,
		want: []string{" of x: not ordered after the ", "does not know of it, there being no barrier"},
	}, {
		name: "a load that has landed, by chance", cfg: named("lucky", 1), order: true,
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				x, full := sm.Shared[int32](b, 8, 16), b.Barrier()
				b.Threads(func(t *sm.Thread) {
					full.Init(t, 1)
					x.Write(t, 0, ramp(8))
					full.ArriveTx(t, 1, 32)
					sm.LoadBulk(t, x, ramp(8), full)
					if broken {
						x.Load(t, 5)
					}
					full.WaitParity(t, 0)
					x.Load(t, 5)
				})
			}
		},
		rule: sm.RuleRace,
		want: []string{
			"Load: element 5 of x: not ordered after the LoadBulk by thread 0 at",
			"which completes full phase 0: thread 0 does not know",
		},
	}, {
		name: "who does not wait for a load, before or after it", cfg: named("hasty", 2), order: true,
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				x, full := sm.Shared[int32](b, 8, 16), b.Barrier()
				b.Threads(func(t *sm.Thread) {
					if t.Rank() == 0 {
						full.Init(t, 1)
					}
					t.SyncThreads()
					if t.Rank() == 0 {
						full.ArriveTx(t, 1, 32)
						sm.LoadBulk(t, x, ramp(8), full)
						return
					}
					if !broken {
						full.WaitParity(t, 0)
					}
					x.Load(t, 5)
				})
			}
		},
		rule: sm.RuleRace,
		want: []string{
			"Load: element 5 of x: not ordered after the LoadBulk by thread 0 at",
			"which completes full phase 0: thread 1 does not know that the phase is over",
		},
	}, {
		name: "a barrier of whose Init nobody has been told", cfg: named("untold", 2), order: true,
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				bar := b.Barrier()
				var flag atomic.Bool // which a GPU would read too early, too
				b.Threads(func(t *sm.Thread) {
					if t.Rank() == 0 {
						bar.Init(t, 2)
						flag.Store(true)
					}
					if !broken {
						t.SyncThreads()
					}
					for !flag.Load() {
						t.SyncWarp(1 << t.Lane())
					}
					bar.ArriveAndWait(t)
				})
			}
		},
		rule: sm.RuleBarrier,
		want: []string{"ArriveAndWait: bar: not ordered after the Init by thread 0 at", "thread 1 does not know of it"},
	}, {
		name: "a source that nobody waits for", cfg: named("reuse", 1), order: true,
		kernel: func(broken bool) sm.Kernel {
			out := make([]int32, 8)
			return func(b *sm.Block) {
				x := sm.Shared[int32](b, 8, 16)
				b.Threads(func(t *sm.Thread) {
					x.Write(t, 0, ramp(8))
					t.FenceProxyAsync()
					sm.StoreBulk(t, out, x)
					t.CommitGroup()
					if !broken {
						t.WaitGroupRead(0)
					}
					x.Store(t, 5, 5) // as it was
				})
			}
		},
		rule: sm.RuleSource,
		want: []string{
			"element 5 of x: not ordered after the StoreBulk by thread 0 at", "knows of no WaitGroupRead or WaitGroup",
		},
	}, {
		name: "no fence.proxy.async before a store", cfg: named("unfenced", 4), order: true,
		kernel: func(broken bool) sm.Kernel {
			out := make([]int32, 4)
			return func(b *sm.Block) {
				x := sm.Shared[int32](b, 4, 16)
				b.Threads(func(t *sm.Thread) {
					x.Store(t, t.Rank(), 1)
					if !broken || t.Rank() != 3 {
						t.FenceProxyAsync()
					}
					t.SyncThreads()
					if t.Rank() == 0 {
						sm.StoreBulk(t, out, x)
						t.CommitGroup()
						t.WaitGroup(0)
					}
				})
			}
		},
		rule: sm.RuleProxy,
		want: []string{"StoreBulk: element 3 of x: no fence.proxy.async comes after the Store by thread 3 at"},
	}, {
		name: "memory that nobody has written", cfg: named("raw", 1), order: true,
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				x := sm.Shared[int32](b, 4, 16)
				b.Threads(func(t *sm.Thread) {
					if !broken {
						x.Store(t, 2, 0)
					}
					x.Store(t, 2, x.Load(t, 2)+1)
				})
			}
		},
		rule: sm.RuleUnwritten,
		want: []string{"thread 0 at", "Load: element 2 of x, which nobody has written before"},
	}, {
		name: "a descriptor of another swizzle", cfg: named("twisted", 128), order: true,
		kernel: func(broken bool) sm.Kernel {
			swizzle := tile.Swizzle64B
			if broken {
				swizzle = tile.Swizzle32B
			}
			op := wgmma.Op{Kind: wgmma.BF16F32, N: 64}
			m, err := sm.NewTensorMap(make([]bf16.BF16, 64*32), tile.Config{
				Dims: []uint64{32, 64}, Box: []uint32{32, 64}, Swizzle: tile.Swizzle64B,
			})
			assert(err == nil, "%v", err)
			return func(b *sm.Block) {
				x, full := sm.Shared[bf16.BF16](b, 64*32, 1024), b.Barrier()
				b.Warpgroups(func(w *sm.Warpgroup) {
					full.Init(w.Thread(0), 1)
					full.ArriveTx(w.Thread(0), 1, x.Size())
					w.Thread(0).LoadTensor(x, m, full, 0, 0)
					full.WaitParity(w, 0)
					d := w.Accumulators(wgmma.F32, op.N)
					w.Fence()
					w.MMA(op, d, x.KMajor(tile.Swizzle64B), x.KMajor(swizzle))
					w.CommitGroup()
					w.WaitGroup(0)
				})
			}
		},
		rule: sm.RuleLayout,
		want: []string{
			"MMA: elements ", " of x: the LoadTensor by thread 0 at",
			"laid them out as Swizzle64B, the descriptor says Swizzle32B",
		},
	}, {
		name: "a peer that may not have begun", order: true,
		cfg: sm.Config{Name: "hasty", Grid: sm.Dim3{X: 2}, Cluster: sm.Dim3{X: 2}},
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				x := sm.Shared[float32](b, 2, 16)
				b.Threads(func(t *sm.Thread) {
					if !broken {
						t.ClusterSync()
					}
					x.MapShared(1-b.ClusterRank()).Store(t, 1, 3)
					t.ClusterSync()
					if got := x.Load(t, 1); got != 3 {
						panic(got)
					}
				})
			}
		},
		rule: sm.RuleShared,
		want: []string{"Store: nothing says that CTA (", "has begun: cluster.sync is missing"},
	}, {
		// Who comes late finds another phase under way, and waits for that.
		name: "a phase that the next does not wait for", cfg: named("hurried", 2), order: true,
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				bar, seen := b.Barrier(), b.Barrier()
				b.Threads(func(t *sm.Thread) {
					if t.Rank() == 0 {
						bar.Init(t, 1)
						seen.Init(t, 1)
					}
					t.SyncThreads()
					if t.Rank() == 1 {
						bar.WaitParity(t, 0)
						seen.Arrive(t)
						return
					}
					bar.Arrive(t)
					if !broken {
						seen.WaitParity(t, 0)
					}
					bar.Arrive(t)
				})
			}
		},
		rule: sm.RulePhase,
		want: []string{"thread 1 at", "WaitParity: bar phase 0: those who complete the phase after it (last: thread 0 at"},
		also: map[sm.Rule][]string{
			sm.RuleDeadlock: {"thread 1 at", "waits for bar phase 2"},
			sm.RuleBarrier:  {"preceding phase unobserved"}, // with the build tag invariants
		},
	}}
}

// TestPacked: an operand that has been swizzled in global memory comes in one dimension.
func TestPacked(t *testing.T) {
	m, err := sm.NewTensorMap(make([]bf16.BF16, 64*16), tile.Config{Dims: []uint64{64 * 16}, Box: []uint32{256}})
	if err != nil {
		t.Fatal(err)
	}
	if err := launch(t, sm.Config{Block: sm.Dim3{X: 128}, Check: true}, func(b *sm.Block) {
		x, full := sm.Shared[bf16.BF16](b, 64*16, 1024), b.Barrier()
		b.Warpgroups(func(w *sm.Warpgroup) {
			full.Init(w.Thread(0), 1)
			full.ArriveTx(w.Thread(0), 1, x.Size())
			for at := 0; at < x.Len(); at += 256 {
				w.Thread(0).LoadTensor(x.At(at), m, full, at)
			}
			full.WaitParity(w, 0)
			d := w.Accumulators(wgmma.F32, 64)
			w.Fence()
			w.MMA(wgmma.Op{Kind: wgmma.BF16F32, N: 64}, d, x.KMajor(tile.Swizzle32B), x.KMajor(tile.Swizzle32B))
			w.CommitGroup()
			w.WaitGroup(0)
		})
	}); err != nil {
		t.Error(err)
	}
}

// TestUnwritten: a read of what nobody has written is found though somebody is given the memory later.
func TestUnwritten(t *testing.T) {
	f := fault(t, launch(t, sm.Config{Block: sm.Dim3{X: 1}, Check: true}, func(b *sm.Block) {
		x := sm.Shared[int32](b, 8, 16)
		b.Threads(func(t *sm.Thread) {
			x.Load(t, 3)
			x.Elements()[3] = 1
			x.Load(t, 3)
		})
	}))
	if f.Rule != sm.RuleUnwritten {
		t.Error(f)
	}
	contains(t, f, "Load: element 3 of x, which nobody has written before")
}

// TestForgets: what is found does not depend on how often events that no byte knows are forgotten.
func TestForgets(t *testing.T) {
	defer sm.FewEvents(sm.FewEvents(1))
	for _, c := range twins() {
		for _, broken := range []bool{true, false} {
			for seed := range uint64(3) {
				cfg := c.cfg
				cfg.Check, cfg.Seed = true, seed
				err := launch(t, cfg, c.kernel(broken))
				if !broken {
					if err != nil {
						t.Errorf("%s: %v", c.name, err)
					}
				} else if f := fault(t, err); f.Rule != c.rule && c.also[f.Rule] == nil {
					t.Errorf("%s: rule %v, want %v", c.name, f.Rule, c.rule)
				}
			}
		}
	}
}
