package sm_test

import "example.com/leafhopper/sm"

// quietBarriers is what mbarriers order without copies.
func quietBarriers() []quiet {
	return []quiet{
		{"ping-pong", block(64), func(b *sm.Block) {
			x, ping, pong := sm.Shared[int32](b, 1, 16), b.Barrier(), b.Barrier()
			b.Start(sm.Warps(0, 2, func(w *sm.Warp) {
				t := w.Thread(0)
				if w.Rank() == 0 {
					ping.Init(t, 1)
					pong.Init(t, 1)
					x.Store(t, 0, 0)
				}
				w.SyncThreads()
				for i := range 5 {
					if w.Rank() == 0 {
						pong.WaitParity(t, i+1) // passes at once the first time
						assert(x.Load(w, 0) == int32(2*i), "turn %d", i)
						x.Store(w, 0, int32(2*i+1))
						ping.Arrive(t)
						continue
					}
					ping.WaitParity(t, i)
					x.Store(w, 0, x.Load(w, 0)+1)
					pong.Arrive(t)
				}
			}))
		}},
		{"split arrive and wait", block(3), func(b *sm.Block) {
			x, y, bar := sm.Shared[int32](b, 3, 16), sm.Shared[int32](b, 3, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					bar.Init(t, 3)
				}
				t.SyncThreads()
				for i := range int32(3) {
					x.Store(t, t.Rank(), i)
					token := bar.Arrive(t)
					y.Store(t, t.Rank(), i) // its own
					bar.Wait(t, token)
					assert(x.Load(t, 2-t.Rank()) == i, "round %d", i)
					bar.Wait(t, bar.Arrive(t))
				}
			})
		}},
		{"arrivals for a phase before all have left the last", block(4), func(b *sm.Block) {
			x, bar := sm.Shared[int32](b, 2*4, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					bar.Init(t, 4)
				}
				t.SyncThreads()
				for i := range 5 {
					at := i % 2 * 4
					x.Store(t, at+t.Rank(), int32(i))
					if t.Rank()%2 == 0 {
						bar.ArriveAndWait(t)
					} else {
						bar.Arrive(t)
						bar.WaitParity(t, i)
					}
					assert(x.Load(t, at+3-t.Rank()) == int32(i), "round %d", i)
				}
			})
		}},
		{"threads that drop out", block(4), func(b *sm.Block) {
			x, bar := sm.Shared[int32](b, 4, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					bar.Init(t, 4)
				}
				t.SyncThreads()
				for i := range 4 {
					x.Store(t, t.Rank(), int32(i))
					if t.Rank() == i {
						bar.ArriveAndDrop(t)
						return
					}
					bar.ArriveAndWait(t)
					assert(x.Load(t, i) == int32(i), "round %d", i)
				}
			})
		}},
		{"a barrier that is told of by another", block(96), func(b *sm.Block) {
			x, first, then := sm.Shared[int32](b, 16, 16), b.Barrier(), b.Barrier()
			b.Start(sm.Warps(0, 3, func(w *sm.Warp) {
				t := w.Thread(0)
				if w.Rank() == 0 {
					first.Init(t, 1)
					then.Init(t, 1)
				}
				w.SyncThreads()
				switch w.Rank() {
				case 0:
					first.ArriveTx(t, 1, 64)
					sm.LoadBulk(t, x, in64[:16], first)
				case 1:
					first.WaitParity(t, 0)
					then.Arrive(t)
				case 2:
					then.WaitParity(t, 0)
					assert(x.Load(w, 5) == 5, "loaded %d", x.Load(w, 5))
					x.Store(w, 5, 6)
				}
			}))
		}},
		{"a barrier that lives twice", block(3), func(b *sm.Block) {
			x, bar := sm.Shared[int32](b, 16, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				for i := range 2 {
					if t.Rank() == i {
						bar.Init(t, 3)
					}
					t.SyncThreads()
					if t.Rank() == 0 {
						sm.LoadBulk(t, x, in64[16*i:][:16], bar)
						bar.ExpectTx(t, 64)
					}
					bar.ArriveAndWait(t)
					assert(x.Load(t, 3) == int32(16*i+3), "life %d", i)
					t.SyncThreads()
					if t.Rank() == 2 {
						bar.Invalidate(t)
					}
					t.SyncThreads()
				}
			})
		}},
		{"ping-pong on one barrier", block(2), func(b *sm.Block) {
			x, bar := sm.Shared[int32](b, 1, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					bar.Init(t, 1)
					x.Store(t, 0, 0)
				}
				t.SyncThreads()
				for i := range 6 { // phase i is who of parity i ends
					if t.Rank() == i%2 {
						assert(x.Load(t, 0) == int32(i), "turn %d", i)
						x.Store(t, 0, int32(i+1))
						bar.Arrive(t)
					} else {
						bar.WaitParity(t, i)
					}
				}
			})
		}},
		{"tries until one is true", block(64), func(b *sm.Block) {
			x := sm.Shared[int32](b, 16, 16)
			specialised(b, 1, 1, func(t *sm.Thread, full, empty []sm.Barrier) {
				for i := range 3 {
					for !empty[0].TestWaitParity(t, i+1) {
					}
					sm.LoadBulk(t, x, in64[4*i:][:16], &full[0]) // its bytes may come before they are expected
					full[0].ArriveTx(t, 1, 64)
				}
			}, func(w *sm.Warp, full, empty []sm.Barrier) {
				for i := range 3 {
					for !full[0].TryWaitParity(w, i) {
					}
					assert(x.Load(w, 1) == int32(4*i+1), "tile %d", i)
					empty[0].Arrive(w.Thread(0))
				}
			})
		}},
		{"a hint before the wait", block(64), func(b *sm.Block) {
			x := sm.Shared[int32](b, 2, 16)
			specialised(b, 2, 1, func(t *sm.Thread, full, empty []sm.Barrier) {
				for i := range 6 {
					s := i % 2
					empty[s].WaitParity(t, i/2+1)
					x.Store(t, s, int32(i))
					full[s].Arrive(t)
				}
			}, func(w *sm.Warp, full, empty []sm.Barrier) {
				ready := full[0].TestWaitParity(w, 0)
				for i := range 6 {
					s := i % 2
					if !ready {
						full[s].WaitParity(w, i/2)
					}
					if i < 5 {
						ready = full[1-s].TestWaitParity(w, (i+1)/2)
					}
					assert(x.Load(w, s) == int32(i), "value %d", i)
					empty[s].Arrive(w.Thread(0))
				}
			})
		}},
	}
}
