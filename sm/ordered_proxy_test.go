package sm_test

import (
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// proxyUnordered has what the generic proxy writes and the asynchronous one reads, with no fence.proxy.async between.
func proxyUnordered() []unordered {
	return []unordered{{
		name: "no fence before a thread's own store", rule: sm.RuleProxy,
		kernel: func(b *sm.Block, broken bool) {
			x, out := sm.Shared[int32](b, 16, 16), make([]int32, 16)
			b.Threads(func(t *sm.Thread) {
				x.Write(t, 0, in64[:16]) // first
				if !broken {
					t.FenceProxyAsync()
				}
				sm.StoreBulk(t, out, x) // second
				t.CommitGroup()
				t.WaitGroup(0)
			})
		},
	}, {
		name: "no fence by those who write", cfg: block(4), rule: sm.RuleProxy,
		kernel: func(b *sm.Block, broken bool) {
			x, out := sm.Shared[int32](b, 4, 16), make([]int32, 4)
			b.Threads(func(t *sm.Thread) {
				x.Store(t, t.Rank(), 1) // first
				if !broken {
					t.FenceProxyAsync()
				}
				t.SyncThreads()
				if t.Rank() == 0 {
					sm.StoreBulk(t, out, x) // second
					t.CommitGroup()
					t.WaitGroup(0)
				}
			})
		},
	}, {
		name: "the issuer's fence comes before it is told of the write", cfg: block(2), rule: sm.RuleProxy,
		kernel: func(b *sm.Block, broken bool) {
			x, out := sm.Shared[int32](b, 4, 16), make([]int32, 4)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 1 {
					x.Write(t, 0, in64[:4]) // first
				} else if broken {
					t.FenceProxyAsync()
				}
				t.SyncThreads()
				if t.Rank() == 0 {
					if !broken {
						t.FenceProxyAsync()
					}
					sm.StoreBulk(t, out, x) // second
					t.CommitGroup()
					t.WaitGroup(0)
				}
			})
		},
	}, {
		name: "a stage is patched between its load and its store", rule: sm.RuleProxy,
		kernel: func(b *sm.Block, broken bool) {
			x, full, out := sm.Shared[int32](b, 16, 16), b.Barrier(), make([]int32, 16)
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				full.ArriveTx(t, 1, 64)
				sm.LoadBulk(t, x, in64[:16], full)
				full.WaitParity(t, 0)
				x.Store(t, 3, 7) // first
				if !broken {
					t.FenceProxyAsync()
				}
				sm.StoreBulk(t, out, x) // second
				t.CommitGroup()
				t.WaitGroup(0)
				assert(broken || out[3] == 7 && out[4] == 4, "stored %v", out)
			})
		},
	}, {
		name: "the fence comes before cp.async is waited for", rule: sm.RuleProxy,
		kernel: func(b *sm.Block, broken bool) {
			x, out := sm.Shared[int32](b, 4, 16), make([]int32, 4)
			b.Threads(func(t *sm.Thread) {
				sm.MemcpyAsync(t, x, in64[:4], nil) // first
				if broken {
					t.FenceProxyAsync()
				}
				t.WaitAll()
				if !broken {
					t.FenceProxyAsync()
				}
				sm.StoreBulk(t, out, x) // second
				t.CommitGroup()
				t.WaitGroup(0)
			})
		},
	}, {
		name: "a fence by a bystander", cfg: block(3), rule: sm.RuleProxy,
		kernel: func(b *sm.Block, broken bool) {
			x, out, who := sm.Shared[int32](b, 4, 16), make([]int32, 4), 0
			if broken {
				who = 2
			}
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 1 {
					x.Write(t, 0, in64[:4]) // first
				}
				t.SyncThreads()
				if t.Rank() == who {
					t.FenceProxyAsync()
				}
				if t.Rank() == 0 {
					sm.StoreBulk(t, out, x) // second
					t.CommitGroup()
					t.WaitGroup(0)
				}
			})
		},
	}, {
		name: "one of the writers does not fence", cfg: block(4), rule: sm.RuleProxy,
		kernel: func(b *sm.Block, broken bool) {
			x, out := sm.Shared[int32](b, 4, 16), make([]int32, 4)
			b.Threads(func(t *sm.Thread) {
				x.Store(t, t.Rank(), 1) // first
				if !broken || t.Rank() != 2 {
					t.FenceProxyAsync()
				}
				t.SyncThreads()
				if t.Rank() == 0 {
					sm.StoreBulk(t, out, x) // second
					t.CommitGroup()
					t.WaitGroup(0)
				}
			})
		},
	}, {
		name: "the fence comes before the last write", cfg: block(2), rule: sm.RuleProxy,
		kernel: func(b *sm.Block, broken bool) {
			x, out := sm.Shared[int32](b, 4, 16), make([]int32, 4)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 1 {
					x.Write(t, 0, in64[:4])
					t.FenceProxyAsync()
					x.Store(t, 2, 7) // first
					if !broken {
						t.FenceProxyAsync()
					}
				}
				t.SyncThreads()
				if t.Rank() == 0 {
					sm.StoreBulk(t, out, x) // second
					t.CommitGroup()
					t.WaitGroup(0)
				}
			})
		},
	}, {
		name: "no fence in the second round of a ring", cfg: block(2), rule: sm.RuleProxy,
		kernel: func(b *sm.Block, broken bool) {
			x, out := sm.Shared[int32](b, 4, 16), make([]int32, 4)
			b.Threads(func(t *sm.Thread) {
				for i := range 3 {
					x.Write(t, 2*t.Rank(), in64[i:][:2]) // first
					if !broken || i != 1 {
						t.FenceProxyAsync()
					}
					t.SyncThreads()
					if t.Rank() == 0 {
						sm.StoreBulk(t, out, x) // second
						t.CommitGroup()
						t.WaitGroupRead(0)
					}
					t.SyncThreads()
				}
			})
		},
	}, {
		name: "no fence between a remote write and a store", cfg: pair(1), rule: sm.RuleProxy,
		kernel: func(b *sm.Block, broken bool) {
			x, out := sm.Shared[int32](b, 4, 16), make([]int32, 4)
			b.Threads(func(t *sm.Thread) {
				t.ClusterSync()
				x.MapShared(1-b.ClusterRank()).Write(t, 0, in64[:4]) // first
				if !broken {
					t.FenceProxyAsync()
				}
				t.ClusterSync()
				sm.StoreBulk(t, out, x) // second
				t.CommitGroup()
				t.WaitGroup(0)
			})
		},
	}, {
		name: "no fence before a copy to a peer", cfg: pair(1), rule: sm.RuleProxy,
		kernel: func(b *sm.Block, broken bool) {
			x, y, full := sm.Shared[int32](b, 4, 16), sm.Shared[int32](b, 4, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				full.ArriveTx(t, 1, 16)
				x.Write(t, 0, in64[:4]) // first
				if !broken {
					t.FenceProxyAsync()
				}
				t.ClusterSync()
				peer := 1 - b.ClusterRank()
				t.CopyBulk(y.MapShared(peer), x, full.MapShared(peer)) // second
				full.WaitParity(t, 0)
				t.ClusterSync()
			})
		},
	}, {
		name: "no fence before a reduction", rule: sm.RuleProxy,
		kernel: func(b *sm.Block, broken bool) {
			x, out := sm.Shared[int32](b, 4, 16), make([]int32, 4)
			b.Threads(func(t *sm.Thread) {
				x.Write(t, 0, in64[:4]) // first
				if !broken {
					t.FenceProxyAsync()
				}
				sm.StoreReduceBulk(t, tile.ReduceAdd, out, x) // second
				t.CommitGroup()
				t.WaitGroup(0)
			})
		},
	}, {
		name: "no fence between memcpy_async and a store", rule: sm.RuleProxy,
		kernel: func(b *sm.Block, broken bool) {
			x, out := sm.Shared[int32](b, 4, 16), make([]int32, 4)
			b.Threads(func(t *sm.Thread) {
				sm.MemcpyAsync(t, x, in64[:4], nil) // first
				t.WaitAll()
				if !broken {
					t.FenceProxyAsync()
				}
				sm.StoreBulk(t, out, x) // second
				t.CommitGroup()
				t.WaitGroup(0)
			})
		},
	}, {
		name: "no fence before operands that warps have written", cfg: block(256), rule: sm.RuleProxy,
		kernel: func(b *sm.Block, broken bool) {
			x, y := operands(b, 1)
			b.Warpgroups(func(w *sm.Warpgroup) {
				if w.Rank() == 1 {
					x.Write(w, 0, make([]bf16.BF16, sizeA)) // first
					y.Write(w, 0, make([]bf16.BF16, sizeB)) // first
					if !broken {
						w.FenceProxyAsync()
					}
				}
				w.SyncThreads()
				if w.Rank() == 0 {
					d := w.Accumulators(wgmma.F32, narrow.N)
					w.Fence()
					w.MMA(narrow, d, x.KMajor(tile.Swizzle32B), y.KMajor(tile.Swizzle32B)) // second
					w.CommitGroup()
					w.WaitGroup(0)
				}
			})
		},
	}, {
		name: "no fence between memcpy_async and wgmma", cfg: block(128), rule: sm.RuleProxy,
		kernel: func(b *sm.Block, broken bool) {
			x, y := operands(b, 1)
			b.Warpgroups(func(w *sm.Warpgroup) {
				sm.MemcpyAsync(w, x, make([]bf16.BF16, sizeA), nil) // first
				sm.MemcpyAsync(w, y, make([]bf16.BF16, sizeB), nil) // first
				w.CommitAsync()
				w.WaitAsync(0)
				if !broken {
					w.FenceProxyAsync()
				}
				d := w.Accumulators(wgmma.F32, narrow.N)
				w.Fence()
				w.MMA(narrow, d, x.KMajor(tile.Swizzle32B), y.KMajor(tile.Swizzle32B)) // second
				w.CommitGroup()
				w.WaitGroup(0)
			})
		},
	}}
}
