package sm_test

import (
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// globalTwins hand each other something in global memory.
func globalTwins() []twin {
	flag, data := make([]uint32, 4), make([]int32, 64)
	reset := func() { clear(flag); clear(data) }
	grid := func(name string, ctas, threads int) sm.Config {
		return sm.Config{Name: name, Grid: sm.Dim3{X: ctas}, Block: sm.Dim3{X: threads}, Resident: ctas, Reset: reset}
	}
	together := func(name string, ctas, threads int) sm.Config {
		cfg := grid(name, ctas, threads)
		cfg.Cooperative = true
		return cfg
	}
	matrix, err := sm.NewTensorMap(data, tile.Config{Dims: []uint64{16, 4}, Box: []uint32{16, 1}})
	if err != nil {
		panic(err)
	}
	vector, err := sm.NewTensorMap(data, tile.Config{Dims: []uint64{64}, Box: []uint32{16}})
	if err != nil {
		panic(err)
	}
	// passed is a message of CTA 0 to CTA 1: write, release, acquire, read.
	passed := func(write, release, acquire, read func(t *sm.Thread, x *sm.Array[int32])) sm.Kernel {
		return func(b *sm.Block) {
			x, full := sm.Global(b, data), sm.Global(b, flag)
			b.Threads(func(t *sm.Thread) {
				if b.Idx.X == 0 {
					write(t, x)
					release(t, x)
					sm.AtomicStore(t, full, 1)
					return
				}
				for sm.AtomicLoad(t, full) == 0 {
				}
				acquire(t, x)
				read(t, x)
			})
		}
	}
	fence := func(s sm.Scope) func(t *sm.Thread, x *sm.Array[int32]) {
		return func(t *sm.Thread, _ *sm.Array[int32]) { t.ThreadFence(s) }
	}
	none := func(*sm.Thread, *sm.Array[int32]) {}
	store := func(t *sm.Thread, x *sm.Array[int32]) { x.Store(t, 5, 7) }
	load := func(t *sm.Thread, x *sm.Array[int32]) {
		got := x.Load(t, 5)
		assert(got == 7, "loads %d", got)
	}
	// stored is a message by the TMA, of which wait says what is over.
	stored := func(wait func(t *sm.Thread)) sm.Kernel {
		return func(b *sm.Block) {
			x, full, row := sm.Global(b, data), sm.Global(b, flag), sm.Shared[int32](b, 16, 128)
			b.Threads(func(t *sm.Thread) {
				if b.Idx.X == 0 {
					row.Write(t, 0, ramp(16))
					t.FenceProxyAsync()
					t.StoreTensor(matrix, row, 0, 2)
					t.CommitGroup()
					wait(t)
					t.ThreadFence(sm.ScopeDevice)
					sm.AtomicStore(t, full, 1)
					t.WaitGroup(0)
					return
				}
				for sm.AtomicLoad(t, full) == 0 {
				}
				t.ThreadFence(sm.ScopeDevice)
				x.Load(t, 2*16+3)
			})
		}
	}
	return []twin{{
		name: "a message to another CTA, not acquired", cfg: grid("mail", 2, 1), order: true,
		kernel: func(broken bool) sm.Kernel {
			if broken {
				return passed(store, fence(sm.ScopeDevice), none, load)
			}
			return passed(store, fence(sm.ScopeDevice), fence(sm.ScopeSystem), load)
		},
		rule: sm.RuleRace,
		want: []string{
			"mail, CTA (1,0,0), thread 0 at", "Load: element 5 of x: not ordered after the Store by thread 0 of CTA (0,0,0) at",
			"thread 0 of CTA (1,0,0) does not know of it, there being no GridSync (or, around a flag that is an atomic, " +
				"ThreadFence of ScopeDevice on both sides)",
		},
	}, {
		name: "a message released to the cluster only", cfg: grid("narrow", 2, 1), order: true,
		kernel: func(broken bool) sm.Kernel {
			if broken {
				return passed(store, fence(sm.ScopeCluster), fence(sm.ScopeDevice), load)
			}
			return passed(store, fence(sm.ScopeDevice), fence(sm.ScopeDevice), load)
		},
		rule: sm.RuleRace,
		want: []string{"not ordered after the Store by thread 0 of CTA (0,0,0) at", "ThreadFence of ScopeDevice"},
	}, {
		name: "a flag that nobody sets", cfg: grid("mute", 2, 1),
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				full := sm.Global(b, flag)
				b.Threads(func(t *sm.Thread) {
					if b.Idx.X == 0 {
						sm.AtomicStore(t, full.At(1), 1)
						if !broken {
							sm.AtomicStore(t, full.At(2), 1)
						}
						return
					}
					for sm.AtomicLoad(t, full.At(2)) == 0 {
					}
				})
			}
		},
		rule: sm.RuleDeadlock,
		want: []string{"thread 0 at ", "waits for element 2 of full to change from 0"},
	}, {
		name: "two CTAs that wait for each other's flags", cfg: grid("polite", 2, 3),
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				full := sm.Global(b, flag)
				b.Threads(func(t *sm.Thread) {
					mine, yours := full.At(b.Idx.X), full.At(1-b.Idx.X)
					if t.Rank() == 2 && !broken {
						sm.AtomicExch(t, mine, 1)
					}
					if t.Rank() == 0 {
						for sm.AtomicLoad(t, yours) == 0 {
						}
					}
					t.SyncThreads()
					if t.Rank() == 2 && broken {
						sm.AtomicExch(t, mine, 1)
					}
				})
			}
		},
		rule: sm.RuleDeadlock,
		want: []string{
			"all 6 agents wait", "__syncthreads",
			"CTA (0,0,0) thread 0 ", "waits for element 1 of full to change from 0",
			"CTA (1,0,0) thread 0 ", "waits for element 0 of full to change from 0",
		},
	}, {
		name: "many flags that nobody sets, by turns", cfg: grid("census", 2, 1),
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				full := sm.Recast[uint32](sm.Global(b, data))
				b.Threads(func(t *sm.Thread) {
					if b.Idx.X == 0 && !broken {
						for i := range 32 {
							sm.AtomicStore(t, full.At(i), 1)
						}
					}
					for missing := 32 * b.Idx.X; missing > 0; {
						missing = 0
						for i := range 32 {
							if sm.AtomicLoad(t, full.At(i)) == 0 {
								missing++
							}
						}
					}
				})
			}
		},
		rule: sm.RuleDeadlock,
		want: []string{"CTA (1,0,0)", "waits for element ", " to change from 0"},
	}, {
		name: "parts of an array, declared on one line", cfg: func() sm.Config {
			cfg := grid("parts", 4, 1)
			cfg.Resident = 1
			return cfg
		}(), order: true,
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				at := 16 * (b.Idx.X / 2)
				head, pair := sm.Global(b, flag[:1]), sm.Global(b, data[at:at+16])
				b.Threads(func(t *sm.Thread) {
					sm.AtomicAdd(t, head, 1)
					if broken && b.Idx.X >= 2 {
						pair.Store(t, 3, 1)
					} else {
						pair.Store(t, b.Idx.X, 1)
					}
				})
			}
		},
		rule: sm.RuleRace,
		want: []string{"element 3 of pair: not ordered after the Store by thread 0 of CTA (2,0,0) at"},
	}, {
		name: "a flag of a CTA that has yet to begin", cfg: func() sm.Config {
			cfg := grid("crowded", 3, 1)
			cfg.Resident = 1
			return cfg
		}(),
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				full := sm.Global(b, flag)
				b.Threads(func(t *sm.Thread) {
					sm.AtomicAdd(t, full.At(b.Idx.X), 1)
					for broken && sm.AtomicLoad(t, full.At(2)) == 0 {
					}
				})
			}
		},
		rule: sm.RuleDeadlock,
		want: []string{"element 2 of full to change from 0", "2 of 3 clusters have yet to begin, for which Config.Resident"},
	}, {
		name: "partial sums, without grid.sync", cfg: together("split", 3, 2), order: true,
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				x := sm.Global(b, data)
				b.Threads(func(t *sm.Thread) {
					at := 2*b.Idx.X + t.Rank()
					x.Store(t, at, 1)
					t.GridSync()
					x.Store(t, 8+at, 1+x.Load(t, (at+2)%6))
					if !broken {
						t.GridSync()
					}
					x.Load(t, 8+(at+2)%6)
				})
			}
		},
		rule: sm.RuleRace,
		want: []string{" of x: not ordered after the ", " of CTA (", "there being no GridSync"},
	}, {
		name: "what the CTA before has left behind", cfg: func() sm.Config {
			cfg := grid("heir", 4, 1)
			cfg.Resident = 1
			return cfg
		}(), order: true,
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				x := sm.Global(b, data)
				b.Threads(func(t *sm.Thread) {
					x.Store(t, b.Idx.X, 1)
					if broken && b.Idx.X == 3 {
						x.Load(t, 2)
					}
				})
			}
		},
		rule: sm.RuleRace,
		want: []string{
			"CTA (3,0,0), thread 0 at", "element 2 of x: not ordered after the Store by thread 0 of CTA (2,0,0) at",
		},
	}, {
		name: "two CTAs that store the same element", cfg: grid("greedy", 2, 1), order: true,
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				x := sm.Global(b, data)
				b.Threads(func(t *sm.Thread) {
					if broken {
						x.Write(t, b.Idx.X, ramp(2))
					} else {
						sm.AtomicAdd(t, x.At(1), 2)
					}
				})
			}
		},
		rule: sm.RuleRace,
		want: []string{"Write: element 1 of x: not ordered after the Write by thread 0 of CTA ("},
	}, {
		name: "an atomic, and a load beside it", cfg: grid("careless", 2, 1), order: true,
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				x := sm.Global(b, data)
				b.Threads(func(t *sm.Thread) {
					sm.AtomicAdd(t, x, 1)
					if broken {
						x.Load(t, 0)
					} else {
						sm.AtomicLoad(t, x)
					}
				})
			}
		},
		rule: sm.RuleRace,
		want: []string{"element 0 of x: not ordered after the ", "of CTA ("},
	}, {
		name: "a tensor store that has read its source only", cfg: grid("early", 2, 1), order: true,
		kernel: func(broken bool) sm.Kernel {
			if broken {
				return stored(func(t *sm.Thread) { t.WaitGroupRead(0) })
			}
			return stored(func(t *sm.Thread) { t.WaitGroup(0) })
		},
		rule: sm.RuleRace,
		want: []string{
			"element 35 of x: not ordered after the StoreTensor by thread 0 of CTA (0,0,0) at",
			"thread 0 of CTA (1,0,0) knows of no WaitGroup that covers it, by GridSync (or, around a flag that is an atomic, " +
				"ThreadFence of ScopeDevice on both sides)",
		},
	}, {
		name: "a vector by the TMA", cfg: grid("flat", 2, 1), order: true,
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				row, x := sm.Shared[int32](b, 16, 128), sm.Global(b, data)
				_ = x
				b.Threads(func(t *sm.Thread) {
					row.Write(t, 0, ramp(16))
					t.FenceProxyAsync()
					if broken {
						t.StoreTensor(vector, row, 16)
					} else {
						t.StoreTensor(vector, row, 16*b.Idx.X)
					}
					t.CommitGroup()
					t.WaitGroup(0)
				})
			}
		},
		rule: sm.RuleRace,
		want: []string{"StoreTensor: elements 16 to 31 of x: not ordered after the StoreTensor by thread 0 of CTA ("},
	}, {
		name: "a reduction by the TMA into what threads have stored", cfg: together("tally", 2, 1), order: true,
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				x, row := sm.Global(b, data), sm.Shared[int32](b, 16, 128)
				b.Threads(func(t *sm.Thread) {
					row.Write(t, 0, ramp(16))
					t.FenceProxyAsync()
					if b.Idx.X == 0 {
						x.Write(t, 0, make([]int32, 16))
						if !broken {
							t.FenceProxyAsync()
						}
					}
					t.GridSync()
					t.ReduceTensor(tile.ReduceAdd, matrix, row, 0, 0)
					t.CommitGroup()
					t.WaitGroup(0)
				})
			}
		},
		rule: sm.RuleProxy,
		want: []string{"elements 0 to 15 of x: no fence.proxy.async comes after the Write by thread 0"},
	}, {
		name: "a load by the TMA of what threads have stored", cfg: together("proxy", 2, 1), order: true,
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				x, row, full := sm.Global(b, data), sm.Shared[int32](b, 16, 128), b.Barrier()
				b.Threads(func(t *sm.Thread) {
					full.Init(t, 1)
					x.Write(t, 16*b.Idx.X, ramp(16))
					if !broken {
						t.FenceProxyAsync()
					}
					t.GridSync()
					full.ArriveTx(t, 1, 64)
					t.LoadTensor(row, matrix, full, 0, 1-b.Idx.X)
					full.WaitParity(t, 0)
					row.Load(t, 15)
				})
			}
		},
		rule: sm.RuleProxy,
		want: []string{"LoadTensor: elements ", " of x: no fence.proxy.async comes after the Write by thread 0 of CTA ("},
	}, {
		name: "a bulk load of what a thread of the block may still store", cfg: grid("impatient", 1, 2), order: true,
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				x, row, full := sm.Global(b, data), sm.Shared[int32](b, 16, 128), b.Barrier()
				b.Threads(func(t *sm.Thread) {
					if t.Rank() == 0 {
						full.Init(t, 1)
					} else {
						x.Store(t, 17, 1)
						t.FenceProxyAsync()
					}
					if !broken {
						t.SyncThreads()
					}
					if t.Rank() == 0 {
						full.ArriveTx(t, 1, 64)
						sm.LoadBulk(t, row, data[16:32], full)
						full.WaitParity(t, 0)
					}
				})
			}
		},
		rule: sm.RuleRace,
		want: []string{"element 17 of x", "not ordered after the ", "LoadBulk"},
	}, {
		name: "a bulk reduction into what is read", cfg: grid("sum", 2, 1), order: true,
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				x, row, done := sm.Global(b, data), sm.Shared[int32](b, 16, 128), sm.Global(b, flag)
				b.Threads(func(t *sm.Thread) {
					row.Write(t, 0, ramp(16))
					t.FenceProxyAsync()
					sm.StoreReduceBulk(t, tile.ReduceAdd, data[:16], row)
					t.CommitGroup()
					t.WaitGroup(0)
					t.ThreadFence(sm.ScopeDevice)
					if last := sm.AtomicInc(t, done, 1); broken == (last == 0) {
						t.ThreadFence(sm.ScopeDevice)
						x.Load(t, 4)
					}
				})
			}
		},
		rule: sm.RuleRace,
		want: []string{"element", "of x: not ordered after the ", "by thread 0 of CTA ("},
	}}
}
