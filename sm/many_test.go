package sm_test

import (
	"context"
	"testing"

	"example.com/leafhopper/sm"
)

// waits measures how long it takes threads of a launch to wait for each other, once they have all begun.
func waits(b *testing.B, cfg sm.Config, wait func(t *sm.Thread, bar *sm.Barrier)) {
	err := sm.Launch(context.Background(), cfg, func(block *sm.Block) {
		bar := block.Barrier()
		block.Threads(func(t *sm.Thread) {
			if t.Rank() == 0 {
				bar.Init(t, block.Dim.Size())
			}
			t.SyncThreads()
			wait(t, bar)
			first := t.Rank() == 0 && block.Idx == sm.Dim3{}
			if first {
				b.ResetTimer()
			}
			for range b.N {
				wait(t, bar)
			}
			if first {
				b.StopTimer()
			}
		})
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkSyncThreads is __syncthreads of a block of 1,024.
func BenchmarkSyncThreads(b *testing.B) {
	waits(b, sm.Config{Block: sm.Dim3{X: 1024}}, func(t *sm.Thread, _ *sm.Barrier) { t.SyncThreads() })
}

// BenchmarkWaits is other waits of as many.
func BenchmarkWaits(b *testing.B) {
	block, eight := sm.Dim3{X: 1024}, sm.Dim3{X: 8}
	part := sm.Dim3{X: block.X / eight.X}
	for _, w := range []struct {
		name string
		cfg  sm.Config
		wait func(t *sm.Thread, bar *sm.Barrier)
	}{
		{"BarSync", sm.Config{Block: block}, func(t *sm.Thread, _ *sm.Barrier) { t.BarSync(1+t.Rank()/128, 128) }},
		{"ArriveAndWait", sm.Config{Block: block}, func(t *sm.Thread, bar *sm.Barrier) { bar.ArriveAndWait(t) }},
		{"ClusterSync", sm.Config{Grid: eight, Cluster: eight, Block: part},
			func(t *sm.Thread, _ *sm.Barrier) { t.ClusterSync() }},
		{"GridSync", sm.Config{Grid: eight, Cooperative: true, Block: part},
			func(t *sm.Thread, _ *sm.Barrier) { t.GridSync() }},
	} {
		b.Run(w.name, func(b *testing.B) { waits(b, w.cfg, w.wait) })
	}
}

// BenchmarkGrid launches 64 CTAs of 256 threads that exchange values 16 times.
func BenchmarkGrid(b *testing.B) {
	for name, check := range map[string]bool{"free": false, "Check": true} {
		b.Run(name, func(b *testing.B) {
			cfg := sm.Config{Grid: sm.Dim3{X: 64}, Block: sm.Dim3{X: 256}, Check: check}
			for b.Loop() {
				err := sm.Launch(context.Background(), cfg, func(block *sm.Block) {
					slots := sm.Shared[int32](block, 256, 4)
					block.Threads(func(t *sm.Thread) {
						for i := range int32(16) {
							slots.Store(t, t.Rank(), i)
							t.SyncThreads()
							slots.Load(t, (t.Rank()+17)%256)
							t.SyncThreads()
						}
					})
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
