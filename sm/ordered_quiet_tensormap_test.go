package sm_test

import (
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// quietTensorMaps changes maps as CUTLASS does and as others do.
func quietTensorMaps() []quiet {
	return []quiet{{"a group after the other, loads of the last still on their way", block(32), func(b *sm.Block) {
		const groups = 4
		x, full := sm.Shared[int32](b, groups*32, 128), b.Barriers(groups)
		smem, slot := b.TMADescriptor(), new(sm.TMADescriptor)
		b.Threads(func(t *sm.Thread) {
			if t.Elected() {
				for i := range full {
					full[i].Init(t, 1)
				}
				smem.Store(t, map0)
			}
			t.SyncWarp()
			for g := range groups {
				if t.Elected() {
					sm.ReplaceGlobalAddress(t, smem, rows0[4*g:])
					smem.ReplaceGlobalDim(t, 1, uint32(8-g))
				}
				t.SyncWarp()
				if t.Elected() {
					t.CommitGroup()
					t.WaitGroupRead(0)
				}
				slot.CopyFenceRelease(t, smem, sm.ScopeDevice)
				slot.FenceAcquire(t, sm.ScopeDevice)
				if t.Elected() {
					loadRow(t, x.At(32*g), slot, &full[g], 1)
				}
			}
			for g := range groups {
				full[g].WaitParity(t, 0)
				got := x.Load(t, 32*g)
				assert(got == int32(4*g+4), "group %d begins with %d", g, got)
			}
		})
	}}, {"a warp in lockstep, and another that copies", block(64), func(b *sm.Block) {
		x, full, smem, slot := sm.Shared[int32](b, 4, 128), b.Barrier(), b.TMADescriptor(), new(sm.TMADescriptor)
		b.Start(sm.Warps(0, 1, func(w *sm.Warp) {
			smem.Store(w.Thread(0), map0)
			smem.ReplaceGlobalStride(w.Thread(0), 0, 32)
			smem.ReplaceGlobalDim(w.Thread(0), 1, 4)
			slot.CopyFenceRelease(w, smem, sm.ScopeBlock)
			w.SyncThreads()
		}), sm.Warps(1, 2, func(w *sm.Warp) {
			full.Init(w.Thread(0), 1)
			w.SyncThreads()
			slot.FenceAcquire(w, sm.ScopeBlock)
			loadRow(w.Thread(0), x, slot, full, 1)
			full.WaitParity(w, 0)
			got := x.Load(w, 0)
			assert(got == 8, "every other row, the second begins with %d", got)
		}))
	}}, {"a map for the whole block, changed in place", block(4), func(b *sm.Block) {
		x, full, slot := sm.Shared[int32](b, 4*32, 128), b.Barriers(4), new(sm.TMADescriptor)
		b.Threads(func(t *sm.Thread) {
			full[t.Rank()].Init(t, 1)
			for round := range uint32(3) {
				if t.Rank() == int(round) {
					slot.Store(t, map0)
					slot.ReplaceFillMode(t, tile.FillZero)
					slot.ReplaceGlobalDim(t, 1, 2+round)
					t.FenceTensorMapRelease(sm.ScopeBlock)
				}
				t.SyncThreads()
				if t.Rank() == 3 {
					slot.FenceAcquire(t, sm.ScopeBlock) // for all
				}
				t.SyncThreads()
				bar := &full[t.Rank()]
				loadRow(t, x.At(32*t.Rank()), slot, bar, 2)
				bar.WaitParity(t, int(round)%2)
				got, inside := x.Load(t, 32*t.Rank()+3), round > 0
				assert(inside == (got == 11), "round %d has %d", round, got)
				t.SyncThreads()
			}
		})
	}}, {"an epilogue, of whose warpgroup the first warp changes the map of C", block(128), func(b *sm.Block) {
		x, smem, slot := sm.Shared[int32](b, 4, 128), b.TMADescriptor(), new(sm.TMADescriptor)
		c := [2][]int32{make([]int32, 8*4), make([]int32, 8*4)}
		b.Warpgroups(func(w *sm.Warpgroup) {
			t := w.Thread(0)
			smem.Store(t, scratchMap())
			for g := range c {
				sm.ReplaceGlobalAddress(t, smem, c[g])
				t.CommitGroup()
				t.WaitGroupRead(0)
				slot.CopyFenceRelease(w.Warp(0), smem, sm.ScopeDevice)
				slot.FenceAcquire(w, sm.ScopeDevice)
				x.Write(w, 0, in64[4*g:4*g+4])
				t.FenceProxyAsync()
				t.StoreTensor(slot, x, 0, 5)
			}
			t.CommitGroup()
			t.WaitGroup(0)
			assert(c[0][21] == 1 && c[1][21] == 5, "%d, %d", c[0][21], c[1][21])
		})
	}}, {"a multicast through a map that changes when one of the CTAs has its box", pair(1), func(b *sm.Block) {
		x, full, slot := sm.Shared[int32](b, 2*32, 128), b.Barriers(2), new(sm.TMADescriptor)
		b.Threads(func(t *sm.Thread) {
			for i := range full {
				full[i].Init(t, 1)
				full[i].ArriveTx(t, 1, 16)
			}
			t.ClusterSync()
			if b.ClusterRank() == 0 {
				for i, rows := range [][]int32{rows0, rows100} {
					slot.Store(t, map0)
					sm.ReplaceGlobalAddress(t, slot, rows)
					t.FenceTensorMapRelease(sm.ScopeBlock)
					slot.FenceAcquire(t, sm.ScopeBlock)
					t.LoadTensorMulticast(x.At(32*i), slot, &full[i], 3, 0, 4)
					full[i].WaitParity(t, 0)
				}
			}
			full[0].WaitParity(t, 0)
			full[1].WaitParity(t, 0)
			got := [2]int32{x.Load(t, 0), x.Load(t, 32)}
			assert(got == [2]int32{16, 116}, "%d", got)
			t.ClusterSync()
		})
	}}, {"a reduction through a map that changes behind it", block(1), func(b *sm.Block) {
		x, slot, c := sm.Shared[int32](b, 4, 128), new(sm.TMADescriptor), [2][]int32{make([]int32, 8*4), make([]int32, 8*4)}
		b.Threads(func(t *sm.Thread) {
			x.Write(t, 0, in64[:4])
			t.FenceProxyAsync()
			slot.Store(t, scratchMap())
			for g := range c {
				sm.ReplaceGlobalAddress(t, slot, c[g])
				t.FenceTensorMapRelease(sm.ScopeBlock)
				slot.FenceAcquire(t, sm.ScopeBlock)
				t.ReduceTensor(tile.ReduceAdd, slot, x, 0, 1)
				t.ReduceTensor(tile.ReduceAdd, slot, x, 0, 1)
				t.CommitGroup()
				t.WaitGroupRead(0)
			}
			t.WaitGroup(0)
			assert(c[0][7] == 6 && c[1][7] == 6, "%d, %d", c[0][7], c[1][7])
		})
	}}, {"a map made in shared memory, copied word by word", block(2), func(b *sm.Block) {
		smem, slot := b.TMADescriptors(2), new(sm.TMADescriptor)
		b.Threads(func(t *sm.Thread) {
			if t.Rank() == 0 {
				smem[1].Store(t, map0)
				smem[1].ReplaceBoxDim(t, 1, 2)
				slot.Store(t, &smem[1])
			}
			t.SyncThreads()
			if t.Rank() == 1 {
				t.FenceTensorMapRelease(sm.ScopeDevice) // who has been told
				slot.FenceAcquire(t, sm.ScopeDevice)
				t.PrefetchTensor(slot, 0, 2)
				smem[0].Store(t, slot)
			}
		})
	}}}
}
