package sm_test

import (
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// ringUnordered has a ring of stages whose producer or consumer does not wait, or waits for the wrong phase.
func ringUnordered() []unordered {
	return []unordered{{
		name: "a tile is read before the wait on full", cfg: block(64), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 64, 16)
			specialised(b, 1, 1, func(t *sm.Thread, full, empty []sm.Barrier) {
				for i := range 3 {
					empty[0].WaitParity(t, i+1)
					full[0].ArriveTx(t, 1, 256)
					sm.LoadBulk(t, x, in64, &full[0]) // first
				}
			}, func(w *sm.Warp, full, empty []sm.Barrier) {
				for i := range 3 {
					if broken && i == 2 {
						x.Load(w, 5) // second
					}
					full[0].WaitParity(w, i)
					x.Load(w, 5)
					empty[0].Arrive(w.Thread(0))
				}
			})
		},
	}, {
		name: "the parity of the phase before", cfg: block(64), rule: sm.RuleRace,
		also: []sm.Rule{sm.RuleDeadlock, sm.RuleExit, sm.RulePhase}, // the phase is over, and the next one wanted
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 64, 16)
			specialised(b, 1, 1, func(t *sm.Thread, full, empty []sm.Barrier) {
				for i := range 2 {
					empty[0].WaitParity(t, i+1)
					full[0].ArriveTx(t, 1, 256)
					sm.LoadBulk(t, x, in64, &full[0]) // first
				}
			}, func(w *sm.Warp, full, empty []sm.Barrier) {
				for i := range 2 {
					parity := i
					if broken {
						parity = 0
					}
					full[0].WaitParity(w, parity)
					x.Load(w, 5) // second
					empty[0].Arrive(w.Thread(0))
				}
			})
		},
	}, {
		name: "a stage is given back before it is read", cfg: block(64), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 2*16, 16)
			specialised(b, 2, 1, func(t *sm.Thread, full, empty []sm.Barrier) {
				for i := range 5 {
					s := i % 2
					empty[s].WaitParity(t, i/2+1)
					full[s].ArriveTx(t, 1, 64)
					sm.LoadBulk(t, x.At(16*s), in64[4*i:][:16], &full[s]) // second
				}
			}, func(w *sm.Warp, full, empty []sm.Barrier) {
				for i := range 5 {
					s := i % 2
					full[s].WaitParity(w, i/2)
					if broken && i == 2 {
						empty[s].Arrive(w.Thread(0))
					}
					got := x.Load(w, 16*s+3) // first
					assert(broken || got == int32(3+4*i), "tile %d has %d", i, got)
					if !broken || i != 2 {
						empty[s].Arrive(w.Thread(0))
					}
				}
			})
		},
	}, {
		name: "one of two consumers gives a stage back for both", cfg: block(96), rule: sm.RuleRace,
		also: []sm.Rule{sm.RuleDeadlock, sm.RulePhase}, // the other consumer is a phase behind
		kernel: func(b *sm.Block, broken bool) {
			x, full, empty := sm.Shared[int32](b, 2, 16), b.Barrier(), b.Barrier()
			b.Start(sm.Warps(0, 3, func(w *sm.Warp) {
				t := w.Thread(0)
				if w.Rank() == 0 {
					full.Init(t, 1)
					empty.Init(t, 2)
				}
				w.SyncThreads()
				for i := range 3 {
					if w.Rank() == 0 {
						empty.WaitParity(t, i+1)
						x.Store(t, 0, int32(i)) // second
						full.Arrive(t)
						continue
					}
					full.WaitParity(w, i)
					x.Load(w, 0) // first
					switch {
					case !broken:
						empty.Arrive(t)
					case w.Rank() == 1:
						empty.ArriveN(t, 2) // for both
					}
				}
			}))
		},
	}, {
		name: "a load completes a barrier that nobody waits for in time", cfg: block(64), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, y := sm.Shared[int32](b, 16, 16), sm.Shared[int32](b, 16, 16)
			specialised(b, 2, 1, func(t *sm.Thread, full, empty []sm.Barrier) {
				for i := range 2 {
					empty[0].WaitParity(t, i+1)
					at, other := &full[0], 0
					if broken && i == 1 {
						at, other = &full[1], 64
					}
					full[0].ArriveTx(t, 1, 128-other)
					full[1].ArriveTx(t, 1, other)
					sm.LoadBulk(t, x, in64[:16], &full[0])
					sm.LoadBulk(t, y, in64[:16], at) // first
				}
			}, func(w *sm.Warp, full, empty []sm.Barrier) {
				for i := range 2 {
					full[0].WaitParity(w, i)
					x.Load(w, 1)
					y.Load(w, 1) // second
					full[1].WaitParity(w, i)
					empty[0].Arrive(w.Thread(0))
				}
			})
		},
	}, {
		name: "a consumer that has not waited is told by one that has not either", cfg: block(96), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 64, 16)
			specialised(b, 1, 2, func(t *sm.Thread, full, empty []sm.Barrier) {
				for i := range 2 {
					empty[0].WaitParity(t, i+1)
					full[0].ArriveTx(t, 1, 256)
					sm.LoadBulk(t, x, in64, &full[0]) // first
				}
			}, func(w *sm.Warp, full, empty []sm.Barrier) {
				for i := range 2 {
					late := broken && i == 1
					if w.Rank() == 1 && !late {
						full[0].WaitParity(w, i)
					}
					w.BarSync(1, 64)
					x.Load(w, 9) // second
					if late && w.Rank() == 1 {
						full[0].WaitParity(w, i)
					}
					empty[0].Arrive(w.Thread(0))
				}
			})
		},
	}}
}

// asyncUnordered has copies that nothing orders after each other, or after what agents do themselves.
func asyncUnordered() []unordered {
	return []unordered{{
		name: "loads that overlap", rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, full, at := sm.Shared[int32](b, 32, 16), b.Barrier(), 16
			if broken {
				at = 12
			}
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				full.ArriveTx(t, 1, 128)
				sm.LoadBulk(t, x, in64[:16], full)        // first
				sm.LoadBulk(t, x.At(at), in64[:16], full) // second
				full.WaitParity(t, 0)
				x.Load(t, 13)
			})
		},
	}, {
		name: "a load over a load that is on its way", rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, full := sm.Shared[int32](b, 16, 16), b.Barriers(2)
			b.Threads(func(t *sm.Thread) {
				for i := range full {
					full[i].Init(t, 1)
				}
				for i := range full {
					full[i].ArriveTx(t, 1, 64)
					sm.LoadBulk(t, x, in64[16*i:][:16], &full[i]) // both
					if !broken {
						full[i].WaitParity(t, 0)
						assert(x.Load(t, 3) == int32(16*i+3), "tile %d has %d", i, x.Load(t, 3))
					}
				}
				for i := range full {
					full[i].WaitParity(t, 0)
				}
			})
		},
	}, {
		name: "a store into a load that is on its way", rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, full := sm.Shared[int32](b, 16, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				full.ArriveTx(t, 1, 64)
				sm.LoadBulk(t, x, in64[:16], full) // first
				if broken {
					x.Store(t, 15, 0) // second
				}
				full.WaitParity(t, 0)
				x.Store(t, 15, 0)
			})
		},
	}, {
		name: "a chunk that the swizzle has moved", cfg: block(2), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, full, at := sm.Shared[int32](b, 8*32, 1024), b.Barrier(), 32 // of row 1, whose chunk 0 lies where chunk 1 would
			if broken {
				at += 4
			}
			m, err := sm.NewTensorMap(in64, tile.Config{
				Dims: []uint64{8, 8}, Box: []uint32{4, 8}, Swizzle: tile.Swizzle128B,
			})
			assert(err == nil, "%v", err)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					full.Init(t, 1)
				}
				t.SyncThreads()
				if t.Rank() == 0 {
					full.ArriveTx(t, 1, m.BoxBytes())
					t.LoadTensor(x, m, full, 0, 0) // first
					full.WaitParity(t, 0)
					assert(broken || x.Load(t, 36) == 8, "row 1 has %d", x.Load(t, 36))
				} else {
					x.Write(t, at, in64[:4]) // second
				}
			})
		},
	}, {
		name: "a load over what others still read", cfg: block(4), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, full := sm.Shared[int32](b, 16, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					full.Init(t, 1)
				}
				t.SyncThreads()
				for i := range 2 {
					if t.Rank() == 0 {
						full.ArriveTx(t, 1, 64)
						sm.LoadBulk(t, x, in64[16*i:][:16], full) // second
					}
					full.WaitParity(t, i)
					x.Load(t, t.Rank()) // first
					if !broken {
						t.SyncThreads()
					}
				}
			})
		},
		also: []sm.Rule{sm.RulePhase, sm.RuleDeadlock}, // who waits for phase 0 until phase 1 is over
	}, {
		name: "more bytes than expected", rule: sm.RuleRace,
		also: []sm.Rule{sm.RuleDeadlock, sm.RuleBytes, sm.RuleExit}, rare: true,
		kernel: func(b *sm.Block, broken bool) {
			x, full, expect := sm.Shared[int32](b, 32, 16), b.Barrier(), 128
			if broken {
				expect = 64
			}
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				full.ArriveTx(t, 1, expect)
				sm.LoadBulk(t, x, in64[:16], full)          // first
				sm.LoadBulk(t, x.At(16), in64[16:32], full) // first
				full.WaitParity(t, 0)
				x.Load(t, 3)  // second
				x.Load(t, 31) // second
				if broken {
					full.ArriveTx(t, 1, 64)
					full.WaitParity(t, 1)
				}
			})
		},
	}, {
		name: "bytes expected after the arrival", cfg: block(2), rule: sm.RuleRace, rare: true,
		also: []sm.Rule{sm.RuleDeadlock, sm.RuleExit, sm.RuleBytes},
		kernel: func(b *sm.Block, broken bool) {
			x, full := sm.Shared[int32](b, 32, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					full.Init(t, 1)
					x.Write(t, 0, make([]int32, 32))
					t.FenceProxyAsync()
				}
				t.SyncThreads()
				if t.Rank() == 1 {
					full.WaitParity(t, 0)
					x.Load(t, 31) // second
					return
				}
				if broken {
					full.ArriveTx(t, 1, 64)
					sm.LoadBulk(t, x, in64[:16], full)
					full.ExpectTx(t, 64)
				} else {
					full.ArriveTx(t, 1, 128)
					sm.LoadBulk(t, x, in64[:16], full)
				}
				sm.LoadBulk(t, x.At(16), in64[16:32], full) // first
			})
		},
	}, {
		name: "a try that has failed", cfg: block(64), rule: sm.RuleRace, rare: true,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 16, 16)
			specialised(b, 1, 1, func(t *sm.Thread, full, empty []sm.Barrier) {
				for i := range 2 {
					empty[0].WaitParity(t, i+1)
					full[0].ArriveTx(t, 1, 64)
					sm.LoadBulk(t, x, in64[:16], &full[0]) // first
				}
			}, func(w *sm.Warp, full, empty []sm.Barrier) {
				full[0].WaitParity(w, 0)
				empty[0].Arrive(w.Thread(0))
				for !full[0].TryWaitParity(w, 1) {
					if broken {
						break
					}
				}
				x.Load(w, 5) // second
				full[0].WaitParity(w, 1)
			})
		},
	}}
}
