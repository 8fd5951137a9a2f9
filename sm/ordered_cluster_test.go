package sm_test

import (
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// clusterUnordered has accesses of a peer's shared memory by agents.
func clusterUnordered() []unordered {
	return []unordered{{
		name: "a peer's memory is read without ClusterSync", cfg: pair(1), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 1, 16)
			b.Threads(func(t *sm.Thread) {
				x.Store(t, 0, 0)
				t.ClusterSync()
				x.Store(t, 0, 1) // first
				if !broken {
					t.ClusterSync()
				}
				x.MapShared(1-b.ClusterRank()).Load(t, 0) // second
				t.ClusterSync()
			})
		},
	}, {
		name: "memory is written again while a peer reads it", cfg: pair(1), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 1, 16)
			b.Threads(func(t *sm.Thread) {
				for i := range int32(3) {
					x.Store(t, 0, i) // second
					t.ClusterSync()
					got := x.MapShared(1-b.ClusterRank()).Load(t, 0) // first
					assert(broken || got == i, "round %d has %d", i, got)
					if !broken || i != 0 {
						t.ClusterSync()
					}
				}
			})
		},
	}, {
		name: "ClusterArrive where GridSync, which waits, was meant", rule: sm.RuleRace,
		cfg: sm.Config{Grid: sm.Dim3{X: 4}, Cluster: sm.Dim3{X: 2}, Cooperative: true},
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 1, 16)
			b.Threads(func(t *sm.Thread) {
				x.Store(t, 0, 0)
				t.GridSync()
				x.Store(t, 0, 1) // first
				if broken {
					t.ClusterArrive()
				} else {
					t.GridSync()
				}
				x.MapShared(1-b.ClusterRank()).Load(t, 0) // second
				if broken {
					t.ClusterWait()
				}
				t.GridSync()
			})
		},
	}, {
		name: "SyncThreads where a peer reads", cfg: pair(2), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 2, 16)
			b.Threads(func(t *sm.Thread) {
				x.Store(t, t.Rank(), 0)
				t.ClusterSync()
				x.Store(t, t.Rank(), 1) // first
				if broken {
					t.SyncThreads()
				} else {
					t.ClusterSync()
				}
				x.MapShared(1-b.ClusterRank()).Load(t, t.Rank()) // second
				t.ClusterSync()
			})
		},
	}, {
		name: "a write after ClusterArrive", cfg: pair(1), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 1, 16)
			b.Threads(func(t *sm.Thread) {
				x.Store(t, 0, 0)
				t.ClusterSync()
				if !broken {
					x.Store(t, 0, 1)
				}
				t.ClusterArrive()
				if broken {
					x.Store(t, 0, 1) // first
				}
				t.ClusterWait()
				x.MapShared(1-b.ClusterRank()).Load(t, 0) // second
				t.ClusterSync()
			})
		},
	}, {
		name: "two peers write a word", rule: sm.RuleRace,
		cfg: sm.Config{Grid: sm.Dim3{X: 3}, Cluster: sm.Dim3{X: 3}},
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 3, 16)
			b.Threads(func(t *sm.Thread) {
				t.ClusterSync()
				at := b.ClusterRank()
				if broken {
					at /= 2
				}
				x.MapShared(2).Store(t, at, 1) // both
				t.ClusterSync()
			})
		},
	}, {
		name: "a remote arrival before the reads", cfg: pair(1), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, full, empty := sm.Shared[int32](b, 4, 16), b.Barrier(), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				empty.Init(t, 1)
				t.ClusterSync()
				for i := range 3 {
					if b.ClusterRank() == 0 {
						empty.WaitParity(t, i+1)
						x.MapShared(1).Store(t, 0, int32(i)) // second
						full.MapShared(1).Arrive(t)
						continue
					}
					full.WaitParity(t, i)
					if broken && i == 0 {
						empty.MapShared(0).Arrive(t)
					}
					got := x.Load(t, 0) // first
					assert(broken || got == int32(i), "round %d has %d", i, got)
					if !broken || i != 0 {
						empty.MapShared(0).Arrive(t)
					}
				}
				t.ClusterSync()
			})
		},
	}, {
		name: "a peer has not given its stage back", cfg: pair(1), rule: sm.RuleRace,
		also: []sm.Rule{sm.RuleDeadlock, sm.RuleBytes, sm.RulePhase}, // the bytes of two tiles in one phase
		kernel: func(b *sm.Block, broken bool) {
			x, full, empty, n := sm.Shared[int32](b, 16, 16), b.Barrier(), b.Barrier(), 2
			if broken {
				n = 1
			}
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				empty.Init(t, n)
				t.ClusterSync()
				for i := range 3 {
					full.ArriveTx(t, 1, 64)
					if b.ClusterRank() == 0 {
						empty.WaitParity(t, i+1)
						sm.LoadBulkMulticast(t, x, in64[4*i:][:16], full, 0b11) // both
					}
					full.WaitParity(t, i)
					x.Load(t, 5) // first
					if b.ClusterRank() == 0 || !broken {
						empty.MapShared(0).Arrive(t)
					}
				}
				t.ClusterSync()
			})
		},
	}, {
		name: "half of a multicast is not waited for", cfg: pair(2), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, full := sm.Shared[int32](b, 32, 16), b.Barriers(2)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					x.Write(t, 0, make([]int32, 32))
					t.FenceProxyAsync()
					for i := range full {
						full[i].Init(t, 1)
						full[i].ArriveTx(t, 1, 64)
					}
				}
				t.ClusterSync()
				if rank := b.ClusterRank(); t.Rank() == 0 {
					sm.LoadBulkMulticast(t, x.At(16*rank), in64[:16], &full[rank], 0b11) // first
				}
				full[b.ClusterRank()].WaitParity(t, 0)
				if !broken {
					full[1-b.ClusterRank()].WaitParity(t, 0)
				}
				x.Load(t, 16+5) // second
				x.Load(t, 5)    // second
				full[1-b.ClusterRank()].WaitParity(t, 0)
				t.ClusterSync()
			})
		},
	}}
}

// copyBulkUnordered has copies, stores and reductions from one CTA's shared memory to another's.
func copyBulkUnordered() []unordered {
	return []unordered{{
		name: "a copy from a peer is read before the wait", cfg: pair(1), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, y, full := sm.Shared[int32](b, 4, 16), sm.Shared[int32](b, 4, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				full.ArriveTx(t, 1, 16)
				x.Write(t, 0, in64[:4])
				y.Write(t, 0, in64[:4])
				t.FenceProxyAsync()
				t.ClusterSync()
				peer := 1 - b.ClusterRank()
				t.CopyBulk(y.MapShared(peer), x, full.MapShared(peer)) // first
				if broken {
					y.Load(t, 3) // second
				}
				full.WaitParity(t, 0)
				y.Load(t, 3)
				t.ClusterSync()
			})
		},
	}, {
		name: "the source of a copy to a peer is overwritten", cfg: pair(1), rule: sm.RuleRace,
		also: []sm.Rule{sm.RuleSource},
		kernel: func(b *sm.Block, broken bool) {
			x, y, full := sm.Shared[int32](b, 4, 16), sm.Shared[int32](b, 4, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				full.ArriveTx(t, 1, 16)
				x.Write(t, 0, in64[:4])
				t.FenceProxyAsync()
				t.ClusterSync()
				peer := 1 - b.ClusterRank()
				t.CopyBulk(y.MapShared(peer), x, full.MapShared(peer)) // first
				full.WaitParity(t, 0)
				if !broken {
					t.ClusterSync()
				}
				x.Store(t, 3, 9) // second
				t.ClusterSync()
			})
		},
	}, {
		name: "a copy over what the peer still reads", cfg: pair(1), rule: sm.RuleRace,
		also: []sm.Rule{sm.RulePhase, sm.RuleDeadlock, sm.RuleBytes},
		kernel: func(b *sm.Block, broken bool) {
			x, y, full := sm.Shared[int32](b, 4, 16), sm.Shared[int32](b, 4, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				x.Write(t, 0, in64[:4])
				t.FenceProxyAsync()
				t.ClusterSync()
				for i := range 2 {
					peer := 1 - b.ClusterRank()
					full.ArriveTx(t, 1, 16)
					t.CopyBulk(y.MapShared(peer), x, full.MapShared(peer)) // both
					full.WaitParity(t, i)
					y.Load(t, 3) // first
					if !broken {
						t.ClusterSync()
					}
				}
				t.ClusterSync()
			})
		},
	}, {
		name: "st.async is read before the wait", cfg: pair(1), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, full := sm.Shared[int32](b, 1, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				full.ArriveTx(t, 1, 4)
				x.Store(t, 0, 0)
				t.ClusterSync()
				peer := 1 - b.ClusterRank()
				sm.StoreAsync(t, x.MapShared(peer), int32(7), full.MapShared(peer)) // first
				if broken {
					x.Load(t, 0) // second
				}
				full.WaitParity(t, 0)
				assert(x.Load(t, 0) == 7, "stored %d", x.Load(t, 0))
				t.ClusterSync()
			})
		},
	}, {
		name: "two CTAs st.async to one word", cfg: pair(1), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, full := sm.Shared[int32](b, 2, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				full.ArriveTx(t, 1, 8)
				t.ClusterSync()
				at := b.ClusterRank()
				if broken {
					at = 0
				}
				for rank := range 2 {
					sm.StoreAsync(t, x.MapShared(rank).At(at), int32(7), full.MapShared(rank)) // both
				}
				full.WaitParity(t, 0)
				t.ClusterSync()
			})
		},
	}, {
		name: "red.async to what its owner clears", cfg: pair(1), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, full := sm.Shared[int32](b, 1, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				full.ArriveTx(t, 1, 8)
				x.Store(t, 0, 0)
				t.ClusterSync()
				if broken {
					x.Store(t, 0, 0) // first
				}
				for rank := range 2 {
					sm.ReduceAsync(t, tile.ReduceAdd, x.MapShared(rank), int32(3), full.MapShared(rank)) // second
				}
				full.WaitParity(t, 0)
				assert(broken || x.Load(t, 0) == 6, "the sum is %d", x.Load(t, 0))
				t.ClusterSync()
			})
		},
	}, {
		name: "the sum of a reduction is read before the wait", cfg: pair(1), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, y, full := sm.Shared[int32](b, 4, 16), sm.Shared[int32](b, 4, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				full.ArriveTx(t, 1, 32)
				x.Write(t, 0, in64[:4])
				y.Write(t, 0, make([]int32, 4))
				t.FenceProxyAsync()
				t.ClusterSync()
				for rank := range 2 {
					t.ReduceBulk(tile.ReduceAdd, y.MapShared(rank), x, full.MapShared(rank)) // first
				}
				if broken {
					y.Load(t, 3) // second
				}
				full.WaitParity(t, 0)
				assert(broken || y.Load(t, 3) == 6, "the sum is %d", y.Load(t, 3))
				t.ClusterSync()
			})
		},
	}}
}
