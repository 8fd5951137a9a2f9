package sm_test

import "example.com/leafhopper/sm"

// agentUnordered has the same mistakes where agents are of several kinds, and where accesses are of several sizes.
func agentUnordered() []unordered {
	return []unordered{{
		name: "two threads write a word", cfg: block(2), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 1, 16)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 || broken {
					x.Store(t, 0, 1) // both
				}
				t.SyncThreads()
				x.Load(t, 0)
			})
		},
	}, {
		name: "a word over the bytes of others", cfg: block(4), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, word := sm.Shared[uint8](b, 8, 16), 1
			if broken {
				word = 0
			}
			words := sm.Recast[uint32](x)
			b.Threads(func(t *sm.Thread) {
				x.Store(t, t.Rank(), 1) // first
				if t.Rank() == 3 {
					words.Store(t, word, 1) // second
				}
			})
		},
	}, {
		name: "one element too many of a neighbour's", cfg: block(2), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, n := sm.Shared[int32](b, 16, 16), 8
			if broken {
				n = 9
			}
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					x.Write(t, 0, in64[:n]) // first
				} else {
					x.Write(t, 8, in64[8:16]) // second
				}
			})
		},
	}, {
		name: "a warpgroup reads what threads write", cfg: block(256), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 32, 16)
			b.Start(sm.Threads(0, 32, func(t *sm.Thread) {
				x.Store(t, t.Rank(), 0)
				t.SyncThreads()
				x.Store(t, t.Rank(), 1) // first
				if !broken {
					t.BarArrive(1, 160)
				}
			}), sm.Warpgroups(1, 2, func(w *sm.Warpgroup) {
				w.SyncThreads()
				if !broken {
					w.BarSync(1, 160)
				}
				x.Read(w, 0, make([]int32, 32)) // second
			}))
		},
	}, {
		name: "a warp of a warpgroup synchronizes itself", cfg: block(160), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 1, 16)
			b.Start(sm.Warpgroups(0, 1, func(w *sm.Warpgroup) {
				x.Store(w, 0, 0)
				w.SyncThreads()
				x.Store(w.Warp(2), 0, 1) // first
				if broken {
					w.Warp(2).SyncWarp()
				} else {
					w.BarArrive(1, 160)
				}
			}), sm.Warps(4, 5, func(w *sm.Warp) {
				w.SyncThreads()
				if broken {
					w.SyncWarp()
				} else {
					w.BarSync(1, 160)
				}
				x.Load(w, 0) // second
			}))
		},
	}, {
		name: "an arrival before the write", cfg: block(64), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 1, 16)
			specialised(b, 1, 1, func(t *sm.Thread, full, empty []sm.Barrier) {
				x.Store(t, 0, 1)
				full[0].Arrive(t)
				empty[0].WaitParity(t, 0)
				if !broken {
					x.Store(t, 0, 2)
				}
				full[0].Arrive(t)
				if broken {
					x.Store(t, 0, 2) // first
				}
			}, func(w *sm.Warp, full, empty []sm.Barrier) {
				full[0].WaitParity(w, 0)
				empty[0].Arrive(w.Thread(0))
				full[0].WaitParity(w, 1)
				x.Load(w, 0) // second
			})
		},
	}, {
		name: "a write between a split arrive and its wait", cfg: block(3), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, bar := sm.Shared[int32](b, 3, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				x.Store(t, t.Rank(), 0)
				if t.Rank() == 0 {
					bar.Init(t, 3)
				}
				t.SyncThreads()
				if !broken {
					x.Store(t, t.Rank(), 1)
				}
				token := bar.Arrive(t)
				if broken {
					x.Store(t, t.Rank(), 1) // first
				}
				bar.Wait(t, token)
				x.Load(t, (t.Rank()+1)%3) // second
			})
		},
	}, {
		name: "a write after ArriveAndDrop", cfg: block(3), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, bar := sm.Shared[int32](b, 1, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 2 {
					bar.Init(t, 3)
					x.Store(t, 0, 0)
				}
				t.SyncThreads()
				if t.Rank() == 2 {
					if !broken {
						x.Store(t, 0, 7)
					}
					bar.ArriveAndDrop(t)
					if broken {
						x.Store(t, 0, 7) // first
					}
					return
				}
				bar.ArriveAndWait(t)
				got := x.Load(t, 0) // second
				assert(broken || got == 7, "read %d", got)
				bar.ArriveAndWait(t)
			})
		},
	}, {
		name: "an elected lane gives back what the others still read", cfg: block(64), rule: sm.RuleRace,
		also: []sm.Rule{sm.RulePhase, sm.RuleDeadlock}, // a lane that is a phase behind
		kernel: func(b *sm.Block, broken bool) {
			x, full, empty := sm.Shared[int32](b, 32, 16), b.Barrier(), b.Barrier()
			b.Start(sm.Threads(0, 32, func(t *sm.Thread) {
				t.SyncThreads()
				for i := range 2 {
					full.WaitParity(t, i)
					x.Load(t, 31-t.Lane()) // first
					if !broken {
						t.SyncWarp()
					}
					if t.Elected() {
						empty.Arrive(t)
					}
				}
			}), sm.Warps(1, 2, func(w *sm.Warp) {
				full.Init(w.Thread(0), 1)
				empty.Init(w.Thread(0), 1)
				w.SyncThreads()
				for i := range 2 {
					empty.WaitParity(w, i+1)
					x.Write(w, 0, in64[4*i:][:32]) // second
					full.Arrive(w.Thread(0))
				}
			}))
		},
	}, {
		name: "one of many readers does not say that it has read", cfg: block(40), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, bar, n := sm.Shared[int32](b, 1, 16), b.Barrier(), 40
			if broken {
				n = 39
			}
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					bar.Init(t, n)
					x.Store(t, 0, 0)
				}
				t.SyncThreads()
				x.Load(t, 0) // first
				if t.Rank() < n {
					bar.Arrive(t)
				}
				if t.Rank() == 17 {
					bar.WaitParity(t, 0)
					x.Store(t, 0, 1) // second
				}
			})
		},
	}}
}
