package sm_test

import (
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// counted is a counter that begins as 0, as all threads of the block know.
func counted(b *sm.Block, f func(t *sm.Thread, x *sm.Array[int32])) {
	x := sm.Shared[int32](b, 4, 16)
	b.Threads(func(t *sm.Thread) {
		if t.Rank() == 0 {
			x.Write(t, 0, make([]int32, 4))
		}
		t.ClusterSync()
		f(t, x)
	})
}

// passed is a message and its flag, between two threads of the block, with a fence before the one and after the other.
func passed(b *sm.Block, write, read func(t *sm.Thread, message *sm.Array[int32]), release, acquire bool) {
	message := sm.Shared[int32](b, 1, 16)
	counted(b, func(t *sm.Thread, flag *sm.Array[int32]) {
		if t.Rank() == 0 {
			write(t, message)
			if release {
				t.ThreadFence(sm.ScopeBlock)
			}
			sm.AtomicStore(t, flag, 1)
			return
		}
		for sm.AtomicLoad(t, flag) == 0 {
		}
		if acquire {
			t.ThreadFence(sm.ScopeBlock)
		}
		read(t, message)
	})
}

// atomicUnordered is atomics and what comes before or after them, with too little in between.
func atomicUnordered() []unordered {
	return []unordered{{
		// Nothing tells the fence from one that comes before a flag which nobody sees: it orders who fences later.
		name: "a lock whose fence comes behind the unlocking", cfg: block(6), rule: sm.RuleRace, rare: true,
		kernel: func(b *sm.Block, broken bool) {
			counted(b, func(t *sm.Thread, x *sm.Array[int32]) {
				for range 3 {
					for sm.AtomicCAS(t, x, 0, 1) != 0 {
					}
					t.ThreadFence(sm.ScopeBlock)
					x.Store(t, 3, x.Load(t, 3)+1) // both
					if !broken {
						t.ThreadFence(sm.ScopeBlock)
					}
					sm.AtomicStore(t, x, 0)
					t.ThreadFence(sm.ScopeBlock)
				}
			})
		},
	}, {
		name: "an atomic and a load", cfg: block(3), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			counted(b, func(t *sm.Thread, x *sm.Array[int32]) {
				sm.AtomicAdd(t, x, 1) // first
				if !broken {
					t.SyncThreads()
				}
				x.Load(t, 0) // second
			})
		},
	}, {
		name: "an atomic and a store that initializes", cfg: block(3), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 1, 16)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					x.Store(t, 0, 0) // first
				}
				if !broken {
					t.SyncThreads()
				}
				if t.Rank() > 0 {
					sm.AtomicMax(t, x, 1) // second
				}
			})
		},
	}, {
		name: "an atomic load and a store", cfg: block(2), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			counted(b, func(t *sm.Thread, x *sm.Array[int32]) {
				if t.Rank() == 0 {
					sm.AtomicLoad(t, x) // first
				}
				if !broken {
					t.SyncThreads()
				}
				if t.Rank() == 1 {
					x.Store(t, 0, 1) // second
				}
			})
		},
	}, {
		name: "an atomic store and a load", cfg: block(2), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			counted(b, func(t *sm.Thread, x *sm.Array[int32]) {
				if t.Rank() == 0 {
					sm.AtomicStore(t, x.At(3), 1) // first
				}
				if !broken {
					t.SyncThreads()
				}
				if t.Rank() == 1 {
					x.Load(t, 3) // second
				}
			})
		},
	}, {
		// The later of two atomics is known, that of another thread before it is not.
		name: "an atomic behind another, and a load", cfg: block(3), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			over := b.Barrier()
			counted(b, func(t *sm.Thread, x *sm.Array[int32]) {
				if t.Rank() == 2 {
					over.Init(t, 1)
				}
				t.SyncThreads()
				switch t.Rank() {
				case 0:
					sm.AtomicAdd(t, x, 1) // first
					t.ThreadFence(sm.ScopeBlock)
					sm.AtomicStore(t, x.At(1), 1)
				case 1:
					for sm.AtomicLoad(t, x.At(1)) == 0 {
					}
					if !broken {
						t.ThreadFence(sm.ScopeBlock)
					}
					sm.AtomicAdd(t, x, 1)
					over.Arrive(t)
				default:
					over.WaitParity(t, 0)
					x.Load(t, 0) // second
				}
			})
		},
	}, {
		// What the atomic load comes after does not disturb it, but the load that comes after neither.
		name: "an atomic before an atomic load, and a load", cfg: block(3), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			over := b.Barrier()
			counted(b, func(t *sm.Thread, x *sm.Array[int32]) {
				if t.Rank() == 0 {
					over.Init(t, 1)
				}
				t.SyncThreads()
				switch t.Rank() {
				case 0:
					sm.AtomicAdd(t, x, 1) // first
					over.Arrive(t)
				case 1:
					over.WaitParity(t, 0)
					sm.AtomicLoad(t, x)
				default:
					if !broken {
						over.WaitParity(t, 0)
					}
					x.Load(t, 0) // second
				}
			})
		},
	}, {
		name: "atomics of 4 and of 8 bytes", cfg: block(2), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			counted(b, func(t *sm.Thread, x *sm.Array[int32]) {
				if t.Rank() == 0 {
					sm.AtomicAdd(t, x.At(1), 1) // first
				}
				if !broken {
					t.SyncThreads()
				}
				if t.Rank() == 1 {
					sm.AtomicAdd(t, sm.Recast[int64](x), 1) // second
				}
			})
		},
	}, {
		name: "an atomic of what nobody has written", cfg: block(2), rule: sm.RuleUnwritten,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[uint32](b, 1, 16)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 && !broken {
					sm.AtomicStore(t, x, 0)
				}
				t.SyncThreads()
				sm.AtomicInc(t, x, 7) // first
			})
		},
	}, {
		name: "an atomic load before the first atomic store", cfg: block(2), rule: sm.RuleUnwritten, rare: true,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[uint32](b, 1, 16)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					sm.AtomicStore(t, x, 0)
				}
				if !broken {
					t.SyncThreads()
				}
				if t.Rank() == 1 {
					sm.AtomicLoad(t, x) // first
				}
			})
		},
	}, {
		name: "a flag and no fences", cfg: block(2), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			passed(b, func(t *sm.Thread, x *sm.Array[int32]) {
				x.Store(t, 0, 1) // first
			}, func(t *sm.Thread, x *sm.Array[int32]) {
				x.Load(t, 0) // second
			}, !broken, !broken)
		},
	}, {
		name: "a flag and no fence before it", cfg: block(2), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			passed(b, func(t *sm.Thread, x *sm.Array[int32]) {
				x.Store(t, 0, 1) // first
			}, func(t *sm.Thread, x *sm.Array[int32]) {
				x.Load(t, 0) // second
			}, !broken, true)
		},
	}, {
		name: "a flag and no fence behind it", cfg: block(2), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			passed(b, func(t *sm.Thread, x *sm.Array[int32]) {
				x.Store(t, 0, 1) // first
			}, func(t *sm.Thread, x *sm.Array[int32]) {
				x.Load(t, 0) // second
			}, true, !broken)
		},
	}, {
		name: "a spin lock without fences", cfg: block(3), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			counted(b, func(t *sm.Thread, x *sm.Array[int32]) {
				lock, sum := x.At(0), x.At(1)
				for sm.AtomicCAS(t, lock, 0, 1) != 0 {
				}
				if !broken {
					t.ThreadFence(sm.ScopeBlock)
				}
				sum.Store(t, 0, sum.Load(t, 0)+1) // both
				if !broken {
					t.ThreadFence(sm.ScopeBlock)
				}
				sm.AtomicExch(t, lock, 0)
			})
		},
	}, {
		name: "the store of a histogram and no proxy fence", cfg: block(3), rule: sm.RuleProxy,
		kernel: func(b *sm.Block, broken bool) {
			out := make([]int32, 4)
			counted(b, func(t *sm.Thread, x *sm.Array[int32]) {
				t.FenceProxyAsync()
				sm.AtomicAdd(t, x.At(1), 1) // first
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
		name: "an atomic on the source of a store", cfg: block(2), rule: sm.RuleSource,
		kernel: func(b *sm.Block, broken bool) {
			out := make([]int32, 4)
			counted(b, func(t *sm.Thread, x *sm.Array[int32]) {
				if t.Rank() == 0 {
					t.FenceProxyAsync()
					sm.StoreBulk(t, out, x) // first
					t.CommitGroup()
					if !broken {
						t.WaitGroupRead(0)
					}
				}
				t.SyncThreads()
				sm.AtomicOr(t, x, 1) // second
			})
		},
	}, {
		name: "an atomic on what a load brings", cfg: block(2), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, bar := sm.Shared[int32](b, 4, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					bar.Init(t, 1)
					bar.ArriveTx(t, 1, 16)
					sm.LoadBulk(t, x, in64[:4], bar) // first
				}
				t.SyncThreads()
				if !broken {
					bar.WaitParity(t, 0)
				}
				sm.AtomicMin(t, x.At(2), 1) // second
				if broken {
					bar.WaitParity(t, 0)
				}
			})
		},
	}, {
		name: "an atomic and a reduction", cfg: block(2), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			bar := b.Barrier()
			counted(b, func(t *sm.Thread, x *sm.Array[int32]) {
				if t.Rank() == 0 {
					bar.Init(t, 1)
					bar.ArriveTx(t, 1, 4)
					sm.ReduceAsync(t, tile.ReduceAdd, x, int32(5), bar) // first
				}
				t.SyncThreads()
				if !broken {
					bar.WaitParity(t, 0)
				}
				sm.AtomicAdd(t, x, 1) // second
				if broken {
					bar.WaitParity(t, 0)
				}
			})
		},
	}, {
		name: "atomics of a peer and a load", cfg: pair(2), rule: sm.RuleRace, also: []sm.Rule{sm.RuleExit},
		kernel: func(b *sm.Block, broken bool) {
			counted(b, func(t *sm.Thread, x *sm.Array[int32]) {
				sm.AtomicAdd(t, x.MapShared(0), 1) // first
				if !broken {
					t.ClusterSync()
				}
				if b.ClusterRank() == 0 {
					n := x.Load(t, 0) // second
					assert(broken || n == 4, "%d", n)
				}
				if broken {
					t.ClusterSync()
				}
			})
		},
	}, {
		name: "a peer's flag and fences of the block", cfg: pair(1), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			scope := sm.ScopeCluster
			if broken {
				scope = sm.ScopeBlock
			}
			counted(b, func(t *sm.Thread, x *sm.Array[int32]) {
				if b.ClusterRank() == 0 {
					to := x.MapShared(1)
					to.Store(t, 1, 7) // first
					t.ThreadFence(scope)
					sm.AtomicExch(t, to, 1)
				} else {
					for sm.AtomicLoad(t, x) == 0 {
					}
					t.ThreadFence(scope)
					n := x.Load(t, 1) // second
					assert(broken || n == 7, "%d", n)
				}
				t.ClusterSync()
			})
		},
	}}
}
