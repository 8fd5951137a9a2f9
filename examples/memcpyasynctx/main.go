// Memcpyasynctx is the example of cuda::device::memcpy_async_tx in the documentation of
// libcu++: two bulk copies of different types complete one phase of one barrier. Every
// thread arrives at it, and the one that has issued the copies brings the bytes of both.
// CUDA: memcpyasynctx.cu.
package main

import (
	_ "embed"

	"example.com/leafhopper/examples/internal/course"
	"example.com/leafhopper/sm"
)

const tile = 1024

func twoCopies(ints []int32, doubles []float64, outInts []int32, outDoubles []float64) func(*sm.Block) {
	return func(b *sm.Block) {
		tileInts := sm.Shared[int32](b, tile, 16)
		tileDoubles := sm.Shared[float64](b, tile, 16)
		bar := b.Barrier()
		b.Threads(func(t *sm.Thread) {
			if t.Rank() == 0 {
				bar.Init(t, b.Dim.X)
				t.FenceProxyAsync()
			}
			t.SyncThreads()

			elected := t.WarpRank() == 0 && t.Elected()
			bytes := 0
			if elected {
				sm.LoadBulk(t, tileInts, ints, bar)
				sm.LoadBulk(t, tileDoubles, doubles, bar)
				bytes = tileInts.Size() + tileDoubles.Size()
			}
			token := bar.ArriveTx(t, 1, bytes)
			bar.Wait(t, token)

			outInts[t.Rank()] = tileInts.Load(t, t.Rank()) + 1
			outDoubles[t.Rank()] = 2*tileDoubles.Load(t, tile-1-t.Rank()) + float64(t.Rank())
		})
	}
}

func run(launch func(sm.Config, sm.Kernel) error) ([]course.Output, error) {
	ints, doubles := course.Ints(tile, 1), make([]float64, tile)
	for i, v := range course.Ints(tile, 2) {
		doubles[i] = float64(v) * 0.5
	}
	outInts, outDoubles := make([]int32, tile), make([]float64, tile)
	err := launch(sm.Config{Block: sm.Dim3{X: tile}}, twoCopies(ints, doubles, outInts, outDoubles))
	return []course.Output{
		{Name: "memcpyasynctx.ints", Data: outInts},
		{Name: "memcpyasynctx.doubles", Data: outDoubles},
	}, err
}

//go:embed memcpyasynctx.txt
var recorded string

func main() {
	course.Main(run, recorded,
		"the phase was over when 1024 threads had arrived and the bytes of both copies had landed")
}
