package main

import (
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// walkthrough is the kernel of the gist: a CTA for each 64 x 64 tile of C, a producer and a
// consumer, and barriers at which all of them arrive and wait by token.
func walkthrough(p *product) sm.Kernel {
	const BM, BN, consumers = 64, 64, 1
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

			if w.Rank() == 0 { // the producer is one thread of it
				for k, q := 0, 0; k < K; k, q = k+BK, (q+1)%QSIZE {
					empty[q].Wait(t, empty[q].Arrive(t))
					t.LoadTensor(sA.At(q*BM*BK), p.a64, &full[q], k, m)
					t.LoadTensor(sB.At(q*BN*BK), p.b64, &full[q], k, n)
					full[q].ArriveTx(t, 1, (BM+BN)*BK*2)
				}
				return
			}

			d := w.Accumulators(wgmma.F32, BN)
			for i := range QSIZE {
				empty[i].Arrive(w)
			}
			for k, q := 0, 0; k < K; k, q = k+BK, (q+1)%QSIZE {
				full[q].Wait(w, full[q].Arrive(w))
				w.Fence()
				for s := 0; s < BK; s += 16 {
					w.MMA(wgmma.Op{Kind: wgmma.BF16F32, N: BN}, d,
						sA.At(q*BM*BK+s).KMajor(tile.Swizzle128B), sB.At(q*BN*BK+s).KMajor(tile.Swizzle128B))
				}
				w.CommitGroup()
				w.WaitGroup(0)
				empty[q].Arrive(w)
			}

			defer w.Span("epilogue")()
			for tid := range 128 {
				for i := range d.Registers() {
					row, col := wgmma.AccumulatorCoord(tid, i)
					p.c[(n+col)*M+m+row] = bf16.FromFloat32(d.Float32(tid, i))
				}
			}
		})
	}
}
