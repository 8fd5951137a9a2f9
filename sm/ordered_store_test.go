package sm_test

import (
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// storeUnordered overwrites what a bulk store still reads. It is any race if the write may also come before the store.
func storeUnordered() []unordered {
	source := []sm.Rule{sm.RuleRace}
	return []unordered{{
		name: "a store's source is overwritten by who issued it", rule: sm.RuleSource, also: source,
		kernel: func(b *sm.Block, broken bool) {
			x, out := sm.Shared[int32](b, 16, 16), make([]int32, 16)
			b.Threads(func(t *sm.Thread) {
				x.Write(t, 0, in64[:16])
				t.FenceProxyAsync()
				sm.StoreBulk(t, out, x) // first
				t.CommitGroup()
				if !broken {
					t.WaitGroupRead(0)
				}
				x.Store(t, 3, 7) // second
				t.WaitGroup(0)
				assert(broken || out[3] == 3, "stored %d", out[3])
			})
		},
	}, {
		name: "a store's source is overwritten by others", cfg: block(2), rule: sm.RuleSource, also: source,
		kernel: func(b *sm.Block, broken bool) {
			x, out := sm.Shared[int32](b, 16, 16), make([]int32, 16)
			b.Threads(func(t *sm.Thread) {
				x.Write(t, 8*t.Rank(), in64[8*t.Rank():][:8])
				t.FenceProxyAsync()
				t.SyncThreads()
				if t.Rank() == 0 {
					sm.StoreBulk(t, out, x) // first
					t.CommitGroup()
					if !broken {
						t.WaitGroupRead(0)
					}
				}
				t.SyncThreads()
				if t.Rank() == 1 {
					x.Store(t, 9, 7) // second
				}
				t.WaitGroup(0)
			})
		},
	}, {
		name: "the wait for a store is not the issuer's", cfg: block(2), rule: sm.RuleSource, also: source,
		kernel: func(b *sm.Block, broken bool) {
			x, out := sm.Shared[int32](b, 16, 16), make([]int32, 16)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					x.Write(t, 0, in64[:16])
					t.FenceProxyAsync()
					sm.StoreBulk(t, out, x) // first
					t.CommitGroup()
				}
				if t.Rank() == 0 && !broken || t.Rank() == 1 && broken {
					t.WaitGroup(0)
				}
				t.SyncThreads()
				if t.Rank() == 1 {
					x.Store(t, 9, 7) // second
				}
				t.WaitGroup(0)
			})
		},
	}, {
		name: "another lane waits for a store", cfg: block(32), rule: sm.RuleSource, also: source,
		kernel: func(b *sm.Block, broken bool) {
			x, out, lane := sm.Shared[int32](b, 4, 16), make([]int32, 4), 3
			if broken {
				lane = 4
			}
			b.Start(sm.Warps(0, 1, func(w *sm.Warp) {
				x.Write(w, 0, in64[:4])
				w.FenceProxyAsync()
				sm.StoreBulk(w.Thread(3), out, x) // first
				w.Thread(3).CommitGroup()
				w.Thread(lane).WaitGroupRead(0)
				x.Store(w, 1, 7) // second
			}))
		},
	}, {
		name: "a ring of stores waits for one too few", rule: sm.RuleSource, also: source,
		kernel: func(b *sm.Block, broken bool) {
			x, out, n := sm.Shared[int32](b, 2*16, 16), make([]int32, 64), 1
			if broken {
				n = 2
			}
			b.Threads(func(t *sm.Thread) {
				for i := range 4 {
					s := x.Slice(i%2*16, i%2*16+16)
					t.WaitGroupRead(n)
					s.Write(t, 0, in64[16*i:][:16]) // second
					t.FenceProxyAsync()
					sm.StoreBulk(t, out[16*i:][:16], s) // first
					t.CommitGroup()
				}
				t.WaitGroup(0)
			})
		},
	}, {
		name: "a load into what a store still reads", rule: sm.RuleSource, also: source,
		kernel: func(b *sm.Block, broken bool) {
			x, full, out := sm.Shared[int32](b, 16, 16), b.Barrier(), make([]int32, 32)
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				for i := range 2 {
					full.ArriveTx(t, 1, 64)
					sm.LoadBulk(t, x, in64[16*i:][:16], full) // second
					full.WaitParity(t, i)
					sm.StoreBulk(t, out[16*i:][:16], x) // first
					t.CommitGroup()
					if !broken {
						t.WaitGroupRead(0)
					}
				}
				t.WaitGroup(0)
			})
		},
	}, {
		name: "two threads store the same source, and one waits", cfg: block(2), rule: sm.RuleSource, also: source,
		kernel: func(b *sm.Block, broken bool) {
			x, out := sm.Shared[int32](b, 4, 16), make([]int32, 8)
			b.Threads(func(t *sm.Thread) {
				x.Write(t, 2*t.Rank(), in64[:2])
				t.FenceProxyAsync()
				t.SyncThreads()
				sm.StoreBulk(t, out[4*t.Rank():][:4], x) // first
				t.CommitGroup()
				if t.Rank() == 0 || !broken {
					t.WaitGroupRead(0)
				}
				t.SyncThreads()
				if t.Rank() == 0 {
					x.Store(t, 1, 7) // second
				}
			})
		},
	}, {
		name: "the reduction of a box is not waited for", rule: sm.RuleSource, also: source,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 4*8, 128)
			m, err := sm.NewTensorMap(make([]int32, 4*8), tile.Config{Dims: []uint64{8, 4}, Box: []uint32{8, 4}})
			assert(err == nil, "%v", err)
			b.Threads(func(t *sm.Thread) {
				x.Write(t, 0, in64[:32])
				t.FenceProxyAsync()
				t.ReduceTensor(tile.ReduceAdd, m, x, 0, 0) // first
				t.CommitGroup()
				if !broken {
					t.WaitGroup(0)
				}
				x.Store(t, 31, 0) // second
				t.WaitGroup(0)
			})
		},
	}}
}
