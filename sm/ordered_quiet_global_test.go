package sm_test

import (
	"sync/atomic"

	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// quietGlobals is what CTAs hand each other in global memory.
func quietGlobals() []quiet {
	const n = 64
	words, sums, flags := make([]uint64, 16), make([]int32, n), make([]uint32, 16)
	sent := new(atomic.Int32)
	reset := func() { clear(words); clear(sums); clear(flags); sent.Store(0) }
	grid := func(clusters, threads int) sm.Config {
		return sm.Config{Grid: sm.Dim3{X: clusters}, Block: sm.Dim3{X: threads}, Reset: reset}
	}
	together := func(clusters, threads int) sm.Config {
		cfg := grid(clusters, threads)
		cfg.Cooperative = true
		return cfg
	}
	matrix, err := sm.NewTensorMap(sums, tile.Config{Dims: []uint64{16, 4}, Box: []uint32{16, 1}})
	if err != nil {
		panic(err)
	}
	wait := func(t *sm.Thread, flag *sm.Array[uint32], n uint32) {
		for sm.AtomicLoad(t, flag) < n {
		}
		t.ThreadFence(sm.ScopeDevice)
	}
	signal := func(t *sm.Thread, flag *sm.Array[uint32]) {
		t.ThreadFence(sm.ScopeDevice)
		sm.AtomicAdd(t, flag, 1)
	}
	pairs := grid(6, 2)
	pairs.Cluster = sm.Dim3{X: 2}
	return []quiet{
		{"a scan that looks back, with sums in the flags", grid(6, 2), func(b *sm.Block) {
			const ready, done = 1 << 32, 2 << 32
			state := sm.Global(b, words)
			b.Threads(func(t *sm.Thread) {
				t.SyncThreads()
				if t.Rank() != 0 {
					return
				}
				own, before := uint64(b.Idx.X+1), uint64(0)
				if b.Idx.X > 0 {
					sm.AtomicStore(t, state.At(b.Idx.X), ready|own)
				}
				for i := b.Idx.X - 1; i >= 0; {
					switch v := sm.AtomicLoad(t, state.At(i)); v >> 32 << 32 {
					case ready:
						before += v % ready
						i--
					case done:
						before += v % ready
						i = -1
					}
				}
				sm.AtomicStore(t, state.At(b.Idx.X), done|before+own)
				assert(before == own*(own-1)/2, "%d before %d", before, own)
			})
		}},
		{"split K in turn, by a semaphore", grid(5, 4), func(b *sm.Block) {
			c, turn := sm.Global(b, sums), sm.Global(b, flags)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					wait(t, turn, uint32(b.Idx.X))
				}
				t.SyncThreads()
				for i := t.Rank(); i < n; i += 4 {
					c.Store(t, i, c.Load(t, i)+int32(b.Idx.X))
				}
				t.SyncThreads()
				if t.Rank() == 0 {
					signal(t, turn)
				}
			})
		}},
		{"stream K, whose tiles two CTAs may share", grid(3, 32), func(b *sm.Block) {
			// Four tiles of three steps: each CTA has four steps in a row. Who has a tile's last step adds what others had.
			partial, ready := sm.Global(b, sums), sm.Global(b, flags)
			b.Start(sm.Warps(0, 1, func(w *sm.Warp) {
				for step := 4 * b.Idx.X; step < 4*b.Idx.X+4; {
					tile, end := step/3, min(step/3*3+3, 4*b.Idx.X+4)
					t := w.Thread(0)
					if end%3 > 0 { // another has the last
						partial.Write(w, 16*tile, ramp(end-step))
						w.SyncWarp()
						signal(t, ready.At(tile))
					} else if step%3 > 0 {
						wait(t, ready.At(tile), 1)
						w.SyncWarp()
						got := make([]int32, step%3)
						partial.Read(w, 16*tile, got)
						for i := range got {
							assert(got[i] == int32(i), "part %d is %d", i, got[i])
						}
					}
					step = end
				}
			}))
		}},
		{"a grid barrier by hand", together(4, 2), func(b *sm.Block) {
			x, arrived := sm.Global(b, sums), sm.Global(b, flags)
			b.Threads(func(t *sm.Thread) {
				at := 2*b.Idx.X + t.Rank()
				for round := range int32(3) {
					x.Store(t, at, round)
					t.SyncThreads()
					if t.Rank() == 0 {
						signal(t, arrived)
						wait(t, arrived, uint32(8*round+4))
					}
					t.SyncThreads()
					got := x.Load(t, (at+3)%8)
					assert(got == round, "round %d has %d", round, got)
					t.SyncThreads()
					if t.Rank() == 0 {
						signal(t, arrived)
						wait(t, arrived, uint32(8*round+8))
					}
					t.SyncThreads()
				}
			})
		}},
		{"a chain of clusters", pairs, func(b *sm.Block) {
			x, turn := sm.Global(b, sums), sm.Global(b, flags)
			cluster := b.Idx.X / 2
			b.Threads(func(t *sm.Thread) {
				if b.ClusterRank() == 0 && t.Rank() == 1 {
					wait(t, turn, uint32(cluster))
				}
				t.ClusterSync()
				at := b.ClusterRank()*2 + t.Rank()
				was := x.Load(t, 3-at)
				t.ClusterSync()
				x.Store(t, at, was+1)
				t.ClusterSync()
				x.Store(t, 8+at, x.Load(t, 3-at))
				t.ClusterSync()
				if b.ClusterRank() == 1 && t.Rank() == 0 {
					signal(t, turn)
				}
			})
		}},
		{"tiles by the TMA, and back behind grid.sync", together(4, 3), func(b *sm.Block) {
			x := sm.Global(b, sums)
			row, full := sm.Shared[int32](b, 16, 128), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					full.Init(t, 1)
					row.Write(t, 0, ramp(16))
					t.FenceProxyAsync()
					t.StoreTensor(matrix, row, 0, b.Idx.X)
					t.CommitGroup()
					t.WaitGroup(0)
				}
				t.GridSync()
				at := (b.Idx.X + 1) % 4
				if t.Rank() == 0 {
					full.ArriveTx(t, 1, 64)
					t.LoadTensor(row, matrix, full, 0, at)
				}
				full.WaitParity(t, 0)
				got := x.Load(t, 16*at+5)
				assert(row.Load(t, 5) == 5 && got == 5, "row has %d, x %d", row.Load(t, 5), got)
				t.GridSync()
				if t.Rank() == 0 {
					x.Write(t, 16*b.Idx.X, make([]int32, 16))
				}
				t.GridSync()
				if t.Rank() == 0 {
					t.FenceProxyAsync() // by who has been told
					full.ArriveTx(t, 1, 64)
					sm.LoadBulk(t, row, sums[16*at:16*at+16], full)
				}
				full.WaitParity(t, 1)
				assert(row.Load(t, 5) == 0, "row has %d", row.Load(t, 5))
				t.SyncThreads()
				sm.MemcpyAsync(t, row.Slice(4*t.Rank(), 4*t.Rank()+4), sums[4*t.Rank():4*t.Rank()+4], nil)
				t.WaitAll()
			})
		}},
		{"what lies beside an array, and is ordered by what nobody sees", grid(4, 1), func(b *sm.Block) {
			sm.Global(b, sums[:16])
			row := sm.Shared[int32](b, 16, 128)
			b.Threads(func(t *sm.Thread) {
				row.Write(t, 0, ramp(16))
				t.FenceProxyAsync()
				for sent.Load() != int32(b.Idx.X) {
					t.SyncWarp()
				}
				sm.StoreBulk(t, sums[16:32], row)
				t.CommitGroup()
				t.WaitGroup(0)
				sent.Add(1)
			})
		}},
		{"sums of all CTAs by the TMA", grid(5, 1), func(b *sm.Block) {
			x, row, done := sm.Global(b, sums), sm.Shared[int32](b, 16, 128), sm.Global(b, flags)
			b.Threads(func(t *sm.Thread) {
				row.Write(t, 0, ramp(16))
				t.FenceProxyAsync()
				t.ReduceTensor(tile.ReduceAdd, matrix, row, 0, 1)
				t.CommitGroup()
				t.WaitGroup(0)
				t.ThreadFence(sm.ScopeDevice)
				if sm.AtomicAdd(t, done, 1) == 4 {
					t.ThreadFence(sm.ScopeDevice)
					got := x.Load(t, 16+15)
					assert(got == 5*15, "the sum is %d", got)
				}
			})
		}},
	}
}
