package main

import (
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/wgmma"
)

// parity is tiles128 with an arrival for each role, where that has 257, and waits by
// parity, for which nobody has to keep a token.
func parity(p *product) sm.Kernel {
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
					full[i].Init(t, 1)
					empty[i].Init(t, consumers)
				}
				t.FenceBarrierInit()
			}
			w.SyncThreads()

			s := stage{of: QSIZE}
			if w.Rank() == 0 {
				for k := 0; k < K; k += BK {
					empty[s.q].WaitParity(t, s.phase^1) // passes at once in the first lap
					full[s.q].ArriveTx(t, 1, (BM+BN)*BK*2)
					t.LoadTensor(sA.At(s.q*BM*BK), p.a128, &full[s.q], k, m)
					t.LoadTensor(sB.At(s.q*BN*BK), p.b128, &full[s.q], k, n)
					s.advance()
				}
				return
			}

			half := 64 * (w.Rank() - 1)
			d := w.Accumulators(wgmma.F32, BN)
			for k := 0; k < K; k += BK {
				full[s.q].WaitParity(w, s.phase)
				mmaStage(w, d, sA.At((s.q*BM+half)*BK), sB.At(s.q*BN*BK))
				empty[s.q].Arrive(t)
				s.advance()
			}
			p.store(w, d, m+half, n)
		})
	}
}

// A stage is an agent's place in the ring, and the parity of the phase there that it is
// about to fill or to read.
type stage struct{ q, phase, of int }

func (s *stage) advance() {
	if s.q++; s.q == s.of {
		s.q, s.phase = 0, s.phase^1
	}
}
