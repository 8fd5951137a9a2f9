package sm_test

import (
	"sync/atomic"
	"testing"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// phaseUnordered completes a phase before all who wait for the one before it have seen that. Who comes later still
// waits for a phase that never ends.
func phaseUnordered() []unordered {
	return []unordered{{
		name: "two phases for one that waits", cfg: block(2), rule: sm.RulePhase, rare: true,
		also: []sm.Rule{sm.RuleDeadlock},
		kernel: func(b *sm.Block, broken bool) {
			bars := b.Barriers(2)
			bar, seen := &bars[0], &bars[1]
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					bar.Init(t, 1)
					seen.Init(t, 1)
				}
				t.SyncThreads()
				if t.Rank() == 1 {
					bar.WaitParity(t, 0) // first
					if !broken {
						seen.Arrive(t)
					}
					return
				}
				bar.Arrive(t)
				if !broken {
					seen.WaitParity(t, 0)
				}
				bar.Arrive(t) // second
			})
		},
	}, {
		name: "a phase that one of two has seen", cfg: block(3), rule: sm.RulePhase, rare: true,
		also: []sm.Rule{sm.RuleDeadlock},
		kernel: func(b *sm.Block, broken bool) {
			bars, n := b.Barriers(2), 2
			if broken {
				n = 1
			}
			bar, seen := &bars[0], &bars[1]
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					bar.Init(t, 1)
					seen.Init(t, n)
				}
				t.SyncThreads()
				for i := range 2 {
					switch {
					case t.Rank() == 0:
						bar.Arrive(t) // second
						seen.WaitParity(t, i)
					case t.Rank() <= n:
						bar.WaitParity(t, i)
						seen.Arrive(t)
					default:
						bar.WaitParity(t, i) // first
					}
				}
			})
		},
	}, {
		name: "a barrier for two buffers, of which only the producer knows how far it is", cfg: block(64),
		rule: sm.RulePhase, rare: true, also: []sm.Rule{sm.RuleDeadlock},
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 2*16, 16)
			specialised(b, 1, 1, func(t *sm.Thread, full, empty []sm.Barrier) {
				for i := range 2 {
					if !broken && i > 0 {
						empty[0].WaitParity(t, 0)
					}
					full[0].ArriveTx(t, 1, 64)                             // second
					sm.LoadBulk(t, x.At(16*i), in64[16*i:][:16], &full[0]) // second
					full[0].WaitParity(t, i)
				}
			}, func(w *sm.Warp, full, empty []sm.Barrier) {
				for i := range 2 {
					full[0].WaitParity(w, i) // first
					got := x.Load(w, 16*i+3)
					assert(broken || got == int32(16*i+3), "buffer %d has %d", i, got)
					empty[0].Arrive(w.Thread(0))
				}
			})
		},
	}, {
		name: "a barrier that ends while another may yet wait for it", cfg: block(2), rule: sm.RuleBarrier,
		kernel: func(b *sm.Block, broken bool) {
			bar := b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					bar.Init(t, 2)
				}
				t.SyncThreads()
				bar.ArriveAndWait(t) // first
				if !broken {
					t.SyncThreads()
				}
				if t.Rank() == 1 {
					bar.Invalidate(t) // second
				}
			})
		},
	}, {
		name: "a barrier that ends while another may yet arrive", cfg: block(2), rule: sm.RuleBarrier,
		kernel: func(b *sm.Block, broken bool) {
			x, bar := sm.Shared[int32](b, 1, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					bar.Init(t, 2)
				}
				t.SyncThreads()
				if t.Rank() == 0 {
					x.Store(t, 0, 1)
					bar.Arrive(t) // first
				}
				if !broken {
					t.SyncThreads()
				}
				if t.Rank() == 1 {
					bar.Invalidate(t) // second
				}
			})
		},
	}, {
		name: "a barrier that lives again before its end is known", cfg: block(2), rule: sm.RuleBarrier,
		kernel: func(b *sm.Block, broken bool) {
			bar := b.Barrier()
			var ended atomic.Bool
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					bar.Init(t, 1)
				}
				t.SyncThreads()
				if t.Rank() == 0 {
					bar.Invalidate(t) // first
					ended.Store(true)
				}
				if !broken {
					t.SyncThreads()
				}
				if t.Rank() == 1 {
					for !ended.Load() {
						t.ThreadFence(sm.ScopeBlock)
					}
					bar.Init(t, 1) // second
				}
			})
		},
	}}
}

// unwrittenKernels read what nobody has written.
func unwrittenKernels() []unordered {
	return []unordered{{
		name: "a sum begins with what is there", rule: sm.RuleUnwritten,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 1, 16)
			b.Threads(func(t *sm.Thread) {
				if !broken {
					x.Store(t, 0, 0)
				}
				for i := range int32(4) {
					sum := x.Load(t, 0) // first
					x.Store(t, 0, sum+i)
				}
			})
		},
	}, {
		name: "half of a tile is loaded", rule: sm.RuleUnwritten,
		kernel: func(b *sm.Block, broken bool) {
			x, full, n := sm.Shared[int32](b, 32, 16), b.Barrier(), 32
			if broken {
				n = 16
			}
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				full.ArriveTx(t, 1, 4*n)
				sm.LoadBulk(t, x, in64[:n], full)
				full.WaitParity(t, 0)
				x.Read(t, 0, make([]int32, 32)) // first
			})
		},
	}, {
		name: "half of what is stored is written", cfg: block(2), rule: sm.RuleUnwritten,
		kernel: func(b *sm.Block, broken bool) {
			x, out := sm.Shared[int32](b, 32, 16), make([]int32, 32)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 || !broken {
					x.Write(t, 16*t.Rank(), in64[:16])
				}
				t.FenceProxyAsync()
				t.SyncThreads()
				if t.Rank() == 0 {
					sm.StoreBulk(t, out, x) // first
					t.CommitGroup()
					t.WaitGroup(0)
				}
			})
		},
	}, {
		name: "the B of another stage", cfg: block(128), rule: sm.RuleUnwritten,
		kernel: func(b *sm.Block, broken bool) {
			x, y := operands(b, 2)
			s := 0
			if broken {
				s = 1
			}
			loaded(b, narrow, func(t *sm.Thread, full *sm.Barrier) {
				full.ArriveTx(t, 1, bytesA+bytesB)
				t.LoadTensor(x, onesA, full, 0, 0)
				t.LoadTensor(y, onesB, full, 0, 0)
			}, func(w *sm.Warpgroup, d *wgmma.Accumulator) {
				w.MMA(narrow, d, x.KMajor(tile.Swizzle32B), y.At(s*sizeB).KMajor(tile.Swizzle32B)) // first
			})
		},
	}, {
		name: "operands of which the last row is missing", cfg: block(128), rule: sm.RuleUnwritten,
		kernel: func(b *sm.Block, broken bool) {
			x, y := operands(b, 1)
			n := sizeA
			if broken {
				n -= 16
			}
			b.Warpgroups(func(w *sm.Warpgroup) {
				x.Write(w, 0, make([]bf16.BF16, n))
				y.Write(w, 0, make([]bf16.BF16, sizeB))
				w.FenceProxyAsync()
				d := w.Accumulators(wgmma.F32, narrow.N)
				w.Fence()
				w.MMA(narrow, d, x.KMajor(tile.Swizzle32B), y.KMajor(tile.Swizzle32B)) // first
				w.CommitGroup()
				w.WaitGroup(0)
			})
		},
	}, {
		name: "memory that only the other CTA has written", cfg: pair(1), rule: sm.RuleUnwritten,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 4, 16)
			b.Threads(func(t *sm.Thread) {
				if b.ClusterRank() == 0 || !broken {
					x.Write(t, 0, in64[:4])
				}
				t.ClusterSync()
				x.MapShared(1).Load(t, 2) // first
				t.ClusterSync()
			})
		},
	}, {
		name: "a copy to a peer of what nobody has written", cfg: pair(1), rule: sm.RuleUnwritten,
		kernel: func(b *sm.Block, broken bool) {
			x, y, full := sm.Shared[int32](b, 8, 16), sm.Shared[int32](b, 8, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				full.ArriveTx(t, 1, 32)
				x.Write(t, 0, in64[:4])
				if !broken {
					x.Write(t, 4, in64[:4])
				}
				t.FenceProxyAsync()
				t.ClusterSync()
				peer := 1 - b.ClusterRank()
				t.CopyBulk(y.MapShared(peer), x, full.MapShared(peer)) // first
				full.WaitParity(t, 0)
				t.ClusterSync()
			})
		},
	}}
}

// TestWaitsAgain: however often agents wait for a phase that is over, the barrier remembers a few waits of each.
func TestWaitsAgain(t *testing.T) {
	const agents = 3
	room := 0
	err := launch(t, sm.Config{Block: sm.Dim3{X: agents}, Check: true}, func(b *sm.Block) {
		bar := b.Barrier()
		b.Threads(func(t *sm.Thread) {
			if t.Rank() == 0 {
				bar.Init(t, agents)
			}
			t.SyncThreads()
			token := bar.Arrive(t)
			for range 500 {
				bar.Wait(t, token)
				t.SyncThreads()
			}
			if t.Rank() == 0 {
				room = bar.Seen()
			}
		})
	})
	if err != nil || room == 0 || room > 10*agents {
		t.Errorf("room for %d waits, error %v", room, err)
	}
}
