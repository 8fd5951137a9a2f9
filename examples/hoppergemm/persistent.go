package main

import (
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/wgmma"
)

// persistent is parity with fewer CTAs than tiles: each goes from tile to tile, and the ring
// with it, so that the next tile is loaded while the sums of this one are stored.
func persistent(p *product) sm.Kernel {
	const BM, BN, consumers = 128, 128, 2
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
					empty[i].Init(t, consumers)
				}
				t.FenceBarrierInit()
			}
			w.SyncThreads()

			s := stage{of: QSIZE}
			half := 64 * (w.Rank() - 1)
			for tile := b.Idx.X; tile < tiles; tile += b.GridDim.X {
				m, n := tile%(M/BM)*BM, tile/(M/BM)*BN
				if w.Rank() == 0 {
					for k := 0; k < K; k += BK {
						empty[s.q].WaitParity(t, s.phase^1)
						full[s.q].ArriveTx(t, 1, (BM+BN)*BK*2)
						t.LoadTensor(sA.At(s.q*BM*BK), p.a128, &full[s.q], k, m)
						t.LoadTensor(sB.At(s.q*BN*BK), p.b128, &full[s.q], k, n)
						s.advance()
					}
					continue
				}
				d := w.Accumulators(wgmma.F32, BN)
				for k := 0; k < K; k += BK {
					full[s.q].WaitParity(w, s.phase)
					mmaStage(w, d, sA.At((s.q*BM+half)*BK), sB.At(s.q*BN*BK))
					empty[s.q].Arrive(t)
					s.advance()
				}
				p.store(w, d, m+half, n)
			}
		})
	}
}
