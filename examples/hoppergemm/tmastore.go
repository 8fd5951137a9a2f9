package main

import (
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/wgmma"
)

// tmastore is cluster with C stored by tensor copies: a consumer leaves its sums in shared
// memory, and goes on to the next tile while they are on their way.
func tmastore(p *product) sm.Kernel {
	const BM, BN, CLUSTER, consumers = 128, 128, 2, 2
	M, N, K, QSIZE := p.size, p.size, p.size, p.stages
	tiles := M / BM * (N / BN)
	return func(b *sm.Block) {
		sA := sm.Shared[bf16.BF16](b, QSIZE*BM*BK, 1024)
		sB := sm.Shared[bf16.BF16](b, QSIZE*BN*BK, 1024)
		sC := sm.Shared[bf16.BF16](b, BM*BN, 1024)
		full, empty := b.Barriers(QSIZE), b.Barriers(QSIZE)

		b.Warpgroups(func(w *sm.Warpgroup) {
			t := w.Thread(0)
			if w.Rank() == 0 {
				for i := range QSIZE {
					full[i].Init(t, 1)
					empty[i].Init(t, consumers*CLUSTER)
				}
				t.FenceBarrierInit()
			}
			w.ClusterSync()

			s := stage{of: QSIZE}
			half := 64 * (w.Rank() - 1)
			for tile := b.Idx.X; tile < tiles; tile += b.GridDim.X {
				m, n := tile%(M/BM)*BM, tile/(M/BM)*BN
				if w.Rank() == 0 {
					for k := 0; k < K; k += BK {
						empty[s.q].WaitParity(t, s.phase^1)
						full[s.q].ArriveTx(t, 1, (BM+BN)*BK*2)
						t.LoadTensor(sA.At(s.q*BM*BK), p.a128, &full[s.q], k, m)
						mine := b.ClusterRank() * (BN / CLUSTER)
						t.LoadTensorMulticast(sB.At((s.q*BN+mine)*BK), p.b64, &full[s.q], 1<<CLUSTER-1, k, n+mine)
						s.advance()
					}
					continue
				}
				d := w.Accumulators(wgmma.F32, BN)
				for k := 0; k < K; k += BK {
					full[s.q].WaitParity(w, s.phase)
					mmaStage(w, d, sA.At((s.q*BM+half)*BK), sB.At(s.q*BN*BK))
					for rank := range CLUSTER {
						empty[s.q].MapShared(rank).Arrive(w.Thread(rank))
					}
					s.advance()
				}
				storeTensor(p, w, d, sC.Slice(half*BN, (half+64)*BN), m+half, n)
			}
			if w.Rank() > 0 {
				t.WaitGroupRead(0)
			}
			w.ClusterSync()
		})
	}
}

// storeTensor stores what a consumer has accumulated, from column col and row row of C on, by
// way of its own part of sC, column-major.
func storeTensor(p *product, w *sm.Warpgroup, d *wgmma.Accumulator, sC *sm.Array[bf16.BF16], row, col int) {
	defer w.Span("epilogue")()
	t := w.Thread(0)
	t.WaitGroupRead(0) // the store of the tile before has read sC
	w.BarSync(w.Rank(), 128)
	var column [64]bf16.BF16
	for j := range d.N() {
		for i := range column {
			column[i] = bf16.FromFloat32(float32(d.At(i, j)))
		}
		sC.Write(w, 64*j, column[:])
	}
	w.FenceProxyAsync()
	w.BarSync(w.Rank(), 128)
	t.StoreTensor(p.c64, sC, row, col)
	t.CommitGroup()
}
