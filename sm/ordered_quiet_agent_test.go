package sm_test

import (
	"sync/atomic"

	"example.com/leafhopper/sm"
)

// quietAgents is what agents of several kinds do together.
func quietAgents() []quiet {
	partial, ready := make([]int32, 2), new(atomic.Int32)
	return []quiet{
		{"threads, warps and a warpgroup", block(256), func(b *sm.Block) {
			x := sm.Shared[int32](b, 36, 16)
			at := func(a actor, i int) {
				for round := range int32(2) {
					x.Store(a, i, round)
					a.SyncThreads()
					assert(x.Load(a, 35-i) == round, "round %d", round)
					a.SyncThreads()
				}
			}
			b.Start(
				sm.Threads(0, 32, func(t *sm.Thread) { at(t, t.Rank()) }),
				sm.Warps(1, 4, func(w *sm.Warp) { at(w, 31+w.Rank()) }),
				sm.Warpgroups(1, 2, func(w *sm.Warpgroup) { at(w, 35) }),
			)
		}},
		{"parts of a warpgroup", block(128), func(b *sm.Block) {
			x, out := sm.Shared[int32](b, 8, 16), make([]int32, 8)
			b.Warpgroups(func(w *sm.Warpgroup) {
				x.Write(w, 0, in64[:8])
				x.Store(w.Warp(1), 1, 10)
				w.Warp(1).SyncWarp()
				x.Store(w.Thread(77), 2, x.Load(w.Warp(3), 1)+1)
				w.Warp(2).FenceProxyAsync()
				sm.StoreBulk(w.Thread(33), out, x)
				w.Warp(1).Thread(1).CommitGroup()
				w.Thread(33).WaitGroup(0)
				x.Store(w, 2, 0)
				assert(out[2] == 11, "stored %v", out)
			})
		}},
		{"named barriers, some only arrive", block(96), func(b *sm.Block) {
			x := sm.Shared[int32](b, 1, 16)
			b.Start(sm.Warps(0, 3, func(w *sm.Warp) {
				for i := range 4 {
					if w.Rank() == 0 {
						if i > 0 {
							w.BarSync(2, 96)
						}
						x.Store(w, 0, int32(i))
						w.BarArrive(1, 96)
						continue
					}
					w.BarSync(1, 96)
					assert(x.Load(w, 0) == int32(i), "round %d has %d", i, x.Load(w, 0))
					if i < 3 {
						w.BarArrive(2, 96)
					}
				}
			}))
		}},
		{"warps take turns by named barriers", block(64), func(b *sm.Block) {
			x := sm.Shared[int32](b, 1, 16)
			b.Start(sm.Warps(0, 2, func(w *sm.Warp) {
				mine, other := 4+w.Rank(), 5-w.Rank()
				if w.Rank() == 0 {
					x.Store(w, 0, 0)
				}
				for i := range 3 {
					if i > 0 || w.Rank() > 0 {
						w.BarSync(mine, 64)
					}
					n := x.Load(w, 0)
					assert(n == int32(2*i+w.Rank()), "turn %d", n)
					x.Store(w, 0, n+1)
					if i < 2 || w.Rank() == 0 {
						w.BarArrive(other, 64)
					}
				}
			}))
		}},
		{"pairs of warps at barriers of their own", block(128), func(b *sm.Block) {
			x := sm.Shared[int32](b, 4, 16)
			b.Start(sm.Warps(0, 4, func(w *sm.Warp) {
				for i := range int32(1 + w.Rank()/2) {
					x.Store(w, w.Rank(), i)
					w.BarSync(1+w.Rank()/2, 64)
					assert(x.Load(w, w.Rank()^1) == i, "round %d", i)
					w.BarSync(1+w.Rank()/2, 64)
				}
				w.BarSync(0, 128)
				assert(x.Load(w, 3-w.Rank()) == int32((3-w.Rank())/2), "at last")
			}))
		}},
		{"a goroutine of the kernel's own", block(2), func(b *sm.Block) {
			x := sm.Shared[int32](b, 2, 16)
			b.Threads(func(t *sm.Thread) {
				done := make(chan bool)
				go func() {
					defer close(done)
					x.Store(t, t.Rank(), 1)
				}()
				<-done
				x.Store(t, t.Rank(), x.Load(t, t.Rank())+1)
				t.SyncThreads()
				assert(x.Load(t, 1-t.Rank()) == 2, "lost")
			})
		}},
		{"stream-K through global memory", sm.Config{
			Grid: sm.Dim3{X: 2}, Block: sm.Dim3{X: 4}, Resident: 2, Reset: func() { ready.Store(0) },
		}, func(b *sm.Block) {
			x := sm.Shared[int32](b, 4, 16)
			b.Threads(func(t *sm.Thread) {
				x.Store(t, t.Rank(), int32(1+b.Idx.X))
				t.SyncThreads()
				if t.Rank() > 0 {
					return
				}
				sum := int32(0)
				for i := range 4 {
					sum += x.Load(t, i)
				}
				partial[b.Idx.X] = sum
				if b.Idx.X == 1 {
					t.ThreadFence(sm.ScopeDevice)
					ready.Store(1)
					return
				}
				for ready.Load() == 0 {
					t.ThreadFence(sm.ScopeDevice)
				}
				t.ThreadFence(sm.ScopeDevice)
				assert(partial[0]+partial[1] == 12, "the sum is %d", partial[0]+partial[1])
			})
		}},
	}
}
