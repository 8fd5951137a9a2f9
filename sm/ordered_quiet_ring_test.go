package sm_test

import (
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// quietRings is stages that a producer fills, by copies or itself.
func quietRings() []quiet {
	return []quiet{
		{"a ring with one arrival", block(96), func(b *sm.Block) {
			x := sm.Shared[int32](b, 3*16, 16)
			specialised(b, 3, 2, func(t *sm.Thread, full, empty []sm.Barrier) {
				for i := range 8 {
					s := i % 3
					empty[s].WaitParity(t, i/3+1)
					full[s].ArriveTx(t, 1, 64)
					sm.LoadBulk(t, x.At(16*s), in64[4*i:][:16], &full[s])
				}
				for i := 8; i < 8+3; i++ { // the tail
					empty[i%3].WaitParity(t, i/3+1)
				}
			}, func(w *sm.Warp, full, empty []sm.Barrier) {
				for i := range 8 {
					s := i % 3
					full[s].WaitParity(w, i/3)
					got := x.Load(w, 16*s+w.Rank())
					assert(got == int32(4*i+w.Rank()), "tile %d has %d", i, got)
					empty[s].Arrive(w.Thread(0))
				}
			})
		}},
		{"a ring in which all threads arrive", block(384), func(b *sm.Block) {
			const consumers = 2
			x, full, empty := sm.Shared[int32](b, 2*16, 16), b.Barriers(2), b.Barriers(2)
			b.Warpgroups(func(w *sm.Warpgroup) {
				t := w.Thread(0)
				if w.Rank() == 0 {
					for s := range 2 {
						full[s].Init(t, 128*consumers+1)
						empty[s].Init(t, 128*consumers+1)
					}
				}
				w.SyncThreads()
				if w.Rank() == 0 {
					for i := range 5 {
						s := i % 2
						empty[s].Wait(t, empty[s].Arrive(t))
						sm.LoadBulk(t, x.At(16*s), in64[4*i:][:16], &full[s])
						full[s].ArriveTx(t, 1, 64)
					}
					return
				}
				for s := range 2 {
					empty[s].Arrive(w)
				}
				for i := range 5 {
					s := i % 2
					full[s].Wait(w, full[s].Arrive(w))
					assert(x.Load(w, 16*s+1) == int32(4*i+1), "tile %d", i)
					empty[s].Arrive(w)
				}
			})
		}},
		{"tokens of consumers, parity of the producer", block(64), func(b *sm.Block) {
			x, full, empty := sm.Shared[int32](b, 16, 16), b.Barrier(), b.Barrier()
			b.Start(sm.Warps(0, 2, func(w *sm.Warp) {
				t := w.Thread(7)
				if w.Rank() == 0 {
					full.Init(t, 33)
					empty.Init(t, 32)
				}
				w.SyncThreads()
				for i := range 4 {
					if w.Rank() == 0 {
						empty.WaitParity(t, i+1)
						full.ArriveTx(t, 1, 64)
						sm.LoadBulk(t, x, in64[4*i:][:16], full)
						continue
					}
					full.Wait(w, full.Arrive(w))
					assert(x.Load(w, 2) == int32(4*i+2), "tile %d", i)
					empty.Arrive(w)
				}
			}))
		}},
		{"copies of several kinds on one barrier", block(2), func(b *sm.Block) {
			x, bar := sm.Shared[int32](b, 48, 128), b.Barrier()
			m, err := sm.NewTensorMap(in64, tile.Config{Dims: []uint64{16, 4}, Box: []uint32{4, 4}})
			assert(err == nil, "%v", err)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					bar.Init(t, 2)
				}
				t.SyncThreads()
				for i := range 3 {
					if t.Rank() == 0 {
						t.LoadTensor(x, m, bar, 4*i, 0)
						bar.ExpectTx(t, 64)
						sm.LoadBulk(t, x.At(16), in64[4*i:][:16], bar)
						bar.ArriveTx(t, 1, 64)
					} else {
						sm.MemcpyAsync(t, x.At(32), in64[i:][:3], bar)
						bar.Arrive(t)
					}
					bar.WaitParity(t, i)
					assert(x.Load(t, 15) == int32(48+3+4*i) && x.Load(t, 16) == int32(4*i) && x.Load(t, 34) == int32(2+i),
						"round %d has %d, %d, %d", i, x.Load(t, 15), x.Load(t, 16), x.Load(t, 34))
					t.SyncThreads()
				}
			})
		}},
		{"stages given back in another order", block(64), func(b *sm.Block) {
			x := sm.Shared[int32](b, 2*16, 16)
			specialised(b, 2, 1, func(t *sm.Thread, full, empty []sm.Barrier) {
				for i := range 6 {
					s := i % 2
					empty[s].WaitParity(t, i/2+1)
					full[s].ArriveTx(t, 1, 64)
					sm.LoadBulk(t, x.At(16*s), in64[4*i:][:16], &full[s])
				}
			}, func(w *sm.Warp, full, empty []sm.Barrier) {
				for i := range 3 {
					full[1].WaitParity(w, i)
					full[0].WaitParity(w, i)
					assert(x.Load(w, 16)-x.Load(w, 0) == 4, "round %d", i)
					empty[1].Arrive(w.Thread(0))
					empty[0].Arrive(w.Thread(0))
				}
			})
		}},
		{"one warp waits, and tells the others", block(96), func(b *sm.Block) {
			x := sm.Shared[int32](b, 16, 16)
			specialised(b, 1, 2, func(t *sm.Thread, full, empty []sm.Barrier) {
				for i := range 3 {
					empty[0].WaitParity(t, i+1)
					full[0].ArriveTx(t, 1, 64)
					sm.LoadBulk(t, x, in64[4*i:][:16], &full[0])
				}
			}, func(w *sm.Warp, full, empty []sm.Barrier) {
				for i := range 3 {
					if w.Rank() == 1 {
						full[0].WaitParity(w.Thread(5), i)
					}
					w.BarSync(1, 64)
					assert(x.Load(w, 1) == int32(4*i+1), "tile %d", i)
					w.BarSync(1, 64)
					if w.Rank() == 1 {
						empty[0].ArriveN(w.Thread(0), 2)
					}
				}
			})
		}},
		{"a scheduler warp", block(96), func(b *sm.Block) {
			next := sm.Shared[int32](b, 2, 16)
			specialised(b, 2, 2, func(t *sm.Thread, full, empty []sm.Barrier) {
				for i, tile := range []int32{5, 3, 8, -1} {
					s := i % 2
					empty[s].WaitParity(t, i/2+1)
					next.Store(t, s, tile)
					full[s].Arrive(t)
				}
			}, func(w *sm.Warp, full, empty []sm.Barrier) {
				sum := int32(0)
				for i := 0; ; i++ {
					s := i % 2
					full[s].WaitParity(w, i/2)
					tile := next.Load(w, s)
					empty[s].Arrive(w.Thread(0))
					if tile < 0 {
						break
					}
					sum += tile
				}
				assert(sum == 16, "tiles add up to %d", sum)
			})
		}},
		{"a ring that is filled by stores, and a reader of the whole", block(64), func(b *sm.Block) {
			x := sm.Shared[int32](b, 3, 16)
			specialised(b, 3, 1, func(t *sm.Thread, full, empty []sm.Barrier) {
				for i := range 9 {
					empty[i%3].WaitParity(t, i/3+1)
					x.Store(t, i%3, int32(i))
					full[i%3].Arrive(t)
				}
			}, func(w *sm.Warp, full, empty []sm.Barrier) {
				all := make([]int32, 3)
				for i := range 3 {
					for s := range 3 {
						full[s].WaitParity(w, i)
					}
					x.Read(w, 0, all)
					assert(all[2] == int32(3*i+2), "lap %d has %v", i, all)
					for s := range 3 {
						empty[s].Arrive(w.Thread(s))
					}
				}
			})
		}},
		{"a consumer of every second tile", block(96), func(b *sm.Block) {
			x := sm.Shared[int32](b, 16, 16)
			specialised(b, 1, 2, func(t *sm.Thread, full, empty []sm.Barrier) {
				for i := range 6 {
					empty[0].WaitParity(t, i+1)
					full[0].ArriveTx(t, 1, 64)
					sm.LoadBulk(t, x, in64[4*i:][:16], &full[0])
				}
			}, func(w *sm.Warp, full, empty []sm.Barrier) {
				for i := range 6 {
					full[0].WaitParity(w, i)
					if w.Rank() == 1 || i%2 == 0 {
						assert(x.Load(w, 2) == int32(4*i+2), "tile %d", i)
					}
					empty[0].Arrive(w.Thread(0))
				}
			})
		}},
		{"all lanes wait, and one gives back", block(64), func(b *sm.Block) {
			x, full, empty := sm.Shared[int32](b, 32, 16), b.Barrier(), b.Barrier()
			b.Start(sm.Threads(0, 32, func(t *sm.Thread) {
				t.SyncThreads()
				for i := range 2 {
					full.WaitParity(t, i)
					assert(x.Load(t, 31-t.Lane()) == int32(4*i+31-t.Lane()), "tile %d", i)
					t.SyncWarp()
					if t.Elected() {
						empty.Arrive(t)
					}
				}
			}), sm.Warps(1, 2, func(w *sm.Warp) {
				t := w.Thread(0)
				full.Init(t, 1)
				empty.Init(t, 1)
				w.SyncThreads()
				for i := range 2 {
					empty.WaitParity(t, i+1)
					full.ArriveTx(t, 1, 128)
					sm.LoadBulk(t, x, in64[4*i:][:32], full)
				}
			}))
		}},
		{"readers of what is loaded once", block(4), func(b *sm.Block) {
			x, full, out := sm.Shared[int32](b, 16, 16), b.Barrier(), make([]int32, 16)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					full.Init(t, 1)
				}
				t.SyncThreads()
				if t.Rank() == 0 {
					full.ArriveTx(t, 1, 64)
					sm.LoadBulk(t, x, in64[:16], full)
				}
				full.WaitParity(t, 0)
				if t.Rank() == 1 {
					sm.StoreBulk(t, out, x)
					t.CommitGroup()
				}
				x.Read(t, 0, make([]int32, 16))
				x.Load(t, t.Rank())
			})
		}},
	}
}
