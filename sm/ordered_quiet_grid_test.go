package sm_test

import "example.com/leafhopper/sm"

// quietGrids is what grid.sync orders.
func quietGrids() []quiet {
	partial, sums := make([]int, 6), make([]int, 6)
	return []quiet{
		{"split K, reduced behind grid.sync", sm.Config{
			Grid: sm.Dim3{X: 3, Y: 2}, Block: sm.Dim3{X: 64}, Cooperative: true, Reset: func() { clear(sums) },
		}, func(b *sm.Block) {
			x := sm.Shared[int32](b, 64, 16)
			at := b.Idx.X + 3*b.Idx.Y
			b.Start(sm.Threads(0, 32, func(t *sm.Thread) {
				for i := range 3 {
					x.Store(t, t.Rank(), int32(i))
					t.GridSync()
					if t.Rank() == 0 {
						for _, p := range partial {
							sums[at] += p
						}
					}
					t.GridSync()
				}
				assert(t.Rank() > 0 || sums[at] == 3*15, "the sum is %d", sums[at])
			}), sm.Warps(1, 2, func(w *sm.Warp) {
				for i := range 3 {
					partial[at] = at
					w.GridSync()
					assert(x.Load(w, 31) == int32(i), "round %d", i)
					w.GridSync()
				}
			}))
		}},
		{"grid.sync of clusters, and their shared memory", sm.Config{
			Grid: sm.Dim3{X: 4}, Cluster: sm.Dim3{X: 2}, Block: sm.Dim3{X: 2}, Cooperative: true,
		}, func(b *sm.Block) {
			x := sm.Shared[int32](b, 2, 16)
			b.Threads(func(t *sm.Thread) {
				peer := x.MapShared(1 - b.ClusterRank())
				t.GridSync()
				t.ClusterArrive()
				for i := range int32(3) {
					peer.Store(t, t.Rank(), i)
					t.GridSync()
					assert(x.Load(t, 1-t.Rank()) == i, "round %d", i)
					t.GridSync()
				}
				t.ClusterWait()
				peer.Load(t, 0)
				t.GridSync()
			})
		}},
	}
}
