package sm_test

import (
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// quietWGMMA is operands that are written, multiplied, and written again.
func quietWGMMA() []quiet {
	fill := func(n int) []bf16.BF16 {
		x := make([]bf16.BF16, n)
		for i := range x {
			x[i] = bf16.FromFloat32(1)
		}
		return x
	}
	return []quiet{
		{"a ring of operands, one group pending", block(256), func(b *sm.Block) {
			x, y := operands(b, 3)
			multiplying(b, 3, func(t *sm.Thread, full, empty []sm.Barrier) {
				for i := range 7 {
					s := i % 3
					empty[s].WaitParity(t, i/3+1)
					full[s].ArriveTx(t, 1, bytesA+bytesB)
					t.LoadTensor(x.At(s*sizeA), onesA, &full[s], 0, 0)
					t.LoadTensor(y.At(s*sizeB), onesB, &full[s], 0, 0)
				}
			}, func(w *sm.Warpgroup, full, empty []sm.Barrier) {
				d := w.Accumulators(wgmma.F32, narrow.N)
				for i := range 7 {
					s := i % 3
					full[s].WaitParity(w, i/3)
					w.Fence()
					w.MMA(narrow, d, x.At(s*sizeA).KMajor(tile.Swizzle32B), y.At(s*sizeB).KMajor(tile.Swizzle32B))
					w.CommitGroup()
					w.WaitGroup(1)
					if i > 0 {
						empty[(i-1)%3].Arrive(w.Thread(0))
					}
				}
				w.WaitGroup(0)
				assert(d.At(5, 5) == 7*16, "the sum is %v", d.At(5, 5))
			})
		}},
		{"an epilogue in the stages", block(256), func(b *sm.Block) {
			x, y := operands(b, 1)
			full, out := b.Barrier(), make([]float32, 2*64)
			c := sm.Recast[float32](x)
			b.Warpgroups(func(w *sm.Warpgroup) {
				t := w.Thread(0)
				if w.Rank() == 0 {
					full.Init(t, 1)
				}
				w.SyncThreads()
				for i := range 2 {
					if w.Rank() == 0 {
						full.ArriveTx(t, 1, bytesA+bytesB)
						t.LoadTensor(x, onesA, full, 0, 0)
						t.LoadTensor(y, onesB, full, 0, 0)
					}
					full.WaitParity(w, i)
					d := w.Accumulators(wgmma.F32, narrow.N)
					w.Fence()
					w.MMA(narrow, d, x.KMajor(tile.Swizzle32B), y.KMajor(tile.Swizzle32B))
					w.CommitGroup()
					w.WaitGroup(0)
					w.BarSync(1, 256)
					for row := range 64 {
						c.Store(w, 64*w.Rank()+row, float32(d.At(row, 0)))
					}
					w.FenceProxyAsync()
					w.BarSync(1, 256)
					if w.Rank() == 0 {
						sm.StoreBulk(t, out, c)
						t.CommitGroup()
						t.WaitGroupRead(0)
					}
				}
				if w.Rank() == 0 {
					t.WaitGroup(0)
					assert(out[127] == 16, "stored %v", out[127])
				}
			})
		}},
		{"operands that warps write", block(256), func(b *sm.Block) {
			x, y := operands(b, 1)
			b.Start(sm.Warpgroups(0, 1, func(w *sm.Warpgroup) {
				d := w.Accumulators(wgmma.F32, narrow.N)
				for range 3 {
					w.SyncThreads()
					w.Fence()
					w.MMA(narrow, d, x.KMajor(tile.Swizzle32B), y.KMajor(tile.Swizzle32B))
					w.CommitGroup()
					w.WaitGroup(0)
					w.SyncThreads()
				}
				assert(d.At(63, 7) == 48, "the sum is %v", d.At(63, 7))
			}), sm.Warps(4, 8, func(w *sm.Warp) {
				for range 3 {
					part := w.Rank() - 4
					x.Write(w, part*sizeA/4, fill(sizeA/4))
					y.Write(w, part*sizeB/4, fill(sizeB/4))
					w.FenceProxyAsync()
					w.SyncThreads()
					w.SyncThreads()
				}
			}))
		}},
		{"operands that memcpy_async writes", block(128), func(b *sm.Block) {
			x, y := operands(b, 1)
			b.Warpgroups(func(w *sm.Warpgroup) {
				sm.MemcpyAsync(w, x, fill(sizeA), nil)
				sm.MemcpyAsync(w, y, fill(sizeB), nil)
				w.WaitAll()
				w.FenceProxyAsync()
				w.SyncThreads()
				d := w.Accumulators(wgmma.F32, narrow.N)
				w.Fence()
				w.MMA(narrow, d, x.KMajor(tile.Swizzle32B), y.KMajor(tile.Swizzle32B))
				w.CommitGroup()
				w.WaitGroup(0)
				x.Write(w, 0, fill(sizeA))
			})
		}},
		{"an MN-major operand of two boxes, and A in registers", block(128), func(b *sm.Block) {
			y := sm.Shared[bf16.BF16](b, 2*16*64, 1024)
			op := wgmma.Op{Kind: wgmma.BF16F32, N: 128, TransposeB: true}
			loaded(b, op, func(t *sm.Thread, full *sm.Barrier) {
				m := ones(16, tile.Swizzle128B)
				full.ArriveTx(t, 1, 2*m.BoxBytes())
				t.LoadTensor(y, m, full, 0, 0)
				t.LoadTensor(y.At(16*64), m, full, 0, 0)
			}, func(w *sm.Warpgroup, d *wgmma.Accumulator) {
				a := wgmma.NewFragment(op.Kind)
				w.Fence()
				w.MMA(op, d, a, y.MNMajor(tile.Swizzle128B, 2*16*64))
			})
		}},
		{"steps of K in wide rows, and a tile of half the rows", block(128), func(b *sm.Block) {
			x, y := sm.Shared[bf16.BF16](b, 64*64, 1024), sm.Shared[bf16.BF16](b, 16*64, 1024)
			loaded(b, narrow, func(t *sm.Thread, full *sm.Barrier) {
				m := ones(16, tile.Swizzle128B)
				full.ArriveTx(t, 1, 5*m.BoxBytes())
				for i := range 4 { // A by four boxes
					t.LoadTensor(x.At(i*16*64), m, full, 0, 0)
				}
				t.LoadTensor(y, m, full, 0, 0)
			}, func(w *sm.Warpgroup, d *wgmma.Accumulator) {
				for k := range 4 {
					w.MMA(narrow, d, x.At(16*k).KMajor(tile.Swizzle128B), y.At(8*64+16*k).KMajor(tile.Swizzle128B))
				}
			})
		}},
		{"one tile, K-major as A and MN-major as B", block(128), func(b *sm.Block) {
			x := sm.Shared[bf16.BF16](b, 64*64, 1024)
			op := wgmma.Op{Kind: wgmma.BF16F32, N: 64, TransposeB: true}
			loaded(b, op, func(t *sm.Thread, full *sm.Barrier) {
				m := ones(64, tile.Swizzle128B)
				full.ArriveTx(t, 1, m.BoxBytes())
				t.LoadTensor(x, m, full, 0, 0)
			}, func(w *sm.Warpgroup, d *wgmma.Accumulator) {
				for k := range 4 {
					w.MMA(op, d, x.At(16*k).KMajor(tile.Swizzle128B), x.At(16*64*k).MNMajor(tile.Swizzle128B))
				}
			})
		}},
		{"operands of no swizzle, in columns of 16 bytes", block(128), func(b *sm.Block) {
			x, y := operands(b, 1)
			m, err := sm.NewTensorMap(fill(64*16), tile.Config{Dims: []uint64{16, 64}, Box: []uint32{8, 64}})
			assert(err == nil, "%v", err)
			columns, err := sm.NewTensorMap(fill(8*16), tile.Config{Dims: []uint64{16, 8}, Box: []uint32{8, 8}})
			assert(err == nil, "%v", err)
			loaded(b, narrow, func(t *sm.Thread, full *sm.Barrier) {
				full.ArriveTx(t, 1, bytesA+bytesB)
				for i := range 2 {
					t.LoadTensor(x.At(64*8*i), m, full, 8*i, 0)
					t.LoadTensor(y.At(8*8*i), columns, full, 8*i, 0)
				}
			}, func(w *sm.Warpgroup, d *wgmma.Accumulator) {
				w.MMA(narrow, d, wgmma.Descriptor{Start: x.Address(), LBO: 1024, SBO: 128},
					wgmma.Descriptor{Start: y.Address(), LBO: 128, SBO: 128})
			})
		}},
		{"core matrices that are packed in global memory", block(128), func(b *sm.Block) {
			x, y := operands(b, 1)
			packed := func(n int) *tile.TensorMap { // a row is a core matrix
				m, err := sm.NewTensorMap(fill(64*n), tile.Config{Dims: []uint64{64, uint64(n)}, Box: []uint32{64, uint32(n)}})
				assert(err == nil, "%v", err)
				return m
			}
			loaded(b, narrow, func(t *sm.Thread, full *sm.Barrier) {
				full.ArriveTx(t, 1, bytesA+bytesB)
				t.LoadTensor(x, packed(2*8), full, 0, 0)
				t.LoadTensor(y, packed(2), full, 0, 0)
			}, func(w *sm.Warpgroup, d *wgmma.Accumulator) {
				w.MMA(narrow, d, wgmma.Descriptor{Start: x.Address(), LBO: 128, SBO: 256},
					wgmma.Descriptor{Start: y.Address(), LBO: 128, SBO: 256})
			})
		}},
		{"a box that is narrower than its rows", block(128), func(b *sm.Block) {
			x, y := sm.Shared[bf16.BF16](b, 64*64, 1024), sm.Shared[bf16.BF16](b, 8*64, 1024)
			narrower := func(n int) *tile.TensorMap {
				m, err := sm.NewTensorMap(fill(n*64), tile.Config{
					Dims: []uint64{64, uint64(n)}, Box: []uint32{32, uint32(n)}, Swizzle: tile.Swizzle128B,
				})
				assert(err == nil, "%v", err)
				return m
			}
			loaded(b, narrow, func(t *sm.Thread, full *sm.Barrier) {
				full.ArriveTx(t, 1, 2*32*(64+8))
				t.LoadTensor(x, narrower(64), full, 0, 0)
				t.LoadTensor(y, narrower(8), full, 0, 0)
			}, func(w *sm.Warpgroup, d *wgmma.Accumulator) {
				for k := range 2 {
					w.MMA(narrow, d, x.At(16*k).KMajor(tile.Swizzle128B), y.At(16*k).KMajor(tile.Swizzle128B))
				}
			})
		}},
		{"a stage for tiles of two swizzles", block(128), func(b *sm.Block) {
			x, y, full := sm.Shared[bf16.BF16](b, 64*64, 1024), sm.Shared[bf16.BF16](b, 8*64, 1024), b.Barrier()
			b.Warpgroups(func(w *sm.Warpgroup) {
				t, d := w.Thread(0), w.Accumulators(wgmma.F32, narrow.N)
				full.Init(t, 1)
				for i, s := range []tile.Swizzle{tile.Swizzle128B, tile.Swizzle64B, tile.Swizzle32B} {
					full.ArriveTx(t, 1, s.Span()*(64+8))
					t.LoadTensor(x, ones(64, s), full, 0, 0)
					t.LoadTensor(y, ones(8, s), full, 0, 0)
					full.WaitParity(w, i)
					w.Fence()
					w.MMA(narrow, d, x.KMajor(s), y.KMajor(s))
					w.CommitGroup()
					w.WaitGroup(0)
				}
				assert(d.At(1, 1) == 48, "the sum is %v", d.At(1, 1))
			})
		}},
		{"operands that are swizzled in global memory", block(128), func(b *sm.Block) {
			x, y := operands(b, 1)
			loaded(b, narrow, func(t *sm.Thread, full *sm.Barrier) {
				full.ArriveTx(t, 1, bytesA+bytesB)
				sm.LoadBulk(t, x, fill(sizeA), full)
				sm.LoadBulk(t, y, fill(sizeB), full)
			}, func(w *sm.Warpgroup, d *wgmma.Accumulator) {
				w.MMA(narrow, d, x.KMajor(tile.Swizzle32B), y.KMajor(tile.Swizzle32B))
			})
		}},
	}
}
