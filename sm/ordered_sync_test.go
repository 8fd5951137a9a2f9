package sm_test

import "example.com/leafhopper/sm"

// syncUnordered lacks a __syncthreads, a barrier.sync or a __syncwarp, or has another.
func syncUnordered() []unordered {
	return []unordered{{
		name: "no SyncThreads between a write and the reads", cfg: block(4), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 4, 16)
			b.Threads(func(t *sm.Thread) {
				x.Store(t, t.Rank(), 0)
				t.SyncThreads()
				x.Store(t, t.Rank(), 1) // first
				if !broken {
					t.SyncThreads()
				}
				x.Load(t, 3-t.Rank()) // second
			})
		},
	}, {
		name: "no SyncThreads between the reads and the next write", cfg: block(4), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 4, 16)
			b.Threads(func(t *sm.Thread) {
				for i := range int32(2) {
					x.Store(t, t.Rank(), i) // second
					t.SyncThreads()
					got := x.Load(t, 3-t.Rank()) // first
					assert(broken || got == i, "round %d has %d", i, got)
					if !broken {
						t.SyncThreads()
					}
				}
			})
		},
	}, {
		name: "no SyncThreads after one of six rounds", cfg: block(3), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 3, 16)
			b.Threads(func(t *sm.Thread) {
				for i := range int32(6) {
					x.Store(t, t.Rank(), i) // second
					t.SyncThreads()
					got := x.Load(t, (t.Rank()+1)%3) // first
					assert(broken || got == i, "round %d has %d", i, got)
					if !broken || i != 3 {
						t.SyncThreads()
					}
				}
			})
		},
	}, {
		name: "no SyncThreads after one step of a reduction", cfg: block(8), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 8, 16)
			b.Threads(func(t *sm.Thread) {
				x.Store(t, t.Rank(), 1)
				t.SyncThreads()
				for n := 4; n > 0; n /= 2 {
					if t.Rank() < n {
						sum := x.Load(t, t.Rank()) + x.Load(t, t.Rank()+n) // second
						x.Store(t, t.Rank(), sum)                          // first
					}
					if !broken || n != 2 {
						t.SyncThreads()
					}
				}
				assert(broken || x.Load(t, 0) == 8, "the sum is %d", x.Load(t, 0))
			})
		},
	}, {
		name: "a tile index is replaced before all have read it", cfg: block(4), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			next := sm.Shared[int32](b, 1, 16)
			b.Threads(func(t *sm.Thread) {
				for tile := int32(0); ; {
					if t.Rank() == 0 {
						next.Store(t, 0, tile+1) // second
					}
					t.SyncThreads()
					if tile = next.Load(t, 0); tile >= 3 { // first
						return
					}
					if !broken {
						t.SyncThreads()
					}
				}
			})
		},
		also: []sm.Rule{sm.RuleDeadlock}, // some have read the last
	}, {
		name: "the other buffer of two", cfg: block(4), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 2*4, 16)
			b.Threads(func(t *sm.Thread) {
				x.Store(t, t.Rank(), 0)
				x.Store(t, 4+t.Rank(), 0)
				t.SyncThreads()
				for i := range 4 {
					at := i % 2 * 4
					x.Store(t, at+t.Rank(), 1) // first
					t.SyncThreads()
					if broken && i == 2 {
						at = 4 - at
					}
					x.Load(t, at+3-t.Rank()) // second
				}
			})
		},
	}, {
		name: "a named barrier of other warps", cfg: block(128), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 4, 16)
			b.Start(sm.Warps(0, 4, func(w *sm.Warp) {
				id := 1 + w.Rank()/2
				if broken {
					id = 1 + w.Rank()%2
				}
				x.Store(w, w.Rank(), 0)
				w.SyncThreads()
				x.Store(w, w.Rank(), 1) // first
				w.BarSync(id, 64)
				x.Load(w, w.Rank()^1) // second
			}))
		},
	}, {
		name: "a named barrier for half of the warps", cfg: block(128), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, n := sm.Shared[int32](b, 4, 16), 128
			if broken {
				n = 64
			}
			b.Start(sm.Warps(0, 4, func(w *sm.Warp) {
				x.Store(w, w.Rank(), 0)
				w.SyncThreads()
				x.Store(w, w.Rank(), 1) // first
				w.BarSync(1, n)
				x.Load(w, (w.Rank()+1)%4) // second
			}))
		},
	}, {
		name: "no BarArrive says that a value has been read", cfg: block(64), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 1, 16)
			b.Start(sm.Warps(0, 2, func(w *sm.Warp) {
				for i := range 3 {
					if w.Rank() == 0 {
						if i > 0 && !broken {
							w.BarSync(8, 64)
						}
						x.Store(w, 0, int32(i)) // second
						w.BarArrive(1+i, 64)
						continue
					}
					w.BarSync(1+i, 64)
					got := x.Load(w, 0) // first
					assert(broken || got == int32(i), "value %d is %d", i, got)
					if i < 2 && !broken {
						w.BarArrive(8, 64)
					}
				}
			}))
		},
	}, {
		name: "BarArrive where BarSync is needed", cfg: block(64), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 2, 16)
			b.Start(sm.Warps(0, 2, func(w *sm.Warp) {
				x.Store(w, w.Rank(), 0)
				w.SyncThreads()
				x.Store(w, w.Rank(), 1) // first
				if broken && w.Rank() == 1 {
					w.BarArrive(3, 64)
				} else {
					w.BarSync(3, 64)
				}
				x.Load(w, 1-w.Rank()) // second
			}))
		},
	}, {
		name: "SyncWarp for a reader in another warp", cfg: block(34), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 34, 16)
			b.Threads(func(t *sm.Thread) {
				x.Store(t, t.Rank(), 0)
				t.SyncThreads()
				x.Store(t, t.Rank(), 1) // first
				if broken {
					t.SyncWarp()
				} else {
					t.SyncThreads()
				}
				x.Load(t, 33-t.Rank()) // second
			})
		},
	}, {
		name: "SyncWarp of half of the lanes", cfg: block(32), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 32, 16)
			b.Threads(func(t *sm.Thread) {
				mask := ^uint32(0)
				if broken {
					mask = 0xffff << (t.Lane() / 16 * 16)
				}
				x.Store(t, t.Lane(), 0)
				t.SyncWarp()
				x.Store(t, t.Lane(), 1) // first
				t.SyncWarp(mask)
				x.Load(t, 31-t.Lane()) // second
			})
		},
	}}
}
