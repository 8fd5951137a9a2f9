package sm_test

import (
	"sync/atomic"
	"testing"
	"time"

	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// TestTraps runs kernels that are right, and that checks which look too hard would call wrong.
func TestTraps(t *testing.T) {
	t.Parallel()
	in256 := ramp(256)
	pair := sm.Config{Grid: sm.Dim3{X: 2}, Cluster: sm.Dim3{X: 2}, Block: sm.Dim3{X: 32}}
	for _, c := range []struct {
		name   string
		cfg    sm.Config
		kernel sm.Kernel
	}{
		{"two copies share a barrier", sm.Config{}, func(b *sm.Block) {
			x, y, bar := sm.Shared[int32](b, 64, 16), sm.Shared[int32](b, 32, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				bar.Init(t, 1)
				for i := range 3 {
					sm.LoadBulk(t, x, in256[4*i:][:64], bar)
					bar.ArriveTx(t, 1, 256+128)
					sm.LoadBulk(t, y, in256[64:96], bar)
					bar.WaitParity(t, i)
					assert(x.Load(t, 63) == int32(63+4*i) && y.Load(t, 31) == 95, "wrong tiles")
				}
			})
		}},
		{"arrivals for a later phase while others wait for an earlier one",
			sm.Config{Block: sm.Dim3{X: 64}}, func(b *sm.Block) {
				x, bar := sm.Shared[int32](b, 64, 16), b.Barrier()
				b.Threads(func(t *sm.Thread) {
					if t.Rank() == 0 {
						bar.Init(t, 64)
					}
					t.SyncThreads()
					for i := range int32(4) {
						x.Store(t, t.Rank(), i)
						bar.Wait(t, bar.Arrive(t)) // some have not gone on from it when others arrive below
						assert(x.Load(t, (t.Rank()+1)%64) == i, "round %d", i)
						bar.Wait(t, bar.Arrive(t))
					}
				})
			}},
		{"tokens in one role, parity in another", sm.Config{Block: sm.Dim3{X: 64}}, func(b *sm.Block) {
			x, full, empty := sm.Shared[int32](b, 1, 16), b.Barrier(), b.Barrier()
			b.Start(sm.Warps(0, 2, func(w *sm.Warp) {
				t := w.Thread(3)
				if w.Rank() == 0 {
					full.Init(t, 2)
					empty.Init(t, 2)
				}
				w.SyncThreads()
				for i := range 6 {
					if w.Rank() == 0 {
						empty.WaitParity(t, i+1)
						x.Store(t, 0, int32(i))
						full.Arrive(t)
						empty.Arrive(t)
						continue
					}
					full.Wait(t, full.Arrive(t))
					assert(x.Load(t, 0) == int32(i), "value %d", i)
					empty.Arrive(t)
				}
			}))
		}},
		{"more commits than waits", sm.Config{Block: sm.Dim3{X: 32}}, func(b *sm.Block) {
			x := sm.Shared[int32](b, 3*32, 16)
			pipe := b.Pipeline(3, nil)
			b.Threads(func(t *sm.Thread) {
				p := pipe[t.Rank()]
				fetch := func(i int) {
					p.ProducerAcquire()
					if i < 5 {
						sm.MemcpyAsync(t, x.At(i%3*32+t.Rank()), in256[32*i+t.Rank():][:1], p)
					}
					p.ProducerCommit()
				}
				fetch(0)
				fetch(1)
				for i := range 5 {
					fetch(i + 2)
					p.ConsumerWait()
					assert(x.Load(t, i%3*32+(t.Rank()+1)%32) == int32(32*i+(t.Rank()+1)%32), "batch %d", i)
					p.ConsumerRelease()
				}
			})
		}},
		{"producers that quit before their stages are read", sm.Config{Block: sm.Dim3{X: 64}}, func(b *sm.Block) {
			x := sm.Shared[int32](b, 2*32, 16)
			pipe := b.Pipeline(2, func(rank int) sm.Role {
				if rank < 32 {
					return sm.Producer
				}
				return sm.Consumer
			})
			b.Threads(func(t *sm.Thread) {
				p := pipe[t.Rank()]
				lane := t.Lane()
				for i := range 6 {
					if t.Rank() >= 32 {
						p.ConsumerWait()
						from := max(lane, i-1) // thread n fills n+2 batches
						got := x.Load(t, i%2*32+from)
						assert(got == int32(32*i+from), "batch %d has %d", i, got)
						p.ConsumerRelease()
						continue
					}
					if i == lane+2 {
						break
					}
					p.ProducerAcquire()
					sm.MemcpyAsync(t, x.At(i%2*32+lane), in256[32*i+lane:][:1], p)
					p.ProducerCommit()
				}
				p.Quit()
			})
		}},
		{"barriers that end in mid-phase", sm.Config{}, func(b *sm.Block) {
			x, bar := sm.Shared[int32](b, 64, 16), b.Barrier()
			b.Barrier() // never initialised
			b.Threads(func(t *sm.Thread) {
				bar.Init(t, 2)
				bar.ArriveTx(t, 1, 256)
				sm.LoadBulk(t, x, in256[:64], bar)
				bar.Wait(t, bar.Arrive(t))
				bar.Arrive(t)
			})
		}},
		{"stores that are committed and not waited for", sm.Config{}, func(b *sm.Block) {
			x, out := sm.Shared[int32](b, 64, 16), make([]int32, 64)
			b.Threads(func(t *sm.Thread) {
				x.Write(t, 0, in256[:64])
				t.FenceProxyAsync()
				sm.StoreBulk(t, out, x)
				t.CommitGroup()
			})
			assert(out[63] == 63, "what is committed lands at the thread's end: %d", out[63])
		}},
		{"a store by one handle of a thread, a commit by another",
			sm.Config{Block: sm.Dim3{X: 128}}, func(b *sm.Block) {
				x, out := sm.Shared[int32](b, 4, 16), make([]int32, 4)
				b.Warpgroups(func(w *sm.Warpgroup) {
					x.Write(w, 0, in256[:4])
					w.FenceProxyAsync()
					sm.StoreBulk(w.Thread(33), out, x)
					w.Warp(1).Thread(1).CommitGroup()
					w.Thread(33).WaitGroup(0)
					assert(out[3] == 3, "stored %v", out)
				})
			}},
		{"one thread waits for a load, another ends", sm.Config{Block: sm.Dim3{X: 64}}, func(b *sm.Block) {
			x, bar := sm.Shared[int32](b, 64, 16), b.Barrier()
			b.Start(sm.Warps(0, 2, func(w *sm.Warp) {
				if w.Rank() == 0 {
					bar.Init(w.Thread(0), 1)
				}
				w.SyncThreads()
				if w.Rank() == 0 {
					bar.ArriveTx(w.Thread(0), 1, 256)
					sm.LoadBulk(w.Thread(0), x, in256[:64], bar)
					return
				}
				bar.WaitParity(w, 0)
				assert(x.Load(w, 9) == 9, "loaded %d", x.Load(w, 9))
			}))
		}},
		{"a barrier that lives twice", sm.Config{}, func(b *sm.Block) {
			x, bar := sm.Shared[int32](b, 64, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				for range 2 {
					bar.Init(t, 1)
					bar.ArriveTx(t, 1, 256)
					sm.LoadBulk(t, x, in256[:64], bar)
					bar.WaitParity(t, 0)
					bar.Invalidate(t)
				}
			})
		}},
		{"remote arrivals and copies, and a cluster.sync at the end", pair, func(b *sm.Block) {
			x, bar := sm.Shared[int32](b, 64, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					bar.Init(t, 33)
					bar.ArriveTx(t, 1, 256) // 128 of each issuer
				}
				t.ClusterSync()
				half := 32 * b.ClusterRank()
				if t.Rank() == 5 {
					sm.LoadBulkMulticast(t, x.At(half), in256[half:][:32], bar, 0b11)
				}
				bar.MapShared(1 - b.ClusterRank()).Arrive(t)
				bar.WaitParity(t, 0)
				assert(x.Load(t, 63-t.Rank()) == int32(63-t.Rank()), "word %d", 63-t.Rank())
				t.ClusterSync()
			})
		}},
		{"a cluster barrier in two halves", pair, func(b *sm.Block) {
			x := sm.Shared[int32](b, 32, 16)
			b.Threads(func(t *sm.Thread) {
				t.ClusterSync()
				for i := range int32(3) {
					x.MapShared(1-b.ClusterRank()).Store(t, t.Rank(), i)
					t.ClusterArrive()
					t.SyncThreads()
					t.ClusterWait()
					assert(x.Load(t, (t.Rank()+1)%32) == i, "round %d", i)
					t.ClusterSync()
				}
			})
		}},
		{"threads that know nothing of each other end another's waits", sm.Config{Block: sm.Dim3{X: 3}},
			func(b *sm.Block) {
				x, y := b.Barrier(), b.Barrier()
				b.Threads(func(t *sm.Thread) {
					if t.Rank() == 0 {
						x.Init(t, 1)
						y.Init(t, 1)
					}
					t.SyncThreads()
					switch t.Rank() {
					case 0:
						x.WaitParity(t, 0)
						y.WaitParity(t, 0)
					case 1:
						time.Sleep(2 * time.Millisecond)
						x.Arrive(t)
					case 2:
						time.Sleep(4 * time.Millisecond)
						y.Arrive(t)
					}
				})
			}},
		{"copies of nothing", pair, func(b *sm.Block) {
			x, bar := sm.Shared[int32](b, 4, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					bar.Init(t, 1)
				}
				t.ClusterSync()
				if t.Rank() == 0 {
					sm.MemcpyAsync(t, x, nil, bar)
					sm.LoadBulk(t, x, in256[:0], bar)
					sm.LoadBulkMulticast(t, x, in256[:0], bar, 3)
					t.CopyBulk(x.MapShared(1-b.ClusterRank()), x.Slice(0, 0), bar.MapShared(1-b.ClusterRank()))
					bar.ArriveAndWait(t)
				}
				t.ClusterSync()
			})
		}},
		{"a last warp that is not whole", sm.Config{Block: sm.Dim3{X: 50}}, func(b *sm.Block) {
			b.Threads(func(t *sm.Thread) {
				t.BarSync(0, 64)
				if t.Rank() == 49 {
					t.BarArrive(1, 32)
				} else if t.WarpRank() == 1 {
					t.BarSync(1, 32)
				}
				assert(t.SyncThreadsCount(true) == 50, "count")
			})
		}},
		{"a warp of which some have ended", sm.Config{Block: sm.Dim3{X: 40}}, func(b *sm.Block) {
			b.Threads(func(t *sm.Thread) {
				if t.Lane() >= 3 {
					return
				}
				t.SyncWarp()
				if t.Lane() == 1 {
					return
				}
				t.SyncWarp()
			})
		}},
		{"tiles of a warp that synchronize each as often as it needs", sm.Config{Block: sm.Dim3{X: 44}}, func(b *sm.Block) {
			x := sm.Shared[int32](b, 48, 16)
			b.Threads(func(t *sm.Thread) {
				const size = 8 // of a tile
				first := t.Lane() / size * size
				mask := uint32(1<<size-1) << first
				for i := range first + 1 {
					x.Store(t, t.Rank(), int32(i))
					t.SyncWarp(mask)
					for lane := first; lane < min(first+size, 12+20*(1-t.WarpRank())); lane++ {
						assert(x.Load(t, 32*t.WarpRank()+lane) == int32(i), "a tile is out of step")
					}
					t.SyncWarp(mask)
				}
				t.SyncWarp()
				if t.Lane() > 3 && t.Lane() != 5 {
					t.SyncWarp(^uint32(0x0f))
				}
			})
		}},
		{"a flag in memory orders the last access of another CTA", pair, func(b *sm.Block) {
			x := sm.Shared[int32](b, 2, 16)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() > 0 {
					t.ClusterSync()
					return
				}
				x.Write(t, 0, []int32{0, 0})
				t.ClusterSync()
				if b.ClusterRank() == 1 {
					p := x.MapShared(0)
					p.Store(t, 0, 42)
					t.ThreadFence(sm.ScopeCluster)
					if race.Enabled {
						atomic.StoreInt32(&p.Elements()[1], 1)
					} else {
						p.Store(t, 1, 1)
					}
					return
				}
				for atomic.LoadInt32(&x.Elements()[1]) == 0 {
					t.ThreadFence(sm.ScopeCluster)
				}
				t.ThreadFence(sm.ScopeCluster)
				assert(x.Load(t, 0) == 42, "not what the flag is for")
			})
		}},
		{"between the rows of what is stored", sm.Config{}, func(b *sm.Block) {
			x, out := sm.Shared[int32](b, 8*32, 1024), make([]int32, 8*64)
			m, err := sm.NewTensorMap(out, tile.Config{
				Dims: []uint64{64, 8}, Box: []uint32{8, 8}, Swizzle: tile.Swizzle128B,
			})
			assert(err == nil, "%v", err)
			b.Threads(func(t *sm.Thread) {
				x.Write(t, 0, ramp(8*32))
				t.FenceProxyAsync()
				t.StoreTensor(m, x, 0, 0)
				t.CommitGroup()
				x.Store(t, 31, -1) // the row's second half of a line, which no box of 32 bytes has
				t.WaitGroup(0)
				assert(out[7] == 7 && out[64] >= 32, "stored %v", out[:72])
			})
		}},
		{"a goroutine of the kernel's own", sm.Config{Block: sm.Dim3{X: 4}}, func(b *sm.Block) {
			x := sm.Shared[int32](b, 8, 16)
			b.Threads(func(t *sm.Thread) {
				done := make(chan bool)
				go func() {
					defer close(done)
					x.Write(t, 2*t.Rank(), ramp(2))
					t.ThreadFence(sm.ScopeBlock)
				}()
				<-done
				t.SyncThreads()
				assert(x.Load(t, 7-2*t.Rank()) == 1, "lost")
			})
		}},
		{"threads in no part", sm.Config{Block: sm.Dim3{X: 384}}, func(b *sm.Block) {
			b.Start(
				sm.Threads(0, 32, func(t *sm.Thread) { t.SyncWarp(); assert(t.SyncThreadsCount(true) == 32, "count") }),
				sm.Warpgroups(1, 3, func(w *sm.Warpgroup) { w.SyncThreads() }),
			)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := *seeds
			if testing.Short() || race.Enabled {
				n = min(n, 10)
			}
			for _, m := range modes {
				var err error
				if m.Check {
					err = sm.Explore(t.Context(), in(m, c.cfg), n, c.kernel)
				} else {
					err = launch(t, c.cfg, c.kernel)
				}
				if err != nil {
					t.Errorf("%s: %v", mode(m), err)
				}
			}
		})
	}
}
