// Pipelinesingle is with_single_stage of the CUDA C++ Programming Guide: a cuda::pipeline
// of one stage whose threads all produce and consume. CUDA: pipelinesingle.cu.
package main

import (
	_ "embed"

	"example.com/leafhopper/examples/internal/course"
	"example.com/leafhopper/sm"
)

const blocks, threads, batches = 4, 64, 5

// compute is what a thread makes of a batch: from its own element and from the one at the
// other end, which another thread has copied.
func compute(t *sm.Thread, out []int32, batch *sm.Array[int32]) {
	i, n := t.Rank(), batch.Len()
	out[i] = 3*batch.Load(t, i) + batch.Load(t, n-1-i)
}

func singleStage(out, in []int32) func(*sm.Block) {
	return func(b *sm.Block) {
		shared := sm.Shared[int32](b, threads, 4)
		state := b.Pipeline(1, nil)
		b.Threads(func(t *sm.Thread) {
			block := t.ThisThreadBlock()
			pipeline := state[block.Rank()]

			for batch := range batches {
				start := b.Idx.X*block.Size() + b.GridDim.X*block.Size()*batch
				pipeline.ProducerAcquire()
				sm.MemcpyAsync(block, shared, in[start:start+block.Size()], pipeline)
				pipeline.ProducerCommit()
				pipeline.ConsumerWait()
				compute(t, out[start:], shared)
				pipeline.ConsumerRelease()
			}
		})
	}
}

func run(launch func(sm.Config, sm.Kernel) error) ([]course.Output, error) {
	in := course.Ints(batches*blocks*threads, 1)
	out := make([]int32, len(in))
	err := launch(sm.Config{Grid: sm.Dim3{X: blocks}, Block: sm.Dim3{X: threads}}, singleStage(out, in))
	return []course.Output{{Name: "pipelinesingle.out", Data: out}}, err
}

//go:embed pipelinesingle.txt
var recorded string

func main() {
	course.Main(run, recorded, "acquire, copy, commit, wait, compute, release: with one stage nothing overlaps")
}
