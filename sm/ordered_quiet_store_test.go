package sm_test

import (
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// quietStores is bulk stores, the fences before them, and what becomes of their sources.
func quietStores() []quiet {
	return []quiet{
		{"a ring of stores", sm.Config{}, func(b *sm.Block) {
			x, out := sm.Shared[int32](b, 2*16, 16), make([]int32, 64)
			b.Threads(func(t *sm.Thread) {
				for i := range 4 {
					s := x.Slice(i%2*16, i%2*16+16)
					t.WaitGroupRead(1)
					s.Write(t, 0, in64[16*i:][:16])
					t.FenceProxyAsync()
					sm.StoreBulk(t, out[16*i:][:16], s)
					t.CommitGroup()
				}
				t.WaitGroup(0)
				assert(out[63] == 63, "stored %v", out)
			})
		}},
		{"an epilogue of several threads", block(4), func(b *sm.Block) {
			x, out := sm.Shared[int32](b, 2*4, 16), make([]int32, 16)
			b.Threads(func(t *sm.Thread) {
				for i := range 4 {
					if t.Rank() == 0 {
						t.WaitGroupRead(1)
					}
					t.SyncThreads()
					x.Store(t, i%2*4+t.Rank(), int32(4*i+t.Rank()))
					t.FenceProxyAsync()
					t.SyncThreads()
					if t.Rank() == 0 {
						sm.StoreBulk(t, out[4*i:][:4], x.At(i%2*4))
						t.CommitGroup()
					}
				}
				t.WaitGroup(0)
				assert(t.Rank() > 0 || out[15] == 15, "stored %v", out)
			})
		}},
		{"a fence by who issues the store", block(3), func(b *sm.Block) {
			x, out := sm.Shared[int32](b, 4, 16), make([]int32, 4)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() > 0 {
					x.Write(t, 2*t.Rank()-2, in64[:2])
				}
				t.SyncThreads()
				if t.Rank() == 0 {
					t.FenceProxyAsync()
					sm.StoreBulk(t, out, x)
					t.CommitGroup()
					t.WaitGroup(0)
				}
			})
		}},
		{"a fence by who is between writer and issuer", block(96), func(b *sm.Block) {
			x, out, first, then := sm.Shared[int32](b, 4, 16), make([]int32, 4), b.Barrier(), b.Barrier()
			b.Start(sm.Warps(0, 3, func(w *sm.Warp) {
				t := w.Thread(0)
				if w.Rank() == 0 {
					first.Init(t, 1)
					then.Init(t, 1)
				}
				w.SyncThreads()
				switch w.Rank() {
				case 0:
					x.Write(w, 0, in64[:4])
					first.Arrive(t)
				case 1:
					first.WaitParity(w, 0)
					w.FenceProxyAsync()
					then.Arrive(t)
				case 2:
					then.WaitParity(t, 0)
					sm.StoreBulk(t, out, x)
					t.CommitGroup()
					t.WaitGroup(0)
				}
			}))
		}},
		{"a fence by another between a thread's write and its store", block(2), func(b *sm.Block) {
			x, out := sm.Shared[int32](b, 4, 16), make([]int32, 4)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					x.Write(t, 0, in64[:4])
				}
				t.SyncThreads()
				if t.Rank() == 1 {
					t.FenceProxyAsync()
				}
				t.SyncThreads()
				if t.Rank() == 0 {
					sm.StoreBulk(t, out, x)
					t.CommitGroup()
					t.WaitGroup(0)
				}
			})
		}},
		{"a load, a store, and a load again", block(2), func(b *sm.Block) {
			x, full, out := sm.Shared[int32](b, 16, 16), b.Barrier(), make([]int32, 48)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					full.Init(t, 1)
				}
				t.SyncThreads()
				for i := range 3 {
					if t.Rank() == 0 {
						full.ArriveTx(t, 1, 64)
						sm.LoadBulk(t, x, in64[16*i:][:16], full)
					}
					full.WaitParity(t, i)
					x.Load(t, t.Rank())
					if t.Rank() == 1 {
						sm.StoreBulk(t, out[16*i:][:16], x) // no fence: a load has written it
						t.CommitGroup()
						t.WaitGroupRead(0)
					}
					t.SyncThreads()
				}
				t.WaitGroup(0)
				assert(t.Rank() == 0 || out[47] == 47, "stored %v", out)
			})
		}},
		{"a source that is read while it is stored", block(2), func(b *sm.Block) {
			x, out := sm.Shared[int32](b, 8, 16), make([]int32, 16)
			b.Threads(func(t *sm.Thread) {
				x.Write(t, 4*t.Rank(), in64[4*t.Rank():][:4])
				t.FenceProxyAsync()
				t.SyncThreads()
				sm.StoreBulk(t, out[8*t.Rank():][:8], x) // both store all of it
				t.CommitGroup()
				x.Read(t, 0, make([]int32, 8))
				t.WaitGroup(0)
				t.SyncThreads()
				x.Store(t, t.Rank(), 1)
				assert(out[8*t.Rank()+7] == 7, "stored %v", out)
			})
		}},
		{"past the end of a tensor", sm.Config{}, func(b *sm.Block) {
			x, full := sm.Shared[int32](b, 4*8, 128), b.Barrier()
			m, err := sm.NewTensorMap(in64[:3*4], tile.Config{Dims: []uint64{4, 3}, Box: []uint32{8, 4}})
			assert(err == nil, "%v", err)
			b.Threads(func(t *sm.Thread) {
				full.Init(t, 1)
				full.ArriveTx(t, 1, 128)
				t.LoadTensor(x, m, full, -4, 1)
				full.WaitParity(t, 0)
				all := make([]int32, 32)
				x.Read(t, 0, all)
				assert(all[3] == 0 && all[4] == 4 && all[15] == 11 && all[31] == 0, "loaded %v", all)
			})
		}},
		{"a box of which only what lies in the tensor is written", block(2), func(b *sm.Block) {
			x, out := sm.Shared[int32](b, 4*8, 128), make([]int32, 3*4)
			m, err := sm.NewTensorMap(out, tile.Config{Dims: []uint64{4, 3}, Box: []uint32{8, 4}})
			assert(err == nil, "%v", err)
			b.Threads(func(t *sm.Thread) {
				for row := t.Rank(); row < 2; row += 2 {
					x.Write(t, 8*row, in64[4*row:][:4])
				}
				t.FenceProxyAsync()
				t.SyncThreads()
				if t.Rank() == 0 {
					t.StoreTensor(m, x, 0, 1)
					t.CommitGroup()
				}
				t.WaitGroup(0)
				assert(t.Rank() > 0 || out[4] == 0 && out[11] == 7, "stored %v", out)
			})
		}},
		{"between the rows of a box that is loaded", block(2), func(b *sm.Block) {
			x, full := sm.Shared[int32](b, 8*32, 1024), b.Barrier()
			m, err := sm.NewTensorMap(ramp(8*64), tile.Config{
				Dims: []uint64{64, 8}, Box: []uint32{4, 8}, Swizzle: tile.Swizzle128B,
			})
			assert(err == nil, "%v", err)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					full.Init(t, 1)
				}
				t.SyncThreads()
				if t.Rank() == 0 {
					full.ArriveTx(t, 1, m.BoxBytes())
					t.LoadTensor(x, m, full, 0, 0)
				} else {
					x.Write(t, 4, in64[:28]) // behind the 16 bytes of row 0
				}
				full.WaitParity(t, 0)
				t.SyncThreads()
				assert(x.Load(t, 3) == 3 && x.Load(t, 31) == 27 && x.Load(t, 32+4) == 64, "%d", x.Load(t, 36))
			})
		}},
	}
}
