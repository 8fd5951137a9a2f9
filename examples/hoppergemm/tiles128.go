package main

import (
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/wgmma"
)

// tiles128 is walkthrough with tiles of 128 x 128, of which each of two consumers has 64
// rows: twice the products for each byte that is loaded.
func tiles128(p *product) sm.Kernel {
	const BM, BN, consumers = 128, 128, 2
	M, K, QSIZE := p.size, p.size, p.stages
	return func(b *sm.Block) {
		sA := sm.Shared[bf16.BF16](b, QSIZE*BM*BK, 1024)
		sB := sm.Shared[bf16.BF16](b, QSIZE*BN*BK, 1024)
		full, empty := b.Barriers(QSIZE), b.Barriers(QSIZE)
		m, n := b.Idx.X%(M/BM)*BM, b.Idx.X/(M/BM)*BN

		b.Warpgroups(func(w *sm.Warpgroup) {
			t := w.Thread(0)
			if w.Rank() == 0 {
				for i := range QSIZE {
					full[i].Init(t, consumers*128+1)
					empty[i].Init(t, consumers*128+1)
				}
				t.FenceProxyAsync()
			}
			w.SyncThreads()

			if w.Rank() == 0 {
				for k, q := 0, 0; k < K; k, q = k+BK, (q+1)%QSIZE {
					empty[q].Wait(t, empty[q].Arrive(t))
					t.LoadTensor(sA.At(q*BM*BK), p.a128, &full[q], k, m)
					t.LoadTensor(sB.At(q*BN*BK), p.b128, &full[q], k, n)
					full[q].ArriveTx(t, 1, (BM+BN)*BK*2)
				}
				return
			}

			half := 64 * (w.Rank() - 1) // of the tile's rows
			d := w.Accumulators(wgmma.F32, BN)
			for i := range QSIZE {
				empty[i].Arrive(w)
			}
			for k, q := 0, 0; k < K; k, q = k+BK, (q+1)%QSIZE {
				full[q].Wait(w, full[q].Arrive(w))
				mmaStage(w, d, sA.At((q*BM+half)*BK), sB.At(q*BN*BK))
				empty[q].Arrive(w)
			}
			p.store(w, d, m+half, n)
		})
	}
}
