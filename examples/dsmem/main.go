// Dsmem is the example of distributed shared memory: two blocks of a cluster write into
// each other's shared memory. CUDA: dsmem.cu.
package main

import (
	_ "embed"

	"example.com/leafhopper/examples/internal/course"
	"example.com/leafhopper/sm"
)

const blocks, threads = 4, 32

func exchange(out []int32, ranks []uint32) func(*sm.Block) {
	return func(b *sm.Block) {
		x := sm.Shared[int32](b, threads, 4)
		b.Threads(func(t *sm.Thread) {
			x.Store(t, t.Rank(), 1)
			t.ClusterSync()

			remote := x.MapShared(b.ClusterRank() ^ 1)
			remote.Store(t, threads-1-t.Rank(), int32(1000*b.Idx.X+t.Rank()+2))
			if t.Rank() == 0 {
				ranks[b.Idx.X] = uint32(sm.SharedRank(remote))
			}

			t.ClusterSync() // the writes have landed, and nobody leaves while its memory is written
			out[b.Idx.X*threads+t.Rank()] = x.Load(t, t.Rank())
		})
	}
}

func run(launch func(sm.Config, sm.Kernel) error) ([]course.Output, error) {
	out, ranks := make([]int32, blocks*threads), make([]uint32, blocks)
	cfg := sm.Config{Grid: sm.Dim3{X: blocks}, Block: sm.Dim3{X: threads}, Cluster: sm.Dim3{X: 2}}
	err := launch(cfg, exchange(out, ranks))
	return []course.Output{{Name: "dsmem.out", Data: out}, {Name: "dsmem.ranks", Data: ranks}}, err
}

//go:embed dsmem.txt
var recorded string

func main() {
	course.Main(run, recorded,
		"every thread found in its block's memory what its peer in the cluster had written there")
}
