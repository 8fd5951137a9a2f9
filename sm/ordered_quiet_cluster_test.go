package sm_test

import (
	"sync/atomic"

	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// four is a cluster of four CTAs of n threads.
func four(n int) sm.Config {
	return sm.Config{Grid: sm.Dim3{X: 4}, Cluster: sm.Dim3{X: 4}, Block: sm.Dim3{X: n}}
}

// quietClusters is distributed shared memory.
func quietClusters() []quiet {
	return []quiet{
		{"a reduction over CTAs", four(2), func(b *sm.Block) {
			x := sm.Shared[int32](b, 2, 16)
			b.Threads(func(t *sm.Thread) {
				for i := range int32(2) {
					x.Store(t, t.Rank(), i+int32(b.ClusterRank()))
					t.ClusterSync()
					sum := int32(0)
					for rank := range 4 {
						sum += x.MapShared(rank).Load(t, 1-t.Rank())
					}
					assert(sum == 4*i+6, "the sum is %d", sum)
					t.ClusterSync()
				}
			})
		}},
		{"halos of neighbours", four(2), func(b *sm.Block) {
			x := sm.Shared[int32](b, 4, 16) // the first and the last are the neighbours'
			b.Threads(func(t *sm.Thread) {
				left, right := x.MapShared((b.ClusterRank()+3)%4), x.MapShared((b.ClusterRank()+1)%4)
				t.ClusterSync()
				for i := range int32(3) {
					x.Store(t, 1+t.Rank(), i)
					if t.Rank() == 0 {
						left.Store(t, 3, i)
					} else {
						right.Store(t, 0, i)
					}
					t.ClusterSync()
					assert(x.Load(t, 2*t.Rank())+x.Load(t, 2*t.Rank()+1) == 2*i, "round %d", i)
					t.ClusterSync()
				}
			})
		}},
		{"a cluster barrier in two halves", pair(2), func(b *sm.Block) {
			x, y := sm.Shared[int32](b, 2, 16), sm.Shared[int32](b, 2, 16)
			b.Threads(func(t *sm.Thread) {
				for i := range int32(3) {
					x.Store(t, t.Rank(), i)
					t.ClusterArrive()
					y.Store(t, t.Rank(), i)
					t.SyncThreads()
					assert(y.Load(t, 1-t.Rank()) == i, "its own")
					t.ClusterWait()
					assert(x.MapShared(1-b.ClusterRank()).Load(t, 1-t.Rank()) == i, "the peer's")
					t.ClusterSync()
				}
			})
		}},
		{"arrivals at a peer", pair(2), func(b *sm.Block) {
			x, full, empty := sm.Shared[int32](b, 1, 16), b.Barrier(), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					full.Init(t, 1)
					empty.Init(t, 1)
				}
				t.ClusterSync()
				for i := range 4 {
					if t.Rank() == 0 { // for the peer
						empty.WaitParity(t, i+1)
						x.MapShared(1-b.ClusterRank()).Store(t, 0, int32(i))
						full.MapShared(1 - b.ClusterRank()).Arrive(t)
						continue
					}
					full.WaitParity(t, i)
					assert(x.Load(t, 0) == int32(i), "value %d is %d", i, x.Load(t, 0))
					empty.MapShared(1 - b.ClusterRank()).Arrive(t)
				}
				t.ClusterSync()
			})
		}},
		{"a peer writes what is then stored", pair(1), func(b *sm.Block) {
			x, out := sm.Shared[int32](b, 4, 16), make([]int32, 4)
			b.Threads(func(t *sm.Thread) {
				t.ClusterSync()
				x.MapShared(1-b.ClusterRank()).Write(t, 0, in64[:4])
				t.FenceProxyAsync()
				t.ClusterSync()
				sm.StoreBulk(t, out, x)
				t.CommitGroup()
				t.WaitGroup(0)
				assert(out[3] == 3, "stored %v", out)
			})
		}},
		{"reductions into one word", four(1), func(b *sm.Block) {
			x, full := sm.Shared[int32](b, 1, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				for i := range 3 {
					full.ArriveTx(t, 1, 16)
					x.Store(t, 0, 0)
					t.ClusterSync()
					for rank := range 4 {
						sm.ReduceAsync(t, tile.ReduceAdd, x.MapShared(rank), int32(1+b.ClusterRank()), full.MapShared(rank))
					}
					full.WaitParity(t, i)
					assert(x.Load(t, 0) == 10, "the sum is %d", x.Load(t, 0))
				}
				t.ClusterSync()
			})
		}},
		{"reductions into one array", four(1), func(b *sm.Block) {
			x, y, full := sm.Shared[int32](b, 4, 16), sm.Shared[int32](b, 4, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				full.ArriveTx(t, 1, 4*16)
				x.Write(t, 0, in64[:4])
				y.Write(t, 0, make([]int32, 4))
				t.FenceProxyAsync()
				t.ClusterSync()
				for rank := range 4 {
					t.ReduceBulk(tile.ReduceAdd, y.MapShared(rank), x, full.MapShared(rank))
				}
				full.WaitParity(t, 0)
				assert(y.Load(t, 3) == 12, "the sum is %d", y.Load(t, 3))
				t.ClusterSync()
			})
		}},
		{"a flag in a peer's memory", pair(1), func(b *sm.Block) {
			x := sm.Shared[int32](b, 2, 16)
			b.Threads(func(t *sm.Thread) {
				x.Write(t, 0, []int32{0, 0})
				t.ClusterSync()
				if b.ClusterRank() == 1 {
					p := x.MapShared(0)
					p.Store(t, 0, 42)
					t.ThreadFence(sm.ScopeCluster)
					if race.Enabled {
						atomic.StoreInt32(&p.Elements()[1], 1)
					} else {
						p.Elements()[1] = 1
					}
				} else {
					for atomic.LoadInt32(&x.Elements()[1]) == 0 {
						t.ThreadFence(sm.ScopeCluster)
					}
					t.ThreadFence(sm.ScopeCluster)
					assert(x.Load(t, 0) == 42, "not what the flag is for")
				}
				t.ClusterSync()
			})
		}},
	}
}

// quietClusterRings is copies between CTAs and to several of them.
func quietClusterRings() []quiet {
	return []quiet{
		{"a token goes round by st.async", four(1), func(b *sm.Block) {
			x, full := sm.Shared[int32](b, 1, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				t.ClusterSync()
				next := (b.ClusterRank() + 1) % 4
				for i := range 3 {
					full.ArriveTx(t, 1, 4)
					if b.ClusterRank() == 0 {
						sm.StoreAsync(t, x.MapShared(next), int32(10*i), full.MapShared(next))
						full.WaitParity(t, i)
						assert(x.Load(t, 0) == int32(10*i+3), "lap %d ends with %d", i, x.Load(t, 0))
						continue
					}
					full.WaitParity(t, i)
					sm.StoreAsync(t, x.MapShared(next), x.Load(t, 0)+1, full.MapShared(next))
				}
				t.ClusterSync()
			})
		}},
		{"a ring of CTAs by CopyBulk", four(1), func(b *sm.Block) {
			x := sm.Shared[int32](b, 2*4, 16)
			bars := b.Barriers(2)
			full, empty := &bars[0], &bars[1]
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				empty.Init(t, 1)
				x.Write(t, 0, []int32{int32(b.ClusterRank()), 0, 0, 0})
				t.FenceProxyAsync()
				t.ClusterSync()
				next, last := (b.ClusterRank()+1)%4, (b.ClusterRank()+3)%4
				for i := range 4 {
					from, to := i%2*4, 4-i%2*4
					full.ArriveTx(t, 1, 16)
					empty.WaitParity(t, i+1) // the next CTA has copied what it had there
					t.CopyBulk(x.MapShared(next).At(to), x.Slice(from, from+4), full.MapShared(next))
					full.WaitParity(t, i)
					got := x.Load(t, to)
					assert(got == int32((b.ClusterRank()+3-i+4)%4), "step %d has %d", i, got)
					// The next CTA has what was copied to it when it says so; then this one may be copied to.
					t.ClusterSync()
					empty.MapShared(last).Arrive(t)
				}
				t.ClusterSync()
			})
		}},
		{"a multicast that all have room for", pair(64), func(b *sm.Block) {
			x := sm.Shared[int32](b, 2*16, 16)
			full, empty := b.Barriers(2), b.Barriers(2)
			b.Start(sm.Warps(0, 2, func(w *sm.Warp) {
				t := w.Thread(0)
				if w.Rank() == 0 {
					for s := range 2 {
						full[s].Init(t, 1)
						empty[s].Init(t, 2)
					}
					t.FenceBarrierInit()
				}
				w.ClusterSync()
				mine := 8 * b.ClusterRank()
				for i := range 5 {
					s := i % 2
					if w.Rank() == 0 {
						empty[s].WaitParity(t, i/2+1)
						full[s].ArriveTx(t, 1, 64)
						sm.LoadBulkMulticast(t, x.At(16*s+mine), in64[4*i+mine:][:8], &full[s], 0b11)
						continue
					}
					full[s].WaitParity(w, i/2)
					assert(x.Load(w, 16*s+1) == int32(4*i+1) && x.Load(w, 16*s+9) == int32(4*i+9), "tile %d", i)
					for rank := range 2 {
						empty[s].MapShared(rank).Arrive(w.Thread(rank))
					}
				}
				w.ClusterSync()
			}))
		}},
		{"one CTA loads for the others", four(1), func(b *sm.Block) {
			x, full, empty := sm.Shared[int32](b, 16, 16), b.Barrier(), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				empty.Init(t, 4)
				t.ClusterSync()
				for i := range 3 {
					full.ArriveTx(t, 1, 64)
					if b.ClusterRank() == 0 {
						empty.WaitParity(t, i+1)
						sm.LoadBulkMulticast(t, x, in64[4*i:][:16], full, 0b1111)
					}
					full.WaitParity(t, i)
					assert(x.Load(t, 5) == int32(4*i+5), "tile %d", i)
					empty.MapShared(0).Arrive(t)
				}
				t.ClusterSync()
			})
		}},
		{"bytes that the sender expects at the receiver", pair(1), func(b *sm.Block) {
			x, y := sm.Shared[int32](b, 4, 16), sm.Shared[int32](b, 4, 16)
			full, empty := b.Barrier(), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				empty.Init(t, 1)
				peer := 1 - b.ClusterRank()
				t.ClusterSync()
				for i := range 3 {
					if i > 0 {
						empty.WaitParity(t, i-1) // the peer has what was in x
					}
					x.Store(t, 1, int32(i))
					x.Store(t, 0, 1)
					x.Write(t, 2, in64[:2])
					t.FenceProxyAsync()
					t.CopyBulk(y.MapShared(peer), x, full.MapShared(peer))
					full.MapShared(peer).ArriveTx(t, 1, 16)
					full.WaitParity(t, i)
					assert(y.Load(t, 1) == int32(i), "round %d has %d", i, y.Load(t, 1))
					empty.MapShared(peer).Arrive(t)
				}
				t.ClusterSync()
			})
		}},
		{"a copy within a CTA", sm.Config{}, func(b *sm.Block) {
			x, full := sm.Shared[int32](b, 12, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				x.Write(t, 0, in64[:4])
				t.FenceProxyAsync()
				for i := range 2 {
					full.ArriveTx(t, 1, 16)
					t.CopyBulk(x.At(4*i+4), x.Slice(4*i, 4*i+4), full)
					full.WaitParity(t, i)
				}
				x.Store(t, 0, 9)
				assert(x.Load(t, 11) == 3, "copied %d", x.Load(t, 11))
			})
		}},
		{"sixteen CTAs", sm.Config{Grid: sm.Dim3{X: 16}, Cluster: sm.Dim3{X: 16}, NonPortable: true}, func(b *sm.Block) {
			x := sm.Shared[int32](b, 16, 16)
			b.Threads(func(t *sm.Thread) {
				t.ClusterSync()
				for rank := range 16 {
					x.MapShared(rank).Store(t, b.ClusterRank(), int32(rank))
				}
				t.ClusterSync()
				for i := range 16 {
					assert(x.Load(t, i) == int32(b.ClusterRank()), "from %d", i)
				}
			})
		}},
	}
}
