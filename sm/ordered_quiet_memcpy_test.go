package sm_test

import "example.com/leafhopper/sm"

// quietMemcpy is cp.async in all its forms.
func quietMemcpy() []quiet {
	return []quiet{
		{"a multistage loop of cp.async", block(2), func(b *sm.Block) {
			const stages = 3
			x := sm.Shared[int32](b, stages*2, 16)
			b.Threads(func(t *sm.Thread) {
				fetch := func(i int) {
					if i < 6 {
						at := i%stages*2 + t.Rank()
						sm.MemcpyAsync(t, x.Slice(at, at+1), in64[2*i+t.Rank():][:1], nil)
					}
					t.CommitAsync()
				}
				fetch(0)
				fetch(1)
				for i := range 6 {
					t.WaitAsync(1)
					t.SyncThreads()
					got := x.Load(t, i%stages*2+1-t.Rank())
					assert(got == int32(2*i+1-t.Rank()), "tile %d has %d", i, got)
					fetch(i + 2)
				}
			})
		}},
		{"copies of a thread, waited for by their own", sm.Config{}, func(b *sm.Block) {
			x := sm.Shared[int32](b, 12, 16)
			b.Threads(func(t *sm.Thread) {
				x.Write(t, 0, make([]int32, 12))
				sm.MemcpyAsync(t, x, in64[:5], nil)
				t.CommitAsync()
				sm.MemcpyAsync(t, x.At(5), in64[5:9], nil)
				t.CommitAsync()
				t.CommitAsync() // of none
				x.Store(t, 11, 1)
				t.WaitAsync(2)
				assert(x.Load(t, 4) == 4, "the first")
				x.Store(t, 4, 0)
				t.WaitAsync(1)
				assert(x.Load(t, 8) == 8, "the second")
				t.WaitAll()
			})
		}},
		{"a group's copies", block(4), func(b *sm.Block) {
			x := sm.Shared[int32](b, 2*16, 16)
			b.Threads(func(t *sm.Thread) {
				g := t.ThisThreadBlock()
				sm.MemcpyAsync(g, x, in64[:16], nil)
				for i := range 3 {
					g.CommitAsync()
					sm.MemcpyAsync(g, x.At((i+1)%2*16), in64[4*i+4:][:16], nil)
					g.CommitAsync()
					g.WaitAsync(1)
					at := 15 - 4*t.Rank()
					assert(x.Load(t, i%2*16+at) == int32(4*i+at), "batch %d", i)
					g.Sync()
				}
				g.WaitAll()
				assert(x.Load(t, 31-t.Rank()) == int32(12+15-t.Rank()), "the last")
			})
		}},
		{"copies on a barrier, tokens", block(3), func(b *sm.Block) {
			x, bar := sm.Shared[int32](b, 2*3, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					bar.Init(t, 3)
				}
				t.SyncThreads()
				for i := range 4 {
					at := i % 2 * 3
					sm.MemcpyAsync(t, x.Slice(at+t.Rank(), at+t.Rank()+1), in64[3*i+t.Rank():][:1], bar)
					bar.Wait(t, bar.Arrive(t))
					got := x.Load(t, at+2-t.Rank())
					assert(got == int32(3*i+2-t.Rank()), "batch %d has %d", i, got)
				}
			})
		}},
		{"a partitioned pipeline", block(4), func(b *sm.Block) {
			x := sm.Shared[int32](b, 2*2, 16)
			pipe := b.Pipeline(2, func(rank int) sm.Role { return []sm.Role{sm.Producer, sm.Consumer}[rank/2] })
			b.Threads(func(t *sm.Thread) {
				p := pipe[t.Rank()]
				for i := range 5 {
					at := i % 2 * 2
					if t.Rank() < 2 {
						p.ProducerAcquire()
						sm.MemcpyAsync(t, x.Slice(at+t.Rank(), at+t.Rank()+1), in64[2*i+t.Rank():][:1], p)
						p.ProducerCommit()
						continue
					}
					p.ConsumerWait()
					got := x.Load(t, at+3-t.Rank())
					assert(got == int32(2*i+3-t.Rank()), "batch %d has %d", i, got)
					p.ConsumerRelease()
				}
			})
		}},
		{"a unified pipeline with more commits than waits", block(2), func(b *sm.Block) {
			x, pipe := sm.Shared[int32](b, 3*2, 16), b.Pipeline(3, nil)
			b.Threads(func(t *sm.Thread) {
				p := pipe[t.Rank()]
				fetch := func(i int) {
					p.ProducerAcquire()
					if at := i%3*2 + t.Rank(); i < 5 {
						sm.MemcpyAsync(t, x.Slice(at, at+1), in64[2*i+t.Rank():][:1], p)
					}
					p.ProducerCommit()
				}
				fetch(0)
				fetch(1)
				for i := range 5 {
					fetch(i + 2)
					p.ConsumerWait()
					got := x.Load(t, i%3*2+1-t.Rank())
					assert(got == int32(2*i+1-t.Rank()), "batch %d has %d", i, got)
					p.ConsumerRelease()
				}
			})
		}},
		{"a pipeline that is waited for as a whole", block(2), func(b *sm.Block) {
			x, pipe := sm.Shared[int32](b, 2*2, 16), b.Pipeline(2, nil)
			b.Threads(func(t *sm.Thread) {
				p := pipe[t.Rank()]
				for i := range 2 {
					p.ProducerAcquire()
					sm.MemcpyAsync(t, x.Slice(2*i+t.Rank(), 2*i+t.Rank()+1), in64[i:][:1], p)
					p.ProducerCommit()
				}
				p.WaitPrior(1)
				assert(x.Load(t, 1-t.Rank()) == 0, "the first")
				p.WaitPrior(0)
				assert(x.Load(t, 3-t.Rank()) == 1, "the second")
				p.ConsumerRelease()
				p.ConsumerRelease()
				p.Quit()
			})
		}},
		{"a ring whose full barriers copies arrive at", block(64), func(b *sm.Block) {
			const stages = 2
			x, full, empty := sm.Shared[int32](b, stages*32, 16), b.Barriers(stages), b.Barriers(stages)
			b.Start(
				sm.Threads(0, 32, func(t *sm.Thread) {
					for s := range stages {
						if t.Rank() == 0 {
							full[s].Init(t, 32)
							empty[s].Init(t, 32)
						}
					}
					t.SyncThreads()
					for i := range 5 {
						at := i % stages
						empty[at].WaitParity(t, 1-i/stages%2)
						sm.MemcpyAsync(t, x.Slice(at*32+t.Rank(), at*32+t.Rank()+1), in64[i+t.Rank():][:1], nil)
						full[at].ArriveAsyncNoInc(t)
					}
				}),
				sm.Warps(1, 2, func(w *sm.Warp) {
					w.SyncThreads()
					for i := range 5 {
						at := i % stages
						full[at].WaitParity(w, i/stages%2)
						for l := range 32 {
							got := x.Load(w, at*32+l)
							assert(got == int32(i+l), "batch %d has %d at %d", i, got, l)
						}
						empty[at].Arrive(w)
					}
				}),
			)
		}},
		{"all copy, arrive besides, and wait", block(4), func(b *sm.Block) {
			x, bar := sm.Shared[int32](b, 4, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					bar.Init(t, 4)
				}
				t.SyncThreads()
				for i := range 4 {
					sm.MemcpyAsync(t, x.Slice(t.Rank(), t.Rank()+1), in64[i:][:1], nil)
					if i%2 == 1 {
						t.CommitAsync()
					}
					bar.ArriveAsync(t)
					bar.Wait(t, bar.Arrive(t))
					got := x.Load(t, (t.Rank()+1)%4)
					assert(got == int32(i), "round %d has %d", i, got)
					t.SyncThreads()
				}
			})
		}},
		{"a group of cp.async is over, the next arrives", block(32), func(b *sm.Block) {
			x, bar := sm.Shared[int32](b, 12, 16), b.Barrier()
			b.Start(sm.Warps(0, 1, func(w *sm.Warp) {
				bar.Init(w, 32)
				sm.MemcpyAsync(w, x, in64[:4], nil)
				bar.ArriveAsyncNoInc(w)
				bar.WaitParity(w, 0)
				assert(x.Load(w, 3) == 3, "the first")
				sm.MemcpyAsync(w, x, in64[4:8], nil)
				w.CommitAsync()
				sm.MemcpyAsync(w, x.At(4), in64[:4], nil)
				bar.ArriveAsyncNoInc(w)
				sm.MemcpyAsync(w, x.At(8), in64[:4], nil)
				w.CommitAsync()
				w.WaitAsync(1)
				assert(x.Load(w, 3) == 7, "the second")
				bar.WaitParity(w, 1)
				assert(x.Load(w, 7) == 3, "the third")
				w.WaitAll()
				assert(x.Load(w, 11) == 3, "the fourth")
				bar.ArriveAsyncNoInc(w) // of nothing
				w.CommitAsync()
				w.WaitAsync(0)
			}))
		}},
		{"an arrival whose copies WaitAsync has covered", sm.Config{}, func(b *sm.Block) {
			x, bars := sm.Shared[int32](b, 2, 16), b.Barriers(2)
			b.Threads(func(t *sm.Thread) {
				bars[0].Init(t, 1)
				bars[1].Init(t, 1)
				for i := range 6 {
					sm.MemcpyAsync(t, x.Slice(i%2, i%2+1), in64[i:][:1], nil)
					t.CommitAsync()
					bars[i%2].ArriveAsyncNoInc(t)
					t.WaitAsync(i % 2)
					if i%2 == 1 {
						assert(x.Load(t, 0) == int32(i-1), "an even one")
						t.WaitAsync(0)
						assert(x.Load(t, 1) == int32(i), "an odd one")
						bars[0].WaitParity(t, i/2%2)
						bars[1].WaitParity(t, i/2%2)
					}
				}
			})
		}},
	}
}
