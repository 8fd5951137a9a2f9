package sm_test

import (
	"strings"
	"testing"
	"time"

	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/internal/racetest"
	"example.com/leafhopper/sm"
)

// racy is kernels for free mode with an access that nothing orders, and the same with it: the race
// detector is to see that, although the agents do other things meanwhile that synchronize them.
var racy = []struct {
	name   string
	cfg    sm.Config
	kernel func(broken bool) sm.Kernel
}{
	{"missing wait on full", sm.Config{Block: sm.Dim3{X: 64}}, func(broken bool) sm.Kernel {
		in := ramp(256)
		return func(b *sm.Block) {
			x, full, empty := sm.Shared[int32](b, 256, 16), b.Barrier(), b.Barrier()
			b.Start(sm.Warps(0, 2, func(w *sm.Warp) {
				if w.Rank() == 0 {
					full.Init(w.Thread(0), 1)
					empty.Init(w.Thread(0), 1)
				}
				w.SyncThreads()
				for i := range 5 {
					if w.Rank() == 0 {
						empty.WaitParity(w, i+1)
						full.ArriveTx(w.Thread(0), 1, x.Size())
						sm.LoadBulk(w.Thread(0), x, in, full)
						continue
					}
					if !broken || i != 3 {
						full.WaitParity(w, i)
					}
					x.Load(w, 200)
					empty.Arrive(w.Thread(0))
				}
			}))
		}
	}},
	{"stage released before it is read", sm.Config{Block: sm.Dim3{X: 64}}, func(broken bool) sm.Kernel {
		in := ramp(256)
		return func(b *sm.Block) {
			x, full, empty := sm.Shared[int32](b, 256, 16), b.Barrier(), b.Barrier()
			b.Start(sm.Warps(0, 2, func(w *sm.Warp) {
				if w.Rank() == 0 {
					full.Init(w.Thread(0), 1)
					empty.Init(w.Thread(0), 1)
				}
				w.SyncThreads()
				for i := range 5 {
					if w.Rank() == 0 {
						empty.WaitParity(w, i+1)
						full.ArriveTx(w.Thread(0), 1, x.Size())
						sm.LoadBulk(w.Thread(0), x, in, full)
						continue
					}
					full.WaitParity(w, i)
					if broken {
						empty.Arrive(w.Thread(0))
					}
					x.Load(w, 200)
					if !broken {
						empty.Arrive(w.Thread(0))
					}
				}
			}))
		}
	}},
	{"stmatrix behind barrier.red", sm.Config{Block: sm.Dim3{X: 64}}, func(broken bool) sm.Kernel {
		return func(b *sm.Block) {
			x := sm.Shared[uint16](b, 256, 16)
			b.Start(sm.Warps(0, 2, func(w *sm.Warp) {
				var r [4][32]uint32
				for i := range 2 {
					if i == w.Rank() {
						w.StoreMatrix(func(lane int) sm.Region { return x.At(8 * lane) }, r[:])
					}
					if i == 0 && !broken {
						w.BarSyncOr(1, 64, true)
					}
				}
			}))
		}
	}},
	{"missing __syncthreads", sm.Config{Block: sm.Dim3{X: 128}}, func(broken bool) sm.Kernel {
		return func(b *sm.Block) {
			x, bar := sm.Shared[int32](b, 128, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					bar.Init(t, 128)
				}
				t.SyncThreads()
				x.Store(t, t.Rank(), 1)
				if !broken {
					t.SyncThreads()
				}
				x.Load(t, 127-t.Rank())
				bar.ArriveAndWait(t)
			})
		}
	}},
	{"missing cluster.sync", sm.Config{Grid: sm.Dim3{X: 2}, Cluster: sm.Dim3{X: 2},
		Block: sm.Dim3{X: 32}}, func(broken bool) sm.Kernel {
		return func(b *sm.Block) {
			x := sm.Shared[int32](b, 32, 16)
			b.Threads(func(t *sm.Thread) {
				t.ClusterSync()
				x.MapShared(1-b.ClusterRank()).Store(t, t.Rank(), 1)
				if broken {
					t.SyncThreads()
				} else {
					t.ClusterSync()
				}
				x.Load(t, t.Rank())
				t.ClusterSync()
			})
		}
	}},
	{"missing grid.sync", sm.Config{Grid: sm.Dim3{X: 2}, Cooperative: true}, func(broken bool) sm.Kernel {
		global := make([]int, 2)
		return func(b *sm.Block) {
			b.Threads(func(t *sm.Thread) {
				global[b.Idx.X]++
				time.Sleep(time.Millisecond) // so that none ends before the other begins
				if broken {
					t.SyncThreads()
				} else {
					t.GridSync()
				}
				assert(global[1-b.Idx.X] == 1, "too early")
			})
		}
	}},
	{"an atomic store and a load", block(2), func(broken bool) sm.Kernel {
		return func(b *sm.Block) {
			counted(b, func(t *sm.Thread, x *sm.Array[int32]) {
				if t.Rank() == 0 {
					sm.AtomicStore(t, x, 1)
				}
				if !broken {
					t.SyncThreads()
				}
				if t.Rank() == 1 {
					x.Load(t, 0)
				}
			})
		}
	}},
	{"a mask of half the lanes that all need", sm.Config{Block: sm.Dim3{X: 32}}, func(broken bool) sm.Kernel {
		return func(b *sm.Block) {
			x := sm.Shared[int32](b, 16, 16)
			b.Threads(func(t *sm.Thread) {
				mask := ^uint32(0)
				if broken {
					mask = 0xffff << (t.Lane() / 16 * 16)
				}
				if t.Lane() < 16 {
					x.Store(t, t.Lane(), 1)
				} else {
					time.Sleep(time.Millisecond) // the others come first
				}
				t.SyncWarp(mask)
				if t.Lane() >= 16 {
					x.Load(t, t.Lane()-16)
				}
			})
		}
	}},
	{"a shuffle, which orders no memory", sm.Config{Block: sm.Dim3{X: 32}}, func(broken bool) sm.Kernel {
		return func(b *sm.Block) {
			x := sm.Shared[int32](b, 32, 16)
			b.Threads(func(t *sm.Thread) {
				for i := range int32(20) {
					x.Store(t, t.Lane(), i)
					if sm.Shfl(t, sm.FullMask, i, 0); !broken {
						t.SyncWarp()
					}
					x.Load(t, 31-t.Lane())
					if t.Ballot(sm.FullMask, true); !broken {
						t.SyncWarp()
					}
				}
			})
		}
	}},
	{"lanes whose accesses are counted", sm.Config{Block: sm.Dim3{X: 32}, Banks: new(sm.Banks)}, func(
		broken bool,
	) sm.Kernel {
		return func(b *sm.Block) {
			x := sm.Shared[int32](b, 32, 16)
			b.Threads(func(t *sm.Thread) {
				for i := range int32(20) {
					if x.Store(t, t.Lane(), i); !broken {
						t.SyncWarp()
					}
					if x.Load(t, 31-t.Lane()); !broken {
						t.SyncWarp()
					}
				}
			})
		}
	}},
	{"Init of two barriers", block(64), func(broken bool) sm.Kernel {
		return apart(broken, func(w *sm.Warp, own *sm.Barrier) { own.Init(w.Thread(0), 1) })
	}},
	{"arrivals at two barriers", pair(64), func(broken bool) sm.Kernel {
		return apart(broken, func(w *sm.Warp, own *sm.Barrier) { own.Arrive(w.Thread(0)) })
	}},
	{"arrivals at two barriers of another CTA", pair(64), func(broken bool) sm.Kernel {
		return apart(broken, func(w *sm.Warp, own *sm.Barrier) { own.MapShared(1).Arrive(w.Thread(0)) })
	}},
}

// apart is kernels of two warps, each with a barrier of its own for f, before which the first stores what the second
// loads behind it. In a cluster it is initialised.
func apart(broken bool, f func(w *sm.Warp, own *sm.Barrier)) sm.Kernel {
	return func(b *sm.Block) {
		x, bars := sm.Shared[int32](b, 1, 16), b.Barriers(2)
		b.Start(sm.Warps(0, 2, func(w *sm.Warp) {
			if b.ClusterSize() > 1 {
				bars[w.Rank()].Init(w.Thread(0), 3)
				w.ClusterSync()
				defer w.ClusterSync()
			}
			if w.Rank() == 0 {
				x.Store(w, 0, 1)
				f(w, &bars[0])
			}
			if !broken {
				w.SyncThreads()
			}
			if w.Rank() == 1 {
				time.Sleep(time.Millisecond) // the other comes first
				f(w, &bars[1])
				x.Load(w, 0)
			}
		}))
	}
}

// TestRaces runs each of racy in a process of its own, whose race detector is to speak, or not.
func TestRaces(t *testing.T) {
	t.Parallel()
	if name := racetest.Program(); name != "" {
		for _, c := range racy {
			if broken, ok := strings.CutPrefix(name, c.name+"/"); ok {
				if err := launch(t, c.cfg, c.kernel(broken == "broken")); err != nil {
					t.Log(err)
				}
			}
		}
		return
	}
	if !race.Enabled {
		t.Skip("needs go test -race")
	}
	for _, c := range racy {
		for _, version := range []string{"broken", "corrected"} {
			t.Run(c.name+"/"+version, func(t *testing.T) {
				t.Parallel()
				var out []byte
				var err error
				found := false
				for range 3 { // an order that hides a race is rare
					var n int
					n, out, err = racetest.Run("TestRaces", c.name+"/"+version)
					if found = n > 0; found || version != "broken" {
						break
					}
				}
				if found != (version == "broken") || found != (err != nil) {
					t.Errorf("the race detector found a race: %v; %v\n%.2000s", found, err, out)
				}
			})
		}
	}
}
