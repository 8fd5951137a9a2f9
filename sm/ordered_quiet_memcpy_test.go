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
	}
}
