package sm_test

import (
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// rows is a tensor of eight rows of four numbers, a box of which is one.
func rows(first int32) (data []int32, m *tile.TensorMap) {
	data = make([]int32, 8*4)
	for i := range data {
		data[i] = first + int32(i)
	}
	m, err := sm.NewTensorMap(data, tile.Config{Dims: []uint64{4, 8}, Box: []uint32{4, 1}})
	assert(err == nil, "%v", err)
	return data, m
}

var (
	rows0, map0 = rows(0)
	rows100, _  = rows(100)
)

// scratchMap returns the map of a tensor to store to, of a launch's own: others run beside it.
func scratchMap() *tile.TensorMap {
	_, m := rows(0)
	return m
}

// loadRow has t load a row through a map.
func loadRow(t *sm.Thread, x *sm.Array[int32], m sm.TensorMap, full *sm.Barrier, row int) {
	full.ArriveTx(t, 1, 16)
	t.LoadTensor(x, m, full, 0, row)
}

// tensorMapUnordered has maps in global memory that are changed, and copies through them, with too little between.
func tensorMapUnordered() []unordered {
	one := func(f func(t *sm.Thread, slot *sm.TMADescriptor, x *sm.Array[int32], full *sm.Barrier, broken bool)) func(
		b *sm.Block, broken bool) {
		return func(b *sm.Block, broken bool) {
			x, full, slot := sm.Shared[int32](b, 4, 128), b.Barrier(), new(sm.TMADescriptor)
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				f(t, slot, x, full, broken)
			})
		}
	}
	return []unordered{{
		name: "a map changed in place, not released", rule: sm.RuleProxy,
		kernel: one(func(t *sm.Thread, slot *sm.TMADescriptor, x *sm.Array[int32], full *sm.Barrier, broken bool) {
			slot.Store(t, map0)
			sm.ReplaceGlobalAddress(t, slot, rows100) // first
			if !broken {
				t.FenceTensorMapRelease(sm.ScopeDevice)
			}
			slot.FenceAcquire(t, sm.ScopeDevice)
			full.ArriveTx(t, 1, 16)
			t.LoadTensor(x, slot, full, 0, 2) // second
			full.WaitParity(t, 0)
			assert(broken || x.Load(t, 1) == 109, "%d", x.Load(t, 1))
		}),
	}, {
		name: "a map released and not acquired", rule: sm.RuleProxy,
		kernel: one(func(t *sm.Thread, slot *sm.TMADescriptor, x *sm.Array[int32], full *sm.Barrier, broken bool) {
			slot.Store(t, map0) // first
			t.FenceTensorMapRelease(sm.ScopeDevice)
			if !broken {
				slot.FenceAcquire(t, sm.ScopeDevice)
			}
			t.PrefetchTensor(slot, 0, 2) // second
		}),
	}, {
		name: "a map acquired before it is released", rule: sm.RuleProxy,
		kernel: one(func(t *sm.Thread, slot *sm.TMADescriptor, x *sm.Array[int32], full *sm.Barrier, broken bool) {
			slot.Store(t, map0) // first
			if broken {
				slot.FenceAcquire(t, sm.ScopeDevice)
			}
			t.FenceTensorMapRelease(sm.ScopeDevice)
			if !broken {
				slot.FenceAcquire(t, sm.ScopeDevice)
			}
			t.PrefetchTensor(slot, 0, 2) // second
		}),
	}, {
		name: "a map of the host's, not acquired", rule: sm.RuleProxy,
		kernel: one(func(t *sm.Thread, slot *sm.TMADescriptor, x *sm.Array[int32], full *sm.Barrier, broken bool) {
			slot.Set(map0)
			if !broken {
				slot.FenceAcquire(t, sm.ScopeSystem)
			}
			t.PrefetchTensor(slot, 0, 2) // first
		}),
	}, {
		name: "a map acquired before the last change", rule: sm.RuleProxy,
		kernel: one(func(t *sm.Thread, slot *sm.TMADescriptor, x *sm.Array[int32], full *sm.Barrier, broken bool) {
			slot.Store(t, map0)
			t.FenceTensorMapRelease(sm.ScopeDevice)
			slot.FenceAcquire(t, sm.ScopeDevice)
			slot.ReplaceGlobalDim(t, 1, 3) // first
			t.FenceTensorMapRelease(sm.ScopeDevice)
			if !broken {
				slot.FenceAcquire(t, sm.ScopeDevice)
			}
			t.PrefetchTensor(slot, 0, 2) // second
		}),
	}, {
		name: "a map changed while a load may read it", rule: sm.RuleSource,
		kernel: one(func(t *sm.Thread, slot *sm.TMADescriptor, x *sm.Array[int32], full *sm.Barrier, broken bool) {
			slot.Set(map0)
			slot.FenceAcquire(t, sm.ScopeDevice)
			full.ArriveTx(t, 1, 16)
			t.LoadTensor(x, slot, full, 0, 2) // first
			if !broken {
				full.WaitParity(t, 0)
			}
			sm.ReplaceGlobalAddress(t, slot, rows100) // second
			full.WaitParity(t, 0)
		}),
	}, {
		name: "a map changed behind a wait for no group", rule: sm.RuleSource,
		kernel: one(func(t *sm.Thread, slot *sm.TMADescriptor, x *sm.Array[int32], full *sm.Barrier, broken bool) {
			slot.Set(map0)
			slot.FenceAcquire(t, sm.ScopeDevice)
			full.ArriveTx(t, 1, 16)
			t.LoadTensor(x, slot, full, 0, 2) // first
			if !broken {
				t.CommitGroup()
			}
			t.WaitGroupRead(0)
			sm.ReplaceGlobalAddress(t, slot, rows100) // second
			full.WaitParity(t, 0)
		}),
	}, {
		name: "a map changed while a store may read it", rule: sm.RuleSource,
		kernel: one(func(t *sm.Thread, slot *sm.TMADescriptor, x *sm.Array[int32], full *sm.Barrier, broken bool) {
			slot.Set(scratchMap())
			slot.FenceAcquire(t, sm.ScopeDevice)
			x.Write(t, 0, in64[:4])
			t.FenceProxyAsync()
			t.StoreTensor(slot, x, 0, 3) // first
			t.CommitGroup()
			if !broken {
				t.WaitGroupRead(0)
			}
			slot.ReplaceGlobalDim(t, 1, 3) // second
			t.WaitGroup(0)
		}),
	}, {
		name: "a map changed beside a copy through it", cfg: block(2), rule: sm.RuleRace, also: []sm.Rule{sm.RuleProxy},
		kernel: func(b *sm.Block, broken bool) {
			x, full, slot := sm.Shared[int32](b, 4, 128), b.Barrier(), new(sm.TMADescriptor)
			slot.Set(map0)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 1 {
					sm.ReplaceGlobalAddress(t, slot, rows100) // both
					t.FenceTensorMapRelease(sm.ScopeBlock)
				}
				if !broken {
					t.SyncThreads()
				}
				if t.Rank() == 0 {
					full.Init(t, 1)
					slot.FenceAcquire(t, sm.ScopeBlock)
					full.ArriveTx(t, 1, 16)
					t.LoadTensor(x, slot, full, 0, 2) // both
					full.WaitParity(t, 0)
				}
			})
		},
	}, {
		name: "two threads change a map", cfg: block(2), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			slot := new(sm.TMADescriptor)
			slot.Set(map0)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 1 || broken {
					slot.ReplaceGlobalDim(t, 0, 4) // both
				}
			})
		},
	}, {
		name: "a map of shared memory that the warp does not know of", cfg: block(32), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			smem, slot := b.TMADescriptor(), new(sm.TMADescriptor)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					smem.Store(t, map0)
				}
				t.SyncWarp()
				if t.Rank() == 0 {
					sm.ReplaceGlobalAddress(t, smem, rows100) // both
				}
				if !broken {
					t.SyncWarp()
				}
				slot.CopyFenceRelease(t, smem, sm.ScopeDevice) // both
			})
		},
	}, {
		name: "a map of shared memory changed while a warp copies it", cfg: block(33), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			smem, slot := b.TMADescriptor(), new(sm.TMADescriptor)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					smem.Store(t, map0)
				}
				t.SyncThreads()
				if t.Rank() < 32 {
					slot.CopyFenceRelease(t, smem, sm.ScopeDevice) // both
				}
				if !broken {
					t.SyncThreads()
				}
				if t.Rank() == 32 {
					smem.ReplaceGlobalDim(t, 1, 3) // both
				}
			})
		},
	}, {
		name: "acquired in another CTA of the cluster", cfg: pair(1), rule: sm.RuleProxy,
		kernel: clustered(func(t *sm.Thread, slot *sm.TMADescriptor, broken bool) {
			if t.Block().ClusterRank() == 0 {
				slot.ReplaceGlobalDim(t, 1, 6) // first
				t.FenceTensorMapRelease(sm.ScopeCluster)
				slot.FenceAcquire(t, sm.ScopeCluster)
			}
			t.ClusterSync()
			if t.Block().ClusterRank() == 1 {
				if !broken {
					slot.FenceAcquire(t, sm.ScopeCluster)
				}
				t.PrefetchTensor(slot, 0, 2) // second
			}
		}),
	}, {
		name: "released to the CTA and not to the cluster", cfg: pair(1), rule: sm.RuleProxy,
		kernel: clustered(func(t *sm.Thread, slot *sm.TMADescriptor, broken bool) {
			scope := sm.ScopeCluster
			if broken {
				scope = sm.ScopeBlock
			}
			if t.Block().ClusterRank() == 0 {
				slot.ReplaceGlobalDim(t, 1, 6)
				t.FenceTensorMapRelease(scope) // first
			}
			t.ClusterSync()
			if t.Block().ClusterRank() == 1 {
				slot.FenceAcquire(t, sm.ScopeDevice) // second
				t.PrefetchTensor(slot, 0, 2)
			}
		}),
	}}
}

// clustered is a kernel whose cluster has a slot.
func clustered(f func(t *sm.Thread, slot *sm.TMADescriptor, broken bool)) func(b *sm.Block, broken bool) {
	slot := new(sm.TMADescriptor)
	slot.Set(map0)
	return func(b *sm.Block, broken bool) {
		b.Threads(func(t *sm.Thread) { f(t, slot, broken) })
	}
}
