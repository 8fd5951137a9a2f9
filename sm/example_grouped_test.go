package sm_test

import (
	"context"
	"fmt"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// A problem is a product C = A·Bᵀ of its own shape, an expert's.
type problem struct {
	m, n, k int
	a, b    []bf16.BF16 // rows of k
	c       []float32
}

func newProblem(m, n, k int) problem {
	p := problem{m, n, k, make([]bf16.BF16, m*k), make([]bf16.BF16, n*k), make([]float32, m*n)}
	for i := range p.a {
		p.a[i] = bf16.FromFloat32(float32(i%7 - 3))
	}
	for i := range p.b {
		p.b[i] = bf16.FromFloat32(float32(i%5 - 2))
	}
	return p
}

// wrong counts the elements of C that are not the sums.
func (p *problem) wrong() (n int) {
	for i := range p.c {
		sum := float32(0)
		for k := range p.k {
			sum += p.a[i/p.n*p.k+k].Float32() * p.b[i%p.n*p.k+k].Float32()
		}
		if p.c[i] != sum {
			n++
		}
	}
	return n
}

// A grouped GEMM as CUTLASS has it: each CTA takes one tile after another, of products that differ in shape, and makes
// the tensor maps of the next product out of those of the last.
func Example_groupedGEMM() {
	const tileM, tileN, tileK, stages, ctas = 64, 32, 64, 3, 2
	groups := []problem{newProblem(64, 32, 64), newProblem(40, 56, 136), newProblem(100, 8, 72)}
	operand := func(data []bf16.BF16, k, rows int, box uint32) *tile.TensorMap {
		m, err := sm.NewTensorMap(data, tile.Config{
			Dims: []uint64{uint64(k), uint64(rows)}, Box: []uint32{tileK, box}, Swizzle: tile.Swizzle128B,
		})
		assert(err == nil, "%v", err)
		return m
	}
	g := &groups[0]
	mapA, mapB := operand(g.a, g.k, g.m, tileM), operand(g.b, g.k, g.n, tileN)
	tensormaps := make([]sm.TMADescriptor, 2*ctas) // the workspace in global memory

	// tiles are those that a CTA computes.
	tiles := func(b *sm.Block, f func(group *problem, m, n int)) {
		i := 0
		for g := range groups {
			for m := 0; m < groups[g].m; m += tileM {
				for n := 0; n < groups[g].n; n += tileN {
					if i++; i%ctas == b.Idx.X {
						f(&groups[g], m, n)
					}
				}
			}
		}
	}
	err := sm.Explore(context.Background(), sm.Config{Grid: sm.Dim3{X: ctas}, Block: sm.Dim3{X: 256}, Check: true}, 2,
		func(b *sm.Block) {
			sA := sm.Shared[bf16.BF16](b, stages*tileM*tileK, 1024)
			sB := sm.Shared[bf16.BF16](b, stages*tileN*tileK, 1024)
			smemA, smemB := b.TMADescriptor(), b.TMADescriptor()
			full, empty := b.Barriers(stages), b.Barriers(stages)
			gmemA, gmemB := &tensormaps[b.Idx.X], &tensormaps[ctas+b.Idx.X]

			load := func(w *sm.Warp) { // the mainloop's producer
				t, slab := w.Thread(0), 0
				for i := range stages {
					full[i].Init(t, 1)
					empty[i].Init(t, 128)
				}
				t.FenceBarrierInit()
				w.SyncThreads()
				smemA.Store(t, mapA) // tensormaps_init
				smemB.Store(t, mapB)
				var last *problem
				tiles(b, func(g *problem, m, n int) {
					if g != last {
						sm.ReplaceGlobalAddress(t, smemA, g.a) // tensormaps_perform_update
						sm.ReplaceGlobalAddress(t, smemB, g.b)
						for d, dims := range [][2]int{{g.k, g.k}, {g.m, g.n}, {1, 1}, {1, 1}, {1, 1}} {
							smemA.ReplaceGlobalDim(t, d, uint32(dims[0]))
							smemB.ReplaceGlobalDim(t, d, uint32(dims[1]))
						}
						for d, stride := range []int{2 * g.k, 0, 0, 0} {
							smemA.ReplaceGlobalStride(t, d, uint64(stride))
							smemB.ReplaceGlobalStride(t, d, uint64(stride))
						}
						w.SyncWarp()
						t.CommitGroup() // tensormaps_cp_fence_release
						t.WaitGroupRead(0)
						gmemA.CopyFenceRelease(w, smemA, sm.ScopeDevice)
						gmemB.CopyFenceRelease(w, smemB, sm.ScopeDevice)
						gmemA.FenceAcquire(w, sm.ScopeDevice) // tensormaps_fence_acquire
						gmemB.FenceAcquire(w, sm.ScopeDevice)
						last = g
					}
					for k := 0; k < g.k; k += tileK {
						q, round := slab%stages, slab/stages
						empty[q].WaitParity(t, round&1^1)
						full[q].ArriveTx(t, 1, mapA.BoxBytes()+mapB.BoxBytes())
						t.LoadTensor(sA.At(q*tileM*tileK), gmemA, &full[q], k, m)
						t.LoadTensor(sB.At(q*tileN*tileK), gmemB, &full[q], k, n)
						slab++
					}
				})
			}
			math := func(w *sm.Warpgroup) {
				w.SyncThreads()
				slab := 0
				tiles(b, func(g *problem, m, n int) {
					d := w.Accumulators(wgmma.F32, tileN)
					for k := 0; k < g.k; k += tileK {
						q, round := slab%stages, slab/stages
						full[q].WaitParity(w, round&1)
						w.Fence()
						for s := 0; s < tileK; s += 16 {
							w.MMA(wgmma.Op{Kind: wgmma.BF16F32, N: tileN}, d,
								sA.At(q*tileM*tileK+s).KMajor(tile.Swizzle128B), sB.At(q*tileN*tileK+s).KMajor(tile.Swizzle128B))
						}
						w.CommitGroup()
						w.WaitGroup(0)
						empty[q].Arrive(w)
						slab++
					}
					for thread := range 128 {
						for i := range d.Registers() {
							row, col := wgmma.AccumulatorCoord(thread, i)
							if m+row < g.m && n+col < g.n {
								g.c[(m+row)*g.n+n+col] = d.Float32(thread, i)
							}
						}
					}
				})
			}
			b.Start(sm.Warps(0, 1, load), sm.Warpgroups(1, 2, math))
		})
	fmt.Println(err)
	for i := range groups {
		g := &groups[i]
		fmt.Printf("%d × %d × %d: %d elements wrong\n", g.m, g.n, g.k, g.wrong())
	}
	// Output:
	// <nil>
	// 64 × 32 × 64: 0 elements wrong
	// 40 × 56 × 136: 0 elements wrong
	// 100 × 8 × 72: 0 elements wrong
}
