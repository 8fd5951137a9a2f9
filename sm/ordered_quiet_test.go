package sm_test

import (
	"slices"
	"sync/atomic"
	"testing"

	"example.com/leafhopper/sm"
)

// A quiet is a kernel that is right, and of which nothing is to be reported.
type quiet struct {
	name   string
	cfg    sm.Config
	kernel sm.Kernel
}

// TestOrdered runs kernels whose accesses are ordered, each in another way.
func TestOrdered(t *testing.T) {
	t.Parallel()
	for _, c := range slices.Concat(
		quietThreads(), quietAgents(), quietBarriers(), quietRings(), quietMemcpy(), quietStores(), quietWGMMA(),
		quietClusters(), quietClusterRings(), quietAtomics(), quietGrids(), quietTensorMaps(), quietGlobals(),
	) {
		t.Run(c.name, func(t *testing.T) { silent(t, c.cfg, c.kernel) })
	}
}

// quietThreads is what threads do with SyncThreads and its kin.
func quietThreads() []quiet {
	// exchange is rounds of a write, a read of another's, and the next write, with a barrier between any two.
	exchange := func(sync func(t *sm.Thread)) sm.Kernel {
		return func(b *sm.Block) {
			x := sm.Shared[int32](b, 5, 16)
			b.Threads(func(t *sm.Thread) {
				for i := range int32(3) {
					x.Store(t, t.Rank(), i)
					sync(t)
					got := x.Load(t, 4-t.Rank())
					assert(got == i, "round %d has %d", i, got)
					sync(t)
				}
			})
		}
	}
	tickets := new(atomic.Int32)
	return []quiet{
		{"SyncThreads", block(5), exchange(func(t *sm.Thread) { t.SyncThreads() })},
		{"SyncThreadsCount", block(5), exchange(func(t *sm.Thread) {
			n := t.SyncThreadsCount(t.Rank() < 3)
			assert(n == 3, "%d", n)
		})},
		{"SyncThreadsAnd", block(5), exchange(func(t *sm.Thread) { t.SyncThreadsAnd(t.Rank() > 0) })},
		{"SyncThreadsOr", block(5), exchange(func(t *sm.Thread) { t.SyncThreadsOr(false) })},
		{"the block's group", block(5), exchange(func(t *sm.Thread) { t.ThisThreadBlock().Sync() })},
		{"ClusterSync of one CTA", block(5), exchange(func(t *sm.Thread) { t.ClusterSync() })},
		{"two buffers and one barrier a round", block(4), func(b *sm.Block) {
			x := sm.Shared[int32](b, 2*4, 16)
			b.Threads(func(t *sm.Thread) {
				for i := range 6 {
					at := i % 2 * 4
					x.Store(t, at+t.Rank(), int32(i))
					t.SyncThreads()
					assert(x.Load(t, at+3-t.Rank()) == int32(i), "round %d", i)
				}
			})
		}},
		{"many readers of a word", block(40), func(b *sm.Block) {
			x := sm.Shared[int32](b, 1, 16)
			b.Threads(func(t *sm.Thread) {
				for i := range 4 {
					if t.Rank() == 7*i {
						x.Store(t, 0, int32(i))
					}
					t.SyncThreads()
					x.Load(t, 0)
					assert(x.Load(t, 0) == int32(i), "round %d", i)
					t.SyncThreads()
				}
			})
		}},
		{"a persistent kernel that broadcasts tile indices", sm.Config{
			Grid: sm.Dim3{X: 2}, Block: sm.Dim3{X: 3}, Resident: 2, Reset: func() { tickets.Store(0) },
		}, func(b *sm.Block) {
			next, x := sm.Shared[int32](b, 1, 16), sm.Shared[int32](b, 3, 16)
			b.Threads(func(t *sm.Thread) {
				for {
					if t.Rank() == 0 {
						next.Store(t, 0, tickets.Add(1)-1)
					}
					t.SyncThreads()
					tile := next.Load(t, 0)
					if tile >= 5 {
						return
					}
					x.Store(t, t.Rank(), tile)
					t.SyncThreads()
					assert(x.Load(t, (t.Rank()+1)%3) == tile, "tile %d", tile)
				}
			})
		}},
		{"CTAs one after another in the same memory", sm.Config{
			Grid: sm.Dim3{X: 5}, Block: sm.Dim3{X: 3}, Resident: 1,
		}, func(b *sm.Block) {
			x := sm.Shared[int32](b, 3, 16)
			b.Threads(func(t *sm.Thread) {
				x.Store(t, (t.Rank()+b.Idx.X)%3, int32(b.Idx.X))
				t.SyncThreads()
				assert(x.Load(t, t.Rank()) == int32(b.Idx.X), "another's")
			})
		}},
		{"a reduction by a tree", block(16), func(b *sm.Block) {
			x := sm.Shared[int32](b, 16, 16)
			b.Threads(func(t *sm.Thread) {
				x.Store(t, t.Rank(), 1)
				for n := 8; n > 0; n /= 2 {
					t.SyncThreads()
					if t.Rank() < n {
						x.Store(t, t.Rank(), x.Load(t, t.Rank())+x.Load(t, t.Rank()+n))
					}
				}
				if t.Rank() == 0 {
					assert(x.Load(t, 0) == 16, "the sum is %d", x.Load(t, 0))
				}
			})
		}},
		{"a reduction of a warp", block(32), func(b *sm.Block) {
			x := sm.Shared[int32](b, 32, 16)
			b.Threads(func(t *sm.Thread) {
				x.Store(t, t.Lane(), int32(t.Lane()))
				for n := 16; n > 0; n /= 2 {
					t.SyncWarp()
					sum := x.Load(t, t.Lane()) + x.Load(t, (t.Lane()+n)%32)
					t.SyncWarp()
					x.Store(t, t.Lane(), sum)
				}
				assert(x.Load(t, t.Lane()) == 31*16, "the sum is %d", x.Load(t, t.Lane()))
			})
		}},
		{"tiles of a warp", block(32), func(b *sm.Block) {
			x := sm.Shared[int32](b, 32, 16)
			b.Threads(func(t *sm.Thread) {
				first := t.Lane() / 8 * 8
				for i := range int32(t.Lane()/8 + 1) {
					x.Store(t, t.Lane(), i)
					t.SyncWarp(0xff << first)
					assert(x.Load(t, first+7-t.Lane()%8) == i, "round %d", i)
					t.SyncWarp(0xff << first)
				}
			})
		}},
		{"a scan between two buffers", block(8), func(b *sm.Block) {
			x := sm.Shared[int32](b, 16, 16)
			b.Threads(func(t *sm.Thread) {
				i, from := t.Rank(), 0
				x.Store(t, i, 1)
				for n := 1; n < 8; n *= 2 {
					t.SyncThreads()
					sum := x.Load(t, from+i)
					if i >= n {
						sum += x.Load(t, from+i-n)
					}
					from = 8 - from
					x.Store(t, from+i, sum)
				}
				assert(x.Load(t, from+i) == int32(i+1), "sum %d is %d", i, x.Load(t, from+i))
			})
		}},
		{"a transpose with padded rows", block(16), func(b *sm.Block) {
			x := sm.Shared[int32](b, 4*5, 16)
			b.Threads(func(t *sm.Thread) {
				row, col := t.Rank()/4, t.Rank()%4
				for i := range 2 {
					x.Store(t, row*5+col, int32(10*row+col+i))
					t.SyncThreads()
					assert(x.Load(t, col*5+row) == int32(10*col+row+i), "row %d, column %d", row, col)
					t.SyncThreads()
				}
			})
		}},
		{"a stencil in place", block(6), func(b *sm.Block) {
			x := sm.Shared[int32](b, 8, 16)
			b.Threads(func(t *sm.Thread) {
				i := t.Rank() + 1
				x.Store(t, i, 1)
				if t.Rank() == 5 {
					x.Store(t, 0, 0)
					x.Store(t, 7, 0)
				}
				for range 3 {
					t.SyncThreads()
					sum := x.Load(t, i-1) + x.Load(t, i) + x.Load(t, i+1)
					t.SyncThreads()
					x.Store(t, i, sum)
				}
			})
		}},
		{"neighbouring bytes of several threads", block(8), func(b *sm.Block) {
			x := sm.Shared[uint8](b, 8, 16)
			words := sm.Recast[uint32](x)
			b.Threads(func(t *sm.Thread) {
				x.Store(t, t.Rank(), uint8(t.Rank()))
				x.Store(t, t.Rank(), x.Load(t, t.Rank())+1)
				t.SyncThreads()
				assert(words.Load(t, t.Rank()%2) == []uint32{0x04030201, 0x08070605}[t.Rank()%2], "bytes are lost")
			})
		}},
		{"one array for several phases", block(4), func(b *sm.Block) {
			x := sm.Shared[int32](b, 8, 16)
			bytes, floats := sm.Recast[uint8](x), sm.Recast[float64](x)
			b.Threads(func(t *sm.Thread) {
				x.Write(t, 2*t.Rank(), []int32{1, 2})
				t.SyncThreads()
				assert(x.Load(t, 7-2*t.Rank()) == 2, "words")
				t.SyncThreads()
				for i := range 8 {
					bytes.Store(t, 4*i+t.Rank(), uint8(i))
				}
				t.SyncThreads()
				assert(bytes.Load(t, 31-t.Rank()) == 7, "bytes")
				t.SyncThreads()
				floats.Store(t, t.Rank(), 0.5)
				t.SyncThreads()
				assert(floats.Load(t, 3-t.Rank()) == 0.5, "float64s")
			})
		}},
		{"a histogram by atomics", block(6), func(b *sm.Block) {
			bins := sm.Shared[int32](b, 3, 16)
			b.Threads(func(t *sm.Thread) {
				for range 2 {
					if t.Rank() < 3 {
						bins.Store(t, t.Rank(), 0)
					}
					t.SyncThreads()
					for i := range 4 {
						atomic.AddInt32(&bins.Elements()[(t.Rank()+i)%3], 1)
					}
					t.ThreadFence(sm.ScopeBlock)
					t.SyncThreads()
					assert(bins.Load(t, t.Rank()%3) == 8, "bin %d has %d", t.Rank()%3, bins.Load(t, t.Rank()%3))
					t.SyncThreads()
				}
			})
		}},
		{"what nobody has seen written", block(2), func(b *sm.Block) {
			x, y, out := sm.Shared[int32](b, 4, 16), sm.Shared[float32](b, 4, 16), make([]float32, 4)
			copy(x.Elements(), in64)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					copy(y.Elements(), []float32{1, 2, 3, 4})
					t.FenceProxyAsync()
				}
				t.SyncThreads()
				assert(x.Load(t, 3) == 3 && y.Load(t, 1) == 2, "lost")
				if t.Rank() == 1 {
					sm.StoreBulk(t, out, y)
					t.CommitGroup()
					t.WaitGroup(0)
					assert(out[3] == 4, "stored %v", out)
				}
			})
		}},
		{"a flag and fences", block(3), func(b *sm.Block) {
			x, flag := sm.Shared[int32](b, 1, 16), sm.Shared[int32](b, 1, 16)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					flag.Store(t, 0, 0)
				}
				t.SyncThreads()
				if t.Rank() == 0 {
					x.Store(t, 0, 7)
					t.ThreadFence(sm.ScopeBlock)
					atomic.StoreInt32(&flag.Elements()[0], 1)
					return
				}
				for atomic.LoadInt32(&flag.Elements()[0]) == 0 {
					t.ThreadFence(sm.ScopeBlock)
				}
				t.ThreadFence(sm.ScopeBlock)
				assert(x.Load(t, 0) == 7, "not what the flag is for")
			})
		}},
		{"a spin lock", block(4), func(b *sm.Block) {
			x, lock := sm.Shared[int32](b, 1, 16), sm.Shared[int32](b, 1, 16)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					x.Store(t, 0, 0)
					lock.Store(t, 0, 0)
				}
				t.SyncThreads()
				for !atomic.CompareAndSwapInt32(&lock.Elements()[0], 0, 1) {
					t.ThreadFence(sm.ScopeBlock)
				}
				t.ThreadFence(sm.ScopeBlock)
				x.Store(t, 0, x.Load(t, 0)+1)
				t.ThreadFence(sm.ScopeBlock)
				atomic.StoreInt32(&lock.Elements()[0], 0)
				t.SyncThreads()
				assert(x.Load(t, 0) == 4, "counted %d", x.Load(t, 0))
			})
		}},
	}
}
