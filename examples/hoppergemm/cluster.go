package main

import (
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/wgmma"
)

// cluster is persistent with two CTAs that have neighbouring tiles of M, and the same of N:
// each loads its own A, and half of B for both. A stage is empty when the consumers of both
// have left it.
func cluster(p *product) sm.Kernel {
	const BM, BN, CLUSTER, consumers = 128, 128, 2, 2
	M, N, K, QSIZE := p.size, p.size, p.size, p.stages
	tiles := M / BM * (N / BN)
	return func(b *sm.Block) {
		sA := sm.Shared[bf16.BF16](b, QSIZE*BM*BK, 1024)
		sB := sm.Shared[bf16.BF16](b, QSIZE*BN*BK, 1024)
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
				p.store(w, d, m+half, n)
			}
			w.ClusterSync() // nobody leaves while the other may still write or arrive here
		})
	}
}
