package sm_test

import "example.com/leafhopper/sm"

// cpAsyncUnordered has memcpy_async without what completes it.
func cpAsyncUnordered() []unordered {
	return []unordered{{
		name: "memcpy_async is read before WaitAll", rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 5, 4)
			b.Threads(func(t *sm.Thread) {
				x.Write(t, 0, make([]int32, 5))
				sm.MemcpyAsync(t, x, in64[:5], nil) // first
				if broken {
					x.Load(t, 4) // second
				}
				t.WaitAll()
				assert(x.Load(t, 4) == 4, "the last is %d", x.Load(t, 4))
			})
		},
	}, {
		name: "memcpy_async over what has been stored since", rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 5, 4)
			b.Threads(func(t *sm.Thread) {
				sm.MemcpyAsync(t, x, in64[:5], nil) // first
				if !broken {
					t.WaitAll()
				}
				x.Store(t, 2, 7) // second
				t.WaitAll()
			})
		},
	}, {
		name: "WaitAsync for all groups but the one that is read", rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, n := sm.Shared[int32](b, 8, 16), 0
			if broken {
				n = 1
			}
			b.Threads(func(t *sm.Thread) {
				x.Write(t, 0, make([]int32, 8))
				sm.MemcpyAsync(t, x, in64[:4], nil)
				t.CommitAsync()
				sm.MemcpyAsync(t, x.At(4), in64[4:8], nil) // first
				t.CommitAsync()
				t.WaitAsync(n)
				x.Load(t, 3)
				x.Load(t, 4) // second
				t.WaitAll()
			})
		},
	}, {
		name: "WaitAsync for a copy that is in no group", rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 8, 16)
			b.Threads(func(t *sm.Thread) {
				x.Write(t, 0, make([]int32, 8))
				sm.MemcpyAsync(t, x, in64[:4], nil)
				t.CommitAsync()
				sm.MemcpyAsync(t, x.At(4), in64[4:8], nil) // first
				if !broken {
					t.CommitAsync()
				}
				t.WaitAsync(0)
				x.Load(t, 4) // second
				t.WaitAll()
			})
		},
	}, {
		name: "a multistage loop waits for one group too few", cfg: block(2), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			const stages = 3
			x, pending := sm.Shared[int32](b, stages*2, 16), stages-2
			if broken {
				pending++
			}
			b.Threads(func(t *sm.Thread) {
				x.Write(t, t.Rank()*stages, make([]int32, stages))
				t.SyncThreads()
				fetch := func(i int) {
					if i < 5 {
						at := i%stages*2 + t.Rank()
						sm.MemcpyAsync(t, x.Slice(at, at+1), in64[2*i+t.Rank():][:1], nil) // first
					}
					t.CommitAsync()
				}
				fetch(0)
				fetch(1)
				for i := range 5 {
					t.WaitAsync(pending)
					t.SyncThreads()
					got := x.Load(t, i%stages*2+1-t.Rank()) // second
					assert(broken || got == int32(2*i+1-t.Rank()), "tile %d has %d", i, got)
					fetch(i + 2)
				}
				t.WaitAll()
			})
		},
	}, {
		name: "each waits for its own copies", cfg: block(2), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 2, 16)
			b.Threads(func(t *sm.Thread) {
				x.Store(t, t.Rank(), 0)
				t.SyncThreads()
				sm.MemcpyAsync(t, x.Slice(t.Rank(), t.Rank()+1), in64[:1], nil) // first
				t.CommitAsync()
				t.WaitAsync(0)
				if !broken {
					t.SyncThreads()
				}
				x.Load(t, 1-t.Rank()) // second
			})
		},
	}, {
		name: "each thread waits for its part of a group's copy", cfg: block(4), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 16, 16)
			b.Threads(func(t *sm.Thread) {
				x.Write(t, 4*t.Rank(), make([]int32, 4))
				g := t.ThisThreadBlock()
				g.Sync()
				sm.MemcpyAsync(g, x, in64[:16], nil) // first
				if broken {
					t.WaitAll()
				} else {
					g.WaitAll()
				}
				x.Load(t, 15-4*t.Rank()) // second
			})
		},
	}, {
		name: "a copy on a barrier is read before the wait", cfg: block(2), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, bar := sm.Shared[int32](b, 2, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					bar.Init(t, 2)
					x.Write(t, 0, []int32{0, 0})
				}
				t.SyncThreads()
				sm.MemcpyAsync(t, x.Slice(t.Rank(), t.Rank()+1), in64[:1], bar) // first
				token := bar.Arrive(t)
				if broken {
					x.Load(t, 1-t.Rank()) // second
				}
				bar.Wait(t, token)
				x.Load(t, 1-t.Rank())
			})
		},
	}, {
		name: "copies whose end arrives are read before the wait", cfg: block(2), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, bar := sm.Shared[int32](b, 2, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					bar.Init(t, 2)
					x.Write(t, 0, []int32{0, 0})
				}
				t.SyncThreads()
				sm.MemcpyAsync(t, x.Slice(t.Rank(), t.Rank()+1), in64[:1], nil) // first
				bar.ArriveAsyncNoInc(t)
				if broken {
					x.Load(t, 1-t.Rank()) // second
				}
				bar.WaitParity(t, 0)
				x.Load(t, 1-t.Rank())
			})
		},
	}, {
		name: "a copy behind the arrival", rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, bar := sm.Shared[int32](b, 8, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				bar.Init(t, 1)
				x.Write(t, 0, make([]int32, 8))
				sm.MemcpyAsync(t, x, in64[:4], nil)
				if broken {
					bar.ArriveAsync(t)
				}
				sm.MemcpyAsync(t, x.At(4), in64[4:8], nil) // first
				if !broken {
					bar.ArriveAsync(t)
				}
				bar.ArriveAndWait(t)
				x.Load(t, 3)
				x.Load(t, 4) // second
				t.WaitAll()
			})
		},
	}, {
		name: "an arrival of before the copies end", cfg: block(2), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, bar := sm.Shared[int32](b, 2, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				x.Store(t, t.Rank(), 0)
				if t.Rank() == 0 {
					bar.Init(t, 2)
				}
				t.SyncThreads()
				sm.MemcpyAsync(t, x.Slice(t.Rank(), t.Rank()+1), in64[:1], nil) // first
				if broken {
					bar.Arrive(t)
				} else {
					bar.ArriveAsyncNoInc(t)
				}
				bar.WaitParity(t, 0)
				x.Load(t, 1-t.Rank()) // second
				t.WaitAll()
			})
		},
	}}
}

// pipelineUnordered has stages of a cuda::pipeline that are read or filled out of turn.
func pipelineUnordered() []unordered {
	role := func(rank int) sm.Role { return []sm.Role{sm.Producer, sm.Consumer}[rank] }
	return []unordered{{
		name: "a stage is read before ConsumerWait", cfg: block(2), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, pipe := sm.Shared[int32](b, 2*2, 16), b.Pipeline(2, nil)
			b.Threads(func(t *sm.Thread) {
				p := pipe[t.Rank()]
				for i := range 4 {
					at := i % 2 * 2
					p.ProducerAcquire()
					sm.MemcpyAsync(t, x.Slice(at+t.Rank(), at+t.Rank()+1), in64[i:][:1], p) // first
					p.ProducerCommit()
					if broken && i == 2 {
						x.Load(t, at+1-t.Rank()) // second
					}
					p.ConsumerWait()
					got := x.Load(t, at+1-t.Rank())
					assert(broken || got == int32(i), "batch %d has %d", i, got)
					p.ConsumerRelease()
				}
			})
		},
	}, {
		name: "a stage is released before it is read", cfg: block(2), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, pipe := sm.Shared[int32](b, 2, 16), b.Pipeline(1, role)
			b.Threads(func(t *sm.Thread) {
				p := pipe[t.Rank()]
				for i := range 3 {
					if t.Rank() == 0 {
						p.ProducerAcquire()
						sm.MemcpyAsync(t, x, in64[i:][:2], p) // second
						p.ProducerCommit()
						continue
					}
					p.ConsumerWait()
					if broken && i == 1 {
						p.ConsumerRelease()
					}
					x.Load(t, 1) // first
					if !broken || i != 1 {
						p.ConsumerRelease()
					}
				}
			})
		},
	}, {
		name: "a stage is filled without ProducerAcquire", cfg: block(2), rule: sm.RuleRace,
		also: []sm.Rule{sm.RulePhase, sm.RuleDeadlock}, // the consumer is a lap behind
		kernel: func(b *sm.Block, broken bool) {
			x, pipe := sm.Shared[int32](b, 2, 16), b.Pipeline(1, role)
			b.Threads(func(t *sm.Thread) {
				p := pipe[t.Rank()]
				for i := range 2 {
					if t.Rank() == 0 {
						if !broken || i == 0 {
							p.ProducerAcquire()
						}
						x.Store(t, 1, int32(i)) // second
						p.ProducerCommit()
						continue
					}
					p.ConsumerWait()
					x.Load(t, 1) // first
					p.ConsumerRelease()
				}
			})
		},
	}, {
		name: "the stage behind the one that is full", cfg: block(2), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, pipe := sm.Shared[int32](b, 3, 16), b.Pipeline(3, role)
			b.Threads(func(t *sm.Thread) {
				p := pipe[t.Rank()]
				for i := range 6 {
					if t.Rank() == 0 {
						p.ProducerAcquire()
						sm.MemcpyAsync(t, x.Slice(i%3, i%3+1), in64[i:][:1], p) // second
						p.ProducerCommit()
						continue
					}
					p.ConsumerWait()
					s := i % 3
					if broken && i == 3 {
						s = (i + 1) % 3
					}
					x.Load(t, s) // first
					p.ConsumerRelease()
				}
			})
		},
	}, {
		name: "WaitPrior for all stages but the one that is read", cfg: block(2), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, pipe, n := sm.Shared[int32](b, 2*2, 16), b.Pipeline(2, nil), 0
			if broken {
				n = 1
			}
			b.Threads(func(t *sm.Thread) {
				p := pipe[t.Rank()]
				x.Store(t, t.Rank(), 0)
				x.Store(t, 2+t.Rank(), 0)
				t.SyncThreads()
				for i := range 2 {
					p.ProducerAcquire()
					sm.MemcpyAsync(t, x.Slice(2*i+t.Rank(), 2*i+t.Rank()+1), in64[i:][:1], p) // first
					p.ProducerCommit()
				}
				p.WaitPrior(n)
				x.Load(t, 2+1-t.Rank()) // second
				p.WaitPrior(0)
				p.ConsumerRelease()
				p.ConsumerRelease()
			})
		},
	}}
}
